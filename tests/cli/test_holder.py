"""``panbayes holder ledger``: what a holder sees and sets."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.gates import open_gates, write_down_look
from tests.conftest import Panbayes
from tests.consortium.holder.examples import pure, script, study, table
from tests.consortium.holder.ledgers import edit


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """Two holders that have answered one study each."""
    agreed = study(name="spring", epsilon="1/3")
    with open_gates(agreed, {"north": table(1), "south": table(2)}, state=tmp_path / "state") as gates:
        federation = Federation(agreed, gates)
        for number, query in enumerate(script(agreed)):
            federation.ask(query, round_number=number)
    return tmp_path / "state"


def test_show_and_cap(state: Path, panbayes: Panbayes) -> None:
    done = panbayes("holder", "ledger", "show", "--state", "state")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Spent in total: ε = 0.333333 (1/3); no cap.") == 2
    assert "spring" in done.stdout
    told = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)
    assert len(told) == 1
    assert told[0]["spent"] == {"class": "pure", "epsilon": "1/3"}
    assert told[0]["studies"][0]["releases"] == len(told[0]["entries"]) == 4
    assert told[0]["entries"][-1]["head"] == told[0]["head"]
    done = panbayes("holder", "ledger", "cap", "north", "0.5", "--state", "state")
    assert "cap ε = 0.5, ε = 0.166667 (1/6) left." in done.stdout
    path = Cabinet.in_state(state).path("north")
    with Ledger.open(path) as ledger:
        left = ledger.summary().left
    assert left is not None
    assert pure(left) == Fraction(1, 6)
    lifted = json.loads(panbayes("holder", "ledger", "cap", str(path), "none", "--json").stdout)
    assert (lifted["cap"], lifted["left"]) == (None, None)


def test_close_gives_the_rest_back_for_good(tmp_path: Path, panbayes: Panbayes) -> None:
    agreed = study(name="spring", epsilon="1")
    with open_gates(agreed, {"north": table(1)}, state=tmp_path / "state") as gates:
        Federation(agreed, gates).ask(script(agreed)[0], round_number=0)
    panbayes("holder", "ledger", "cap", "north", "2", "--state", "state")
    shown = panbayes("holder", "ledger", "show", "north", "--state", "state").stdout
    assert "ε = 0.166667 (1/6); ε = 1 reserved for studies that have begun; cap ε = 2, ε = 1 left." in shown
    done = panbayes("holder", "ledger", "close", "north", "summer", "--state", "state")
    assert done.returncode == 2
    assert 'STUDY: no study that has begun is "summer"' in done.stderr
    for named in (agreed.hash[:12], "spring"):
        done = panbayes("holder", "ledger", "close", "north", named, "--state", "state")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[2].endswith("closed")
        assert "Spent in total: ε = 0.166667 (1/6); cap ε = 2, ε = 1.83333 (11/6) left." in done.stdout
    told = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)[0]
    assert (told["studies"][0]["closed"], told["reserved"]) == (True, {"class": "pure", "epsilon": "1/6"})
    assert panbayes("holder", "ledger", "verify", "north", "--state", "state").returncode == 0


def test_a_look_without_privacy_is_shown(tmp_path: Path, panbayes: Panbayes) -> None:
    write_down_look(study("non-private", name="a look"), {"north": table(1)}, state=tmp_path / "state")
    write_down_look(study("non-private", name="a look"), {"north": table(1)}, state=tmp_path / "state")
    shown = panbayes("holder", "ledger", "show", "north", "--state", "state").stdout
    assert shown.count("NOT PRIVATE: everything was looked at without noise, by a look.") == 1
    told = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)[0]
    assert told["looked"] == ["a look"]


def test_what_show_prints_gives_away_no_key(state: Path, panbayes: Panbayes) -> None:
    shown = panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout
    with Ledger.open(Cabinet.in_state(state).path("north")) as ledger, ledger.transaction(write=False) as transaction:
        secrets = [transaction.secret("key"), transaction.secret("ledger")]
        secrets += transaction.bindings().marks
        secrets += [entry.secret for entry in transaction.entries() if entry.secret is not None]
    assert len(secrets) == 2 + 1 + 4
    assert not [secret for secret in secrets if secret.hex() in shown]


def test_verify(state: Path, panbayes: Panbayes) -> None:
    done = panbayes("holder", "ledger", "verify", "--state", "state")
    assert done.returncode == 0
    assert done.stdout.count("as it was written") == 2
    done = panbayes("holder", "ledger", "verify", "north", "--state", "state", "--head", "0" * 64, "--json")
    assert done.returncode == 5
    assert not json.loads(done.stdout)["sound"]
    assert "older copy was restored" in done.stderr
    path = Cabinet.in_state(state).path("south")
    path.write_bytes(path.read_bytes()[:5000])
    done = panbayes("holder", "ledger", "verify", "--state", "state")
    assert done.returncode == 5
    assert done.stderr.startswith(f"error: {path.relative_to(state.parent)}: ")
    assert len(done.stderr.splitlines()) == 1


def test_a_damaged_study_text_is_one_line(state: Path, panbayes: Panbayes) -> None:
    path = Cabinet.in_state(state).path("north")
    edit(path, "UPDATE studies SET content = 'spring'")
    for verb in ("show", "verify"):
        done = panbayes("holder", "ledger", verb, "north", "--state", "state")
        assert done.returncode == 5
        assert "its content has been changed" in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_cap_before_the_first_study(tmp_path: Path, panbayes: Panbayes) -> None:
    done = panbayes("holder", "ledger", "cap", "west", "2.5", "--state", "state")
    assert done.returncode == 2
    assert not (tmp_path / "state").exists()
    done = panbayes("holder", "ledger", "cap", "west", "2.5", "--new", "--state", "state")
    assert done.returncode == 0, done.stderr
    assert "Spent in total: ε = 0; cap ε = 2.5, ε = 2.5 left." in done.stdout
    assert Cabinet.in_state(tmp_path / "state").path("west").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("show", "--state", "nowhere"), 2, "--state: nowhere/ledgers has no ledgers"),
        (("show", "nobody", "--state", "state"), 2, 'LEDGER: "nobody" is no ledger file'),
        (("verify", "absent.ledger"), 2, 'LEDGER: "absent.ledger" is no ledger file'),
        (("show", "table.csv"), 5, "table.csv: may be read by others"),
        (("cap", "north", "0", "--state", "state"), 2, "EPSILON: found 0"),
        (("cap", "north", "much", "--state", "state"), 2, "EPSILON: found 'much'"),
        (("cap", "x.ledger", "1", "--new", "--state", "table.csv"), 0, ""),
        (("cap", "x", "1", "--new", "--state", "table.csv"), 2, "LEDGER: table.csv/ledgers cannot be used"),
    ],
)
@pytest.mark.usefixtures("state")
def test_errors(arguments: tuple[str, ...], code: int, message: str, tmp_path: Path, panbayes: Panbayes) -> None:
    (tmp_path / "table.csv").write_text("a,b\n")
    (tmp_path / "table.csv").chmod(0o644)
    done = panbayes("holder", "ledger", *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert len(done.stderr.splitlines()) <= 1
