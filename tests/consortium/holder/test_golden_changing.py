"""A ledger of a dataset that changes, as version 6 wrote it: blocks, pins, register, a proposal, kept codes.

People p0 to p5 were seen in October 2026, p6 to p8 in December; the study "october" saw the first six, and its codes
were kept; "december" is about December alone; a proposal with a δ was about everybody until then; then ids were
renumbered, and "everybody" saw three people.
"""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import polars as pl
import pytest

from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.people import People
from panbayes.privacy.classes.pure import Pure
from panbayes.tables.kept import read_codes
from panbayes.tables.sources.batch import Column
from tests.consortium.holder.golden_ledger import FOLDER
from tests.consortium.local.declared import SMOKES, ask, study

RELEASED = json.loads((FOLDER / "changing-6.json").read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    folder = tmp_path / "ledgers"
    folder.mkdir()
    path = folder / "golden.ledger"
    shutil.copyfile(FOLDER / "changing-6.ledger", path)
    shutil.copyfile(FOLDER / "changing-6.codes", codes_of(path, study("october").hash))
    path.with_name(f"{path.name}-attempt").touch()
    for one in folder.iterdir():
        one.chmod(0o600)
    return path


def test_it_says_what_it_said(path: Path) -> None:
    with Ledger.read(path) as ledger:
        assert verify(ledger, heads=RELEASED["heads"]) == []
        found = ledger.summary()
    october, december = frozenset({"2026-10"}), frozenset({"2026-12"})
    every = october | december | {"2026-11"}
    assert [(one.name, one.blocks, one.delta) for one in found.studies] == [
        ("october", october, 0),
        ("december", december, 0),
        ("frequent", every, Fraction(1, 10**7)),
        ("everybody", None, 0),
    ]
    spent = [found.spent_of(frozenset({block})) for block in found.blocks]
    assert spent == [Pure(Fraction(loss)) for loss in ("250.5", "50.5", "150.5")]
    assert (found.blocks, found.renumbered, found.delta) == (tuple(sorted(every)), True, Fraction(1, 10**7))
    assert found.dataset is not None
    assert (found.dataset.unit, found.dataset.blocks, found.dataset.changing) == (SMOKES.unit, "monthly", True)


def test_people_are_known_again(path: Path) -> None:
    ids = Column(pl.Series([f"p{number}" for number in range(9)] + [" p0 ", "q0", None, ""]))
    with Ledger.open(path) as ledger:
        october, december = (People(ledger, frozenset({block}))(ids).tolist() for block in ("2026-10", "2026-12"))
        assert People(ledger, None)(ids).tolist() == [True] * 10 + [False] * 3
    assert october == [True] * 6 + [False] * 3 + [True] + [False] * 3
    assert december == [False] * 6 + [True] * 3 + [False] * 4


def test_kept_codes_are_read(path: Path) -> None:
    kept = read_codes(codes_of(path, study("october").hash), SMOKES, purpose=study("october").hash)
    assert kept is not None
    with kept:
        assert (kept.facts.records, kept.facts.persons, kept.count([(0,)]).flat.tolist()) == (6, 6, [6, 0])
    assert read_codes(codes_of(path, study("october").hash), SMOKES, purpose="another") is None


def test_old_questions_get_the_same_bytes(path: Path) -> None:
    with Ledger.read(path) as ledger:
        declared = ledger.summary().dataset
    assert declared is not None
    for number, place in ((0, 0), (1, 3)):
        reply = ask(study("october"), declared.source, path.parent.parent, number=number)
        assert reply.hex() == RELEASED["asked"][place]["reply"]
