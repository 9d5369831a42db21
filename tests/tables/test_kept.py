"""Codes that are kept: what a process leaves that is killed while it keeps them."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from panbayes import files
from panbayes.consortium.holder.ledger.kept import codes_of, remove_codes
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.kept import read_codes, write_codes
from panbayes.tables.table import Table

SCHEMA = Schema("s", (Attribute("sex", categories=("F", "M")),), status="approved")
RECORDS = Table(SCHEMA, np.array([[0, 1, 1, 0, 1]], dtype=np.uint8), 5)
STUDY = "0123456789abcdef" * 4

KILLED = """\
import os, signal, sys
from pathlib import Path
from tests.tables.test_kept import RECORDS, STUDY
from panbayes.tables.kept import write_codes
if sys.argv[2] == "named":
    del os.O_TMPFILE
class Dying:
    facts = RECORDS.facts
    def blocks(self):
        yield from RECORDS.blocks()
        os.kill(os.getpid(), signal.SIGKILL)
write_codes(Path(sys.argv[1]), Dying(), purpose=STUDY)
"""


def die(path: Path, how: str) -> set[str]:
    """Kill a process that keeps codes, before it has given them their name; return what it left."""
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), how], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    return {found.name for found in path.parent.iterdir()}


def nameless(folder: Path) -> bool:
    """Tell whether files can be without a name here."""
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY))
    except (AttributeError, OSError):
        return False
    return True


def test_who_is_killed_while_codes_are_kept_leaves_none(tmp_path: Path) -> None:
    if not nameless(tmp_path):
        pytest.skip("the file system knows no files without a name")
    path = codes_of(tmp_path / "north.ledger", STUDY)
    write_codes(path, RECORDS, purpose=STUDY)
    assert die(path, "nameless") == set(), "what was there goes first, and what comes has no name yet"
    write_codes(path, RECORDS, purpose=STUDY)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kept = read_codes(path, SCHEMA, purpose=STUDY)
    assert kept is not None
    with kept:
        assert [block.tolist() for block in kept.blocks()] == [RECORDS.codes.tolist()]


def test_what_is_left_under_a_name_is_removed_by_the_next_keeping_and_by_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = tmp_path / "north.ledger"
    path, other = codes_of(ledger, STUDY), tmp_path / ".north.ledger-codes-0000000000000000.0123456789ab.tmp"
    other.touch()
    assert len(die(path, "named")) == 2, "or the rest shows nothing"
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    write_codes(path, RECORDS, purpose=STUDY)
    assert sorted(tmp_path.iterdir()) == [other, path], "another study's is not touched: it may be being written"
    die(path, "named")
    remove_codes(ledger, STUDY)
    assert list(tmp_path.iterdir()) == [other]


def test_studies_whose_hashes_agree_in_all_but_the_last_digit_have_files_of_their_own(tmp_path: Path) -> None:
    """Whoever can make two studies with a common beginning would otherwise overwrite what the first one sees."""
    ledger = tmp_path / "north.ledger"
    assert codes_of(ledger, f"{'0' * 63}1") != codes_of(ledger, f"{'0' * 63}2")


def test_codes_are_kept_in_the_place_of_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "codes"

    def keep() -> None:
        with files.nameless_file(path) as file:
            file.write(b"new")
            path.write_bytes(b"old")

    with pytest.raises(FileExistsError):
        keep()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_others_have_begun_under_long_names_is_left_alone(tmp_path: Path) -> None:
    """Names that are alike as far as they go into a temporary one."""
    wards = [tmp_path / f"department-of-cardiology-university-hospital-ward-{number}.codes" for number in (1, 2)]
    with files.new_file(wards[0]) as begun:
        assert files.unfinished_names(wards[0]) == [begun]
        assert files.unfinished_names(wards[1]) == []
        assert len(begun.name) <= 60


def test_what_was_kept_for_something_else_or_is_damaged_is_not_what_was_kept(tmp_path: Path) -> None:
    """For another study, under another schema, cut off or longer at any place, or with any bit of it turned."""
    path = tmp_path / "codes"
    write_codes(path, RECORDS, purpose=STUDY)
    whole = path.read_bytes()
    found = read_codes(path, SCHEMA, purpose=STUDY)
    assert found is not None
    with found:
        assert [block.tolist() for block in found.blocks()] == [[[0, 1, 1, 0, 1]]]
    other = Schema("s", (Attribute("sex", categories=("M", "F")),), status="approved")
    assert read_codes(path, SCHEMA, purpose=STUDY[::-1]) is read_codes(path, other, purpose=STUDY) is None
    turned = [
        bytes([*whole[:at], whole[at] ^ 1 << bit, *whole[at + 1 :]]) for at in range(len(whole)) for bit in (0, 5)
    ]
    for wrong in (*turned, *(whole[:size] for size in range(len(whole))), whole + b"\0"):
        path.write_bytes(wrong)
        assert read_codes(path, SCHEMA, purpose=STUDY) is None, wrong
