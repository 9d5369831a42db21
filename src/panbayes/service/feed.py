"""What every source does with lines: they enter the states at once, and nothing else is done with them.

A feed reads lines in one format, for one column and for the fields that each state looks at. Lines that cannot be read
are passed over, as ``panbayes stream feed`` does; nothing is counted, logged or kept, because each of these would be a
fact about the stream. Feeds of several threads take turns, and wait while a period ends (:func:`nobody_feeding`).

Every input has a buffer of :data:`LONGEST` bytes, into which it is read and which is overwritten; a longer line is
dropped. So what is kept of one input, the beginning of its next line, is bounded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeAlias

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.formats.format import StreamFormat
from panbayes.stream.ids.formats.lines import LineBuffer
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator

__all__ = ["LONGEST", "Estimators", "Feed", "nobody_feeding"]

Estimators: TypeAlias = Sequence[StreamEstimator[Answer]]

LONGEST: Final = 1 << 18

_TURNS: Final = threading.Lock()


@contextmanager
def nobody_feeding() -> Iterator[None]:
    """Keep every feed waiting: what comes in between the last release of a period and its end would be in neither."""
    with _TURNS:
        yield


class Feed:
    """Takes lines into some states, in one ``form`` and for one ``column``."""

    def __init__(self, estimators: Estimators, *, form: StreamFormat, column: str | None) -> None:
        """Check that lines of this form can be read for these states, by reading none."""
        if form.of_lines is None:
            raise InputError("format", found=f'found "{form.name}"', remedy='give a format of lines, such as "ndjson"')
        self._estimators, self._of_lines, self._column = tuple(estimators), form.of_lines, column
        self._buffer, self._arena = LineBuffer(), Arena()
        if form.name == "csv" and not (column or "").isdecimal():
            raise InputError(
                "column", found="what comes in has no first line that names columns", remedy="number it, from 1"
            )
        self.take(b"")

    def take(self, lines: bytes | bytearray | memoryview) -> None:
        """Take lines in; when this returns they count. The last one may lack its end."""
        with _TURNS:
            for estimator in self._estimators:
                try:
                    self._take(estimator, memoryview(lines))
                finally:
                    self._buffer.wipe()
                    self._arena.wipe()

    def take_whole(self, buffer: LineBuffer, *, ended: bool = False) -> None:
        """Take in the whole lines of an input, and drop them from its buffer; where it ``ended``, what is left too."""
        with buffer.whole(ended=ended) as lines:
            if lines:
                self.take(lines)

    def _take(self, estimator: StreamEstimator[Answer], lines: memoryview) -> None:
        while True:
            taken = self._buffer.put(lines)
            lines = lines[taken:]
            whole = self._buffer.lines(self._arena, ended=not lines)
            for batch in self._of_lines(whole, self._column, estimator.setup.fields, self._arena):
                estimator.update(batch)
            if not lines:
                return
