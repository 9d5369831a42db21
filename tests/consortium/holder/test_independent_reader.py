"""A ledger is checked by a script of forty lines that imports nothing of ours, whatever versions wrote it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.ledger.versions import newest
from tests.conftest import Panbayes
from tests.consortium.holder.examples import asked, released, singles, study
from tests.consortium.holder.golden_ledger import EXCHANGES, FOLDER, HEADS, gate

READER = Path(__file__).with_name("independent_reader.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with eight entries of version 1, one each of versions 2, 3 and 4, and two of today."""
    path = tmp_path / "grown.ledger"
    shutil.copyfile(FOLDER / "grown-4.ledger", path)
    path.chmod(0o600)
    path.with_name(f"{path.name}-attempt").touch()
    agreed = study("independent", "1/10", schema=EXCHANGES[0].study.schema)
    other = study("independent", "1/10", name="other", schema=EXCHANGES[0].study.schema)
    with Ledger.open(path) as ledger:
        released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
        ledger.write_event("stopped", {"by": "agent", "reason": ""}, study=agreed.hash)
        released(gate(ledger, other).ask(asked(singles(other), other)))
        entries = ledger.entries()
        assert verify(ledger, heads=HEADS) == []
    assert [entry.secret is None for entry in entries] == [True] * 8 + [False] * 5
    assert [entry.events is None for entry in entries] == [True] * 11 + [False] * 2
    assert newest() >= 5
    return path


def read(*files: Path) -> subprocess.CompletedProcess[str]:
    """Run the reader as an auditor does, without anything of ours in reach."""
    command = [sys.executable, "-I", "-S", str(READER), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture
def shown(path: Path, panbayes: Panbayes) -> Path:
    """What the holder shows."""
    file = path.with_name("shown.json")
    file.write_text(panbayes("holder", "ledger", "show", path.name, "--json").stdout, encoding="utf-8")
    return file


@pytest.fixture
def opened(path: Path, panbayes: Panbayes) -> list[Path]:
    """What the holder opens: an entry of each version."""
    files = []
    for number in (1, 9, 10, 11, 13):
        file = path.with_name(f"{number}.json")
        file.write_text(panbayes("holder", "ledger", "open", path.name, str(number), "--json").stdout, encoding="utf-8")
        files.append(file)
    return files


def test_the_reader_is_short_and_knows_nothing_of_ours() -> None:
    text = READER.read_text(encoding="utf-8")
    code = [line for line in text.split('"""')[2].splitlines() if line]
    assert len(code) <= 40
    imported = [line.split()[1] for line in code if "import" in line]
    assert imported == ["hashlib", "json", "sys", "pathlib", "typing"]


def test_the_chain_is_recomputed_over_all_versions(shown: Path, opened: list[Path]) -> None:
    assert read(shown).stdout == "13 entries, 8 believed, 0 opened\n"
    assert read(shown, *opened).stdout == "13 entries, 7 believed, 5 opened\n"


Forgery = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("forgery", "complaint"),
    [
        (lambda told: told["entries"].pop(), "the newest entries are missing"),
        (lambda told: told["entries"].pop(9), "entry 10 is another one"),
        (lambda told: told["entries"][9].update(commitment="0" * 64), "the head of entry 10 does not follow"),
        (lambda told: told["entries"][12].update(commitment="0" * 64), "the head of entry 13 does not follow"),
        (lambda told: told["entries"][12].update(head="0" * 64), "the head of entry 13 does not follow"),
        (lambda told: told["entries"][7].update(head="0" * 64), "the head of entry 9 does not follow"),
    ],
)
def test_the_reader_notices(forgery: Forgery, complaint: str, shown: Path) -> None:
    told = json.loads(shown.read_text(encoding="utf-8"))
    forgery(told[0])
    shown.write_text(json.dumps(told), encoding="utf-8")
    done = read(shown)
    assert (done.returncode, done.stderr) == (1, f"{complaint}\n")


SAID = ["study", "question", "loss", "reply", "secret", "notes", "events"]


@pytest.mark.parametrize(
    ("place", "key"), [(place, key) for place, many in enumerate((4, 6, 6, 6, 7)) for key in SAID[:many]]
)
def test_the_reader_notices_an_entry_that_is_opened_as_another(
    place: int, key: str, shown: Path, opened: list[Path]
) -> None:
    told = json.loads(opened[place].read_text(encoding="utf-8"))
    assert told[key] is not None
    told[key] = {"class": "pure", "epsilon": "9"} if key == "loss" else "0" * 64
    opened[place].write_text(json.dumps(told), encoding="utf-8")
    done = read(shown, *opened)
    number = told["sequence"]
    complaint = f"entry {number} is not what it commits to" if place else "the head of entry 1 does not follow"
    assert (done.returncode, done.stderr) == (1, f"{complaint}\n")
