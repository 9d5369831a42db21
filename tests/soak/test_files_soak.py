"""Long runs of changed files; they run when PANBAYES_SOAK is set (``make soak``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import soak
from tests.tables.file_fuzz import run
from tests.tables.test_csv_records import TABLES, read_every_file, replace_every_line

pytestmark = soak


@pytest.mark.parametrize("start", range(0, 60_000, 3_000))
def test_changed_files_are_read_or_refused(start: int) -> None:
    wrong, peak = run(start, start + 3_000, seconds=1_200)
    assert wrong == []
    assert peak < 1_000


@pytest.mark.parametrize(("fields", "letters", "length"), [(2, 'a",\n', 7), (2, '",\n', 8), (3, '",\n', 8)])
def test_every_longer_file_is_read_by_the_rules(fields: int, letters: str, length: int, tmp_path: Path) -> None:
    read_every_file(fields, letters, length, tmp_path / "t.csv")


@pytest.mark.parametrize(("fields", "lines"), TABLES)
def test_four_bytes_in_any_record_change_no_other(fields: int, lines: list[str], tmp_path: Path) -> None:
    replace_every_line(fields, lines, tmp_path / "t.csv", [range(len(lines))] * 5)
