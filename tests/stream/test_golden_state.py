"""A state file as it was once written: it means the same and goes on where it was made, and elsewhere it is a copy."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.ids.records import Records
from panbayes.stream.release import StreamRelease
from panbayes.stream.saved_setup import save_setup
from panbayes.stream.state.home import Home

GOLDEN = Path(__file__).parent / "golden"
IDS = Records([f"user {i}" for i in range(4000)], {"kind": ["buy" if i % 4 else "look" for i in range(4000)]})


def facts_of(part: DistinctCounter, release: StreamRelease) -> dict[str, Any]:
    """What the writer of the file knows."""
    setup = part.setup
    return {
        "header": save_setup(setup).header.decode(),
        "entries": setup.entries,
        "part": str(setup.part),
        "stream": release.stream,
        "counts": list(release.counts),
        "left": part.releases_left,
    }


def test_a_state_file_means_the_same_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    facts = json.loads((GOLDEN / "state.json").read_text(encoding="utf-8"))
    place, home = tmp_path / "state", Home(**facts.pop("home"))
    place.write_bytes(lzma.decompress((GOLDEN / "state.xz").read_bytes()))
    place.chmod(0o600)
    with pytest.raises(InputError, match="is a copy"):
        DistinctCounter.open(place)
    monkeypatch.setattr("panbayes.stream.state.mapped.home_of", lambda _: home)
    with DistinctCounter.open(place) as part:
        assert facts_of(part, part.release(repeat=True)) == facts
        part.update(IDS)
        assert part.release().releases_left == facts["left"] - 1
