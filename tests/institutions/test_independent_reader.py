"""A whole run, read by programs that are not ours: every signature by ``ssh-keygen``, every chain by forty lines.

What is checked is what a hospital or an auditor has in hand: the folder of letters, the roster, ``holder.toml``, the
model, and what ``panbayes holder ledger show --json`` and ``open --json`` print.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.institutions.invariants import entries_of
from tests.institutions.parties import Consortium, Terms, key_of

READER = ROOT / "tests" / "consortium" / "holder" / "independent_reader.py"

pytestmark = [
    pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here: install OpenSSH"),
]


@pytest.fixture(scope="module")
def box(tmp_path_factory: pytest.TempPathFactory) -> Consortium:
    """A run that is over."""
    made = Consortium.make(tmp_path_factory.mktemp("reader") / "box", terms=Terms("noisy-majority-voting"))
    made.approve(made.propose())
    try:
        for party in made.holders.values():
            party.start("holder", "serve", "--post", made.post)
        made.analyst.done(*made.learning("--wait"))
    finally:
        made.end()
    return made


def verified(signers: Path, who: str, namespace: str, signature: Path, data: Path) -> bool:
    with data.open("rb") as file:
        done = subprocess.run(
            ["ssh-keygen", "-Y", "verify", "-f", signers, "-I", who, "-n", namespace, "-s", signature],
            stdin=file,
            capture_output=True,
            check=False,
            timeout=30,
        )
    return done.returncode == 0


def test_every_letter_of_a_run_is_signed_by_whom_it_says(box: Consortium, tmp_path: Path) -> None:
    analysts = tmp_path / "analysts"
    analysts.write_text(f"analyst {key_of('analyst').public.line}\n")
    roster = box.analyst.folder / "roster"
    letters = sorted(path for path in box.post.glob("*/*") if path.suffix != ".sig")
    seen: dict[str, int] = {}
    for path in letters:
        side, _, name = path.parent.name.partition("-")
        kind, signature = path.suffix[1:], path.with_name(f"{path.name}.sig")
        signers, who = (analysts, "analyst") if side == "to" else (roster, name)
        assert verified(signers, who, f"panbayes-{kind}", signature, path), path
        assert not verified(signers, who, "panbayes-request", signature, path), "a signature is for one thing"
        seen[kind] = seen.get(kind, 0) + 1
        changed = tmp_path / "changed"
        changed.write_bytes(path.read_bytes() + b"\0")
        assert not verified(signers, who, f"panbayes-{kind}", signature, changed)
    assert seen == {"study": 2, "approval": 2, "question": 8, "answer": 8}


def test_what_officers_signed_is_in_the_approval_and_verifies(box: Consortium, tmp_path: Path) -> None:
    for name in box.holders:
        (path,) = (box.post / f"from-{name}").glob("*.approval")
        body = json.loads(path.read_bytes().partition(b"\n\n")[2])
        statement, signature, officers = (tmp_path / f"{name}.{end}" for end in ("statement", "sig", "officers"))
        statement.write_text(body["statement"])
        signature.write_text(body["officers"][0]["signature"])
        officers.write_text(f"officer {key_of(f'officer of {name}').public.line}\n")
        assert verified(officers, "officer", "panbayes-approval", signature, statement)


def test_the_chain_of_every_ledger_is_recomputed_without_panbayes(box: Consortium, tmp_path: Path) -> None:
    used = {
        line for line in READER.read_text().splitlines() if line.startswith(("import ", "from ")) and "panbayes" in line
    }
    assert used == set()
    model = json.loads((box.analyst.folder / "model.json").read_text())
    for name, party in box.holders.items():
        entries = len(entries_of(box.ledger(name)))
        files = [tmp_path / f"{name}.json", *(tmp_path / f"{name}-{number}.json" for number in range(1, entries + 1))]
        shown = party.done("holder", "ledger", "show", name, "--state", "state", "--json")
        files[0].write_text(shown)
        for number, file in enumerate(files[1:], start=1):
            file.write_text(party.done("holder", "ledger", "open", name, str(number), "--state", "state", "--json"))
        command = [sys.executable, "-I", "-S", str(READER), *map(str, files)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, f"{entries} entries, {entries} opened\n"), done.stderr
        assert model["about"][f"ledger head of {name}"] == json.loads(shown)[0]["head"]


def test_the_analyst_verifies_the_model_too(box: Consortium) -> None:
    box.analyst.done("analyst", "verify", "model.json")
