"""Holders whose tables lie in databases: the same network as from files, to the last bit."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import polars as pl
import pytest

from tests.institutions.invariants import network_of
from tests.institutions.parties import Consortium, Terms
from tests.tables.databases import in_duckdb, in_sqlite

SEED = "7"
TERMS = Terms("adaptive", lines='choices = "together"\n', cap=100.0, records=120)


def learned(box: Consortium) -> object:
    box.approve(box.propose("study.toml", "--simulated"))
    try:
        for party in box.holders.values():
            party.start("holder", "serve", "--post", str(box.post), "--simulate", SEED)
        box.analyst.done(*box.learning("--wait", "--simulated"))
    finally:
        box.end()
    return network_of(box.analyst.folder / "model.json")


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> object:
    """What is learned from files."""
    return learned(Consortium.make(tmp_path_factory.mktemp("files") / "box", terms=TERMS))


@pytest.mark.parametrize("more", ["", "&pushdown=true"])
def test_a_holder_of_a_database_gives_the_answers_of_a_file(more: str, wanted: object, tmp_path: Path) -> None:
    box = Consortium.make(tmp_path / "databases", terms=TERMS)
    for name, party in box.holders.items():
        frame = pl.read_csv(party.folder / "patients.csv")
        put = in_duckdb if name == "north" else partial(in_sqlite, strict=True)
        # A path in a holder's file begins where the file lies.
        address = put(frame, party.folder / "t").replace(f"{party.folder}/", "")
        text = (party.folder / "holder.toml").read_text()
        (party.folder / "holder.toml").write_text(text.replace('file = "patients.csv"', f'url = "{address}{more}"'))
        (party.folder / "patients.csv").unlink()
    assert learned(box) == wanted
