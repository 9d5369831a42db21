"""Lines from standard input, such as a pipe from a log shipper. When it ends, the service ends."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from panbayes.errors import InputError
from panbayes.service.feed import Feed
from panbayes.service.pump import Pump
from panbayes.service.source import Reading, SourceKind, Surroundings
from panbayes.stream.ids.formats.lines import LineBuffer
from panbayes.stream.ids.stopping import Stop

__all__ = ["STDIN", "StdinSource"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StdinSource(Reading):
    """Standard input."""

    def describe(self) -> str:
        """Say where lines come from."""
        return "standard input"

    async def start(self, feed: Feed, around: Surroundings) -> Pump:
        """Begin to take lines; a file that was closed has given its number to another, such as a state."""
        if sys.stdin is None:
            raise InputError("kind", found="standard input is closed", remedy="give it a pipe or a file to read from")
        around.say("taking lines from standard input")
        return Pump(feed, _pieces, around, ends=True)


def _pieces(stop: Stop, buffer: LineBuffer) -> Iterator[bool]:
    while 0 in select.select([0, stop.fileno()], [], [])[0]:
        size = os.readv(0, [buffer.room()])
        if not size or stop.asked:
            return
        buffer.grew(size)
        yield True


STDIN: Final = SourceKind("stdin", "lines of standard input", StdinSource, repeats=False)
