"""What is shown is on the disk first: releases and batches are flushed after they are written and before they are told.

The pages of a mapped file reach the disk when the system likes, unless it is asked. So what counts is what the memory
held when it was last asked: a recorder keeps a copy of what each flush covered.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.state.file import StateFile


class Recorded(mmap.mmap):
    """A mapped file beside which stands what a power cut would leave: whatever was flushed last, page by page."""

    latest: ClassVar[Recorded]
    trusted: ClassVar[bool] = True
    """Whether what a file holds when it is opened counts as flushed."""

    def __init__(self, descriptor: int, *_size: int, **_options: int) -> None:
        self.durable = bytearray(self[:] if self.trusted else len(self))
        if descriptor >= 0:
            Recorded.latest = self

    def flush(self, offset: int = 0, size: int | None = None) -> None:
        end = len(self) if size is None else offset + size
        super().flush(offset, end - offset)
        self.durable[offset:end] = self[offset:end]


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "state"
    DensityEstimator.create(file, 1000, epsilon=1, releases=3).close()
    monkeypatch.setattr(mmap, "mmap", Recorded)
    return file


def test_a_release_is_on_the_disk_before_it_is_shown(path: Path) -> None:
    """Else a power cut would forget it, and the same question would be answered again with fresh noise."""
    with DensityEstimator.open(path, writing=False) as estimator:
        before = bytes(Recorded.latest.durable)
        for _ in range(2):
            estimator.estimate()
            assert bytes(Recorded.latest.durable) == path.read_bytes()
        assert bytes(Recorded.latest.durable) != before


def test_where_a_state_is_fed_by_the_beat_a_batch_is_on_the_disk_after_the_next_one(path: Path) -> None:
    """Else what was acknowledged at a beat would be lost by a power cut."""
    store = StateFile(path, writing=True, by_beat=True)
    with DensityEstimator.of(store) as estimator:
        before = bytes(Recorded.latest.durable)
        estimator.update(np.arange(500))
        assert bytes(Recorded.latest.durable) == before
        store.beat()
        assert bytes(Recorded.latest.durable) == path.read_bytes() != before


def test_a_batch_is_on_the_disk_when_it_has_been_taken(path: Path) -> None:
    with DensityEstimator.open(path) as estimator:
        before = bytes(Recorded.latest.durable)
        estimator.update(np.arange(500))
        assert bytes(Recorded.latest.durable) == path.read_bytes()
        assert bytes(Recorded.latest.durable) != before


def test_what_a_process_left_behind_is_on_the_disk_before_more_is_written(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever was killed may have written entries that the disk has not seen."""
    monkeypatch.setattr(Recorded, "trusted", False)
    with DensityEstimator.open(path):
        assert bytes(Recorded.latest.durable) == path.read_bytes()
