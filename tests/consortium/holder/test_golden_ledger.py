"""A ledger of every version is read, means the same, gives the same bytes, and goes on."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.ledger.versions import newest
from panbayes.dp.secure import SecureNoise
from panbayes.errors import LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.tables.table import Table
from tests.conftest import Panbayes
from tests.consortium.holder.examples import asked, released, singles, study
from tests.consortium.holder.golden_ledger import EXCHANGES, FOLDER, Golden, gate, layout, records, replay

RHO = ZeroConcentrated(Fraction(243559, 10**7))
"""What (ε, δ) = (1, 10⁻⁶) grants."""


def test_there_is_one_of_every_version() -> None:
    files = {path.name for path in FOLDER.glob("*.ledger")}
    assert files == {f"version-{number}.ledger" for number in range(1, newest() + 1)}


@pytest.fixture(params=range(1, newest() + 1))
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


@pytest.fixture
def path(golden: Golden, tmp_path: Path) -> Path:
    return golden.copy(tmp_path)


@pytest.mark.parametrize("way", [Ledger.open, Ledger.read])
def test_it_says_what_it_said(way: Callable[[Path], Ledger], golden: Golden, path: Path) -> None:
    with way(path) as ledger:
        assert verify(ledger, heads=golden.heads) == []
        assert [entry.head for entry in ledger.entries()] == golden.heads
        assert {entry.commitment is None for entry in ledger.entries()} == {golden.version == 1}
        assert [entry.kind for entry in ledger.entries()] == [
            *["vote"] * 3,
            "counts",
            "model",
            "counts",
            "tables",
            "choice",
        ]
        summary = ledger.summary()
        with ledger.transaction(write=False) as transaction:
            caps = transaction.caps()
            promises = transaction.promises()
    assert (summary.first, summary.head) == (golden.first, golden.heads[-1])
    assert summary.unsalted == (len(golden.heads) if golden.version == 1 else 0)
    assert summary.looked == (() if golden.version == 1 else ("look",))
    failed = [failure.name for failure in summary.failures]
    assert failed == (["autumn", "frost", "frost", "frost"] if golden.version > 2 else [])
    assert len(summary.paused) == (golden.version > 2)
    assert [study.closed for study in summary.studies] == [False, False, False, golden.version > 1]
    assert [(study.name, study.grant, study.spent, study.entries) for study in summary.studies] == [
        ("spring", Pure(Fraction(1)), Pure(Fraction(1)), 4),
        ("summer", Pure(Fraction(3, 10)), Pure(Fraction(3, 10)), 1),
        ("autumn", Pure(Fraction(1, 10)), Pure(Fraction(1, 10)), 1),
        ("winter", RHO, ZeroConcentrated(RHO.rho * 3 / 4), 2),
    ]
    assert summary.spent == ZeroConcentrated((1 + Fraction(9, 100) + Fraction(1, 100)) / 2 + RHO.rho * 3 / 4)
    assert caps == [(0, Pure(Fraction(5))), (6, None), (6, ZeroConcentrated(Fraction(2)))]
    assert promises == {("replace", None, None)}


def test_old_questions_get_the_same_bytes_and_cost_nothing(golden: Golden, path: Path) -> None:
    with Ledger.open(path) as ledger:
        assert replay(ledger, golden.exchanges) == [exchange.reply for exchange in golden.exchanges]
        assert [entry.head for entry in ledger.entries()] == golden.heads


def test_it_belongs_to_the_same_records(path: Path) -> None:
    agreed = EXCHANGES[0].study
    codes = records(agreed.schema).codes.copy()
    codes[0, 0] = 1 - codes[0, 0]
    with Ledger.open(path) as ledger:
        gate(ledger, agreed)
        with pytest.raises(LedgerError, match="belongs to other records"):
            Gate(Table(agreed.schema, codes), agreed, ledger, SecureNoise())


def test_it_goes_on_from_where_it_stands_and_salts_what_is_new(golden: Golden, path: Path) -> None:
    agreed = study("independent", "1/10", schema=EXCHANGES[0].study.schema)
    with Ledger.open(path) as ledger:
        release = released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
        assert ledger.summary().entries == len(golden.heads) + 1
        assert ledger.entries()[-1].commitment is not None
        assert verify(ledger, heads=[*golden.heads, release.ledger]) == []


def test_a_new_ledger_has_the_layout_of_an_old_one(path: Path) -> None:
    new = path.with_name("new.ledger")
    for one in (path, new):
        Ledger.open(one, create=True).close()
    assert layout(new) == layout(path)


def test_the_command_line_shows_and_verifies_it_and_names_what_is_unsalted(
    golden: Golden, path: Path, panbayes: Panbayes
) -> None:
    shown = json.loads(panbayes("holder", "ledger", "show", path.name, "--json").stdout)
    assert [entry["head"] for entry in shown[0]["entries"]] == golden.heads
    heads = [argument for head in golden.heads for argument in ("--head", head)]
    done = panbayes("holder", "ledger", "verify", path.name, *heads)
    assert done.returncode == 0, done.stderr
    for told in (done.stdout, panbayes("holder", "ledger", "show", path.name).stdout):
        assert ("Entries 1 to 8 are unsalted" in told) == (golden.version == 1)
    shown_failed = "  3 answers to frost failed; it is paused until you look: panbayes holder ledger resume LEDGER"
    assert (shown_failed in told) == (golden.version > 2)
