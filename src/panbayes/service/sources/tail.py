"""Lines that are added to a file, such as an access log, as ``tail -F`` follows it.

The file may be moved away and made anew (it is read to its end first), cut to nothing, or not be there yet. Where the
reading stood is kept nowhere: it would tell how much has come in. So a service that starts reads what is added from
then on, or, ``from = "start"``, the whole file: who is read twice counts once.
"""

from __future__ import annotations

import os
import select
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.feed import Feed
from panbayes.service.pump import Pump
from panbayes.service.source import Reading, SourceKind, Surroundings
from panbayes.stream.ids.formats.lines import LineBuffer
from panbayes.stream.ids.stopping import Stop

__all__ = ["TAIL", "TailSource"]

_LOOK: Final = 0.5
"""Seconds between two looks at a file that has not grown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TailSource(Reading):
    """A file that grows."""

    path: Annotated[
        str, Key(kinds.text('a path such as "/var/log/nginx/access.log"'), "the file that lines are added to")
    ]
    begin: Annotated[
        str,
        Key(kinds.choice(("end", "start")), "whether lines that are there when the service starts are left out"),
    ] = "end"

    def describe(self) -> str:
        """Say where lines come from."""
        return f"what is added to {self.path}"

    async def start(self, feed: Feed, around: Surroundings) -> Pump:
        """Begin to follow the file."""
        place = around.folder / check_path(self.path, argument="path")
        if place.exists() and not place.is_file():
            raise InputError("path", found=f"{place} is no regular file", remedy="give a file that lines are added to")
        around.say(f"taking lines that are added to {place}")

        def pieces(stop: Stop, buffer: LineBuffer) -> Iterator[bool]:
            return followed(place, stop, buffer, from_end=self.begin == "end")

        return Pump(feed, pieces, around, ends=False)


def followed(place: Path, stop: Stop, buffer: LineBuffer, *, from_end: bool) -> Iterator[bool]:
    """Read what is in a file and what is added to it: yield true after each piece, false where another file follows."""
    skip = from_end
    while not stop.asked:
        try:
            descriptor = _open(place)
        except OSError:
            # Not there, or not readable yet: whoever rotates logs makes it in a moment.
            skip = False
            _wait(stop)
            continue
        try:
            if skip:
                os.lseek(descriptor, 0, os.SEEK_END)
            yield from _grown(descriptor, place, stop, buffer)
        finally:
            os.close(descriptor)
        yield False
        skip = False


def _open(place: Path) -> int:
    """Open a regular file; anything else that has its name for a while is as if nothing had."""
    descriptor = os.open(place, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise FileNotFoundError


def _grown(descriptor: int, place: Path, stop: Stop, buffer: LineBuffer) -> Iterator[bool]:
    """Read what is in an open file until another one has its name."""
    while not stop.asked:
        if _read(descriptor, buffer):
            yield True
        elif _replaced(descriptor, place):
            # Between the last look and the moving more may have come.
            while _read(descriptor, buffer):
                yield True
            return
        elif os.fstat(descriptor).st_size < os.lseek(descriptor, 0, os.SEEK_CUR):
            os.lseek(descriptor, 0, os.SEEK_SET)
            yield False
        else:
            _wait(stop)


def _read(descriptor: int, buffer: LineBuffer) -> int:
    size = os.readv(descriptor, [buffer.room()])
    buffer.grew(size)
    return size


def _replaced(descriptor: int, place: Path) -> bool:
    try:
        return not os.path.samestat(os.fstat(descriptor), place.stat())
    except OSError:
        return False


def _wait(stop: Stop) -> None:
    select.select([stop.fileno()], [], [], _LOOK)


TAIL: Final = SourceKind("tail", "lines that are added to a file", TailSource, repeats=True)
