"""While events pass from their bytes to a state no memory is allocated for them, neither by Python nor by NumPy.

A scan of memory finds what is left; a copy that was freed and written over by chance leaves nothing, and is found here.
"""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.formats.lines import LineBuffer
from panbayes.stream.setup import StreamSetup, configure, configure_groups
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from tests.stream.test_memory import LANDS, counter

EVENTS = 40_000

IDS = {
    "plain": [f"somebody-{i}" for i in range(EVENTS)],
    "decomposed": [f"e\u0301 {i}" for i in range(EVENTS)],
    "digits": [str(i) for i in range(EVENTS)],
    "addresses": [f"10.0.{i // 256 % 256}.{i % 256}" for i in range(EVENTS)],
}


def row(form: str, one: str, number: int) -> str:
    kind, land = ("buy", "DE") if number % 3 else ("look", "FR")
    if form == "csv":
        return f'{number},"{one}",{kind},{land}'
    if form == "ndjson":
        return json.dumps({"id": one, "kind": kind, "n": number, "land": land})
    if form == "combined":
        return f'203.0.113.7 - {land} [x] "{kind} / HTTP/1.1" 200 5 "-" "{one}"'
    return one


LISTED = configure([*IDS["plain"][::2], "e\u0301 7"], epsilon=1)
CASES: list[tuple[str, str, str, StreamSetup]] = [
    ("text", "plain", "hashed", counter()),
    ("text", "decomposed", "listed", LISTED),
    ("text", "digits", "integers", configure(EVENTS, epsilon=1)),
    ("text", "digits", "sample", configure(1 << 27, epsilon=1, sample=1 << 20)),
    ("text", "addresses", "IPv4", configure("ipv4:10.0.0.0/12", epsilon=1)),
    ("csv", "decomposed", "filter", counter("kind=buy")),
    ("ndjson", "decomposed", "numbers", counter("n>=500")),
    ("ndjson", "plain", "groups", configure_groups(LANDS, epsilon=1)),
    ("combined", "plain", "filter", counter("method=buy")),
]


def most_allocated(path: Path, form: str, column: str | None, estimator: StreamEstimator[Answer]) -> int:
    """Feed a file; return how many bytes more there were at any moment than in the beginning, but for objects."""
    tracemalloc.start()
    try:
        for batch in batches(str(path), form=form, column=column, fields=estimator.setup.fields):
            estimator.update(batch)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("case", CASES, ids=lambda case: ", ".join(case[:3]))
def test_nothing_is_allocated_for_events(case: tuple[str, str, str, StreamSetup], tmp_path: Path) -> None:
    """Not a byte for each, as marks would take; what is allocated is as much for any number of events."""
    form, ids, _, setup = case
    column = {"text": None, "csv": "id", "ndjson": "id", "combined": "agent"}[form]
    path = tmp_path / "in"
    rows = [row(form, one, number) for number, one in enumerate(IDS[ids])]
    header = ["number,id,kind,land"] if form == "csv" else []
    path.write_text("".join(f"{one}\n" for one in [*header, *rows]), encoding="utf-8")
    with StreamEstimator[Answer].start(tmp_path / "a.state", setup) as estimator:
        most_allocated(path, form, column, estimator)  # What is loaded and compiled once is by then.
        assert most_allocated(path, form, column, estimator) < EVENTS


def test_the_beginning_of_a_line_moves_without_a_copy() -> None:
    buffer, arena = LineBuffer(), Arena()
    buffer.put(memoryview(b"somebody\n" + b"x" * 10**6))
    tracemalloc.start()
    try:
        assert [lines.size for lines in buffer.lines(arena)] == [1]
        assert tracemalloc.get_traced_memory()[1] < 10**5
    finally:
        tracemalloc.stop()
