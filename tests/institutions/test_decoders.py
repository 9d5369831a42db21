"""Twenty thousand slightly wrong messages through everything that reads bytes of another institution."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.institutions.decoders import fuzz, readers

NAMES = (
    "letters", "signed letters", "signatures", "study bodies", "approvals", "questions", "replies", "keys", "rosters",
    "polls", "requests", "sealed bodies", "studies",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_changed_messages_are_read_or_refused(name: str, tmp_path: Path) -> None:
    (reader,) = (one for one in readers(tmp_path) if one.name == name)
    for whole in reader.seeds:
        assert reader.read(whole) is not None
    assert fuzz(reader, 1_600, seed=1) < 1_600


def test_none_is_left_out(tmp_path: Path) -> None:
    assert tuple(reader.name for reader in readers(tmp_path)) == NAMES
