from __future__ import annotations

from pathlib import Path

import pytest

from panbayes.errors import InputError
from panbayes.files import output_file, write_text


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    target = tmp_path / "model.json"
    target.write_text("old")

    def write_badly() -> None:
        with output_file(target) as temporary:
            temporary.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write_badly()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
    write_text(target, "new")
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--output: .* is a directory"):
        write_text(tmp_path, "x")
    with pytest.raises(InputError, match=r"cannot be written \(no such file or directory\)"):
        write_text(tmp_path / "absent" / "x", "x")
