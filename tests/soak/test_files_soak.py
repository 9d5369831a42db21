"""Long runs of changed files; they run when PANBAYES_SOAK is set (``make soak``)."""

from __future__ import annotations

import os

import pytest

from tests.tables.file_fuzz import run

pytestmark = pytest.mark.skipif("PANBAYES_SOAK" not in os.environ, reason="long: set PANBAYES_SOAK=1")


@pytest.mark.parametrize("start", range(0, 60_000, 3_000))
def test_changed_files_are_read_or_refused(start: int) -> None:
    wrong, peak = run(start, start + 3_000, seconds=1_200)
    assert wrong == []
    assert peak < 1_000
