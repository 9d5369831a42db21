"""What a study takes to run: bytes on the way, seconds of computing, memory.

Times are of one processor core of a server of 2025 with secure noise, after start-up; another machine may take a third
or three times as long. Waiting for holders is not in them: between institutions that is what takes the time.
"""

from __future__ import annotations

from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.protocol.codec import encode
from panbayes.consortium.protocol.envelope import question
from panbayes.consortium.protocol.queries import Query

__all__ = [
    "ANSWER",
    "BASE_MEMORY",
    "STARTING",
    "cell_bytes",
    "question_bytes",
    "seconds_of_counting",
    "seconds_of_noise",
]

ANSWER: Final = 214
"""Bytes around the numbers of an answer."""

BASE_MEMORY: Final = 180e6
STARTING: Final = 0.03

_LAPLACE: Final = 3e-7
_GAUSSIAN: Final = 8e-7
_COUNTING: Final = 2.5e-10
"""Seconds for the noise of a cell, and for one record of one table."""

_TWO_BYTES: Final = 2**15


def cell_bytes(largest: float) -> int:
    """Return how many bytes a count takes in an answer whose ``largest`` count, or noise, is this."""
    return 2 if largest < _TWO_BYTES else 4


def question_bytes(study: Study, query: Query, *, round_number: int = 0) -> int:
    """Return how many bytes a question has on its way."""
    return len(encode(question(query, study=study.hash, round_number=round_number)))


def seconds_of_noise(cells: float, *, gaussian: bool) -> float:
    """Return how long secure noise of so many ``cells`` takes."""
    return cells * (_GAUSSIAN if gaussian else _LAPLACE)


def seconds_of_counting(records: float, tables: float) -> float:
    """Return how long it takes to count so many ``tables`` of ``records``."""
    return _COUNTING * records * tables
