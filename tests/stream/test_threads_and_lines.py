"""What one user's line, one thread or one torn write could do to everybody else: nothing."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.feeding import batches

PAGE = 4096


def ids_of(path: Path, form: str) -> int:
    found = 0
    for batch in batches(str(path), form=form, column="id"):
        assert isinstance(batch, Texts)
        found += len(batch.starts)
    return found


def test_a_stray_quote_spoils_its_own_line_only(tmp_path: Path) -> None:
    """One user's malformed line must not change what is read of any other user."""
    rows = "".join(f"{i},x\n" for i in range(1000))
    path = tmp_path / "in.csv"
    for bad in ("", '"evil,y\n', 'a"b"c,"\n', '"1,2\n"3,4\n'):
        path.write_text("id,note\n" + bad + rows)
        assert 1000 <= ids_of(path, "csv") <= 1002, bad


def test_a_quoted_line_break_swallows_nobody(tmp_path: Path) -> None:
    """A field that a reader of whole files would take over several lines ends with its own line here."""
    path = tmp_path / "in.csv"
    path.write_text('id,note\n1,"begin\n2,x\n3,y\n4,end"\n5,z\n')
    found = [
        batch.data[start : start + length].tobytes()
        for batch in batches(str(path), column="id")
        if isinstance(batch, Texts)
        for start, length in zip(batch.starts.tolist(), batch.lengths.tolist(), strict=True)
    ]
    assert {b"2", b"3", b"5"} <= set(found)


def test_a_bottomless_line_is_skipped(tmp_path: Path) -> None:
    path = tmp_path / "in.ndjson"
    path.write_text('{"x":' + "[" * 5000 + "]" * 5000 + ',"id":"a"}\n' + '{"id":"b"}\n' * 10)
    assert 10 <= ids_of(path, "ndjson") <= 11


def test_threads_get_no_more_releases_than_planned() -> None:
    with DensityEstimator(300_000, epsilon=1, releases=1) as estimator:
        found: list[DensityEstimate] = []
        barrier = threading.Barrier(4)

        def ask() -> None:
            barrier.wait()
            found.append(estimator.estimate())

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sum(answer.fresh for answer in found) == 1
    assert len({answer.statistic for answer in found}) == 1


def test_threads_that_feed_do_not_undo_each_other() -> None:
    """At a huge budget the state is nearly exact, so a lost redraw would show in the estimate."""
    with DensityEstimator(80_000, epsilon=60, state_epsilon=20) as estimator:
        parts = np.array_split(np.random.default_rng(1).permutation(80_000), 4)
        threads = [threading.Thread(target=estimator.update, args=(part,)) for part in parts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert estimator.estimate().unbiased == pytest.approx(1, abs=1e-3)


def test_a_torn_first_release_leaves_the_state_usable(tmp_path: Path) -> None:
    """A release is written beside the count in force, never over it: the first one too."""
    path = tmp_path / "s.state"
    DensityEstimator.create(path, 1000, epsilon=1, releases=2).close()
    before = path.read_bytes()
    with DensityEstimator.open(path, writing=False) as estimator:
        estimator.estimate()
    after = path.read_bytes()
    changed = [i for i in range(len(after)) if after[i] != before[i]]
    page = changed[0] // PAGE
    assert {i // PAGE for i in changed} == {page}
    assert not any(before[page * PAGE : (page + 1) * PAGE])
    torn = bytearray(after)
    torn[changed[len(changed) // 2] :] = before[changed[len(changed) // 2] :]
    path.write_bytes(torn)
    with DensityEstimator.open(path, writing=False) as estimator:
        assert estimator.releases_left == 2
        assert estimator.estimate().fresh
