"""A ledger is checked by a script of forty lines that imports nothing of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.privacy.classes.pure import Pure
from tests.conftest import Panbayes
from tests.consortium.holder.examples import study
from tests.consortium.holder.ledgers import answer, fill
from tests.effort import often

READER = Path(__file__).with_name("independent_reader.py")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger with nine entries, a note and an event."""
    path = tmp_path / "grown.ledger"
    fill(path, 2)
    other = study("independent", name="other")
    with Ledger.open(path) as ledger:
        ledger.set_cap(Pure(Fraction(9)))
        ledger.write_event("stopped", {"by": "agent", "reason": ""}, study=other.hash)
        answer(ledger, study("independent", name="third"))
        assert len(ledger.entries()) == 9
        assert verify(ledger) == []
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
    """What the holder opens."""
    files = []
    for number in (1, 5, 9):
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


def test_the_chain_is_recomputed(shown: Path, opened: list[Path]) -> None:
    assert read(shown).stdout == "9 entries, 0 opened\n"
    assert read(shown, *opened).stdout == "9 entries, 3 opened\n"


Forgery = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("forgery", "complaint"),
    [
        (lambda told: told["entries"].pop(), "the newest entries are missing"),
        (lambda told: told["entries"].pop(4), "entry 5 is another one"),
        (lambda told: told["entries"][4].update(commitment="0" * 64), "the head of entry 5 does not follow"),
        (lambda told: told["entries"][8].update(head="0" * 64), "the head of entry 9 does not follow"),
        (lambda told: told["entries"][0].update(head="0" * 64), "the head of entry 1 does not follow"),
    ],
)
def test_the_reader_notices(forgery: Forgery, complaint: str, shown: Path) -> None:
    told = json.loads(shown.read_text(encoding="utf-8"))
    forgery(told[0])
    shown.write_text(json.dumps(told), encoding="utf-8")
    done = read(shown)
    assert (done.returncode, done.stderr) == (1, f"{complaint}\n")


SAID = ("study", "question", "loss", "reply", "secret", "notes", "events")


@pytest.mark.parametrize("key", SAID)
def test_the_reader_notices_an_entry_that_is_opened_as_another(key: str, shown: Path, opened: list[Path]) -> None:
    for file in opened[:: often(2, 1)]:
        before = file.read_text(encoding="utf-8")
        told = json.loads(before)
        told[key] = {"class": "pure", "epsilon": "9"} if key == "loss" else "0" * 64
        file.write_text(json.dumps(told), encoding="utf-8")
        done = read(shown, *opened)
        assert (done.returncode, done.stderr) == (1, f"entry {told['sequence']} is not what it commits to\n")
        file.write_text(before, encoding="utf-8")
