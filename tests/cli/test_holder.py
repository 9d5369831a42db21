"""``panbayes holder ledger``: what a holder sees and sets."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.local.gates import open_gates, write_down_look
from tests.conftest import Panbayes
from tests.consortium.holder.examples import asked, pure, released, script, singles, study, table
from tests.consortium.holder.ledgers import edit, gate
from tests.consortium.holder.test_failures import Failing, no_memory


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
    assert done.stdout.count("  Privacy spent: ε = 0.3334; no cap set.") == 2
    assert "spring" in done.stdout
    told = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)
    assert len(told) == 1
    assert told[0]["spent"] == {"class": "pure", "epsilon": "1/3"}
    assert told[0]["studies"][0]["releases"] == len(told[0]["entries"]) == 4
    assert told[0]["entries"][-1]["head"] == told[0]["head"]
    done = panbayes("holder", "ledger", "cap", "north", "0.5", "--state", "state")
    assert "privacy left: ε = 0.1666 (cap ε = 0.5)." in done.stdout
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
    assert "ε = 0.1667 (ε = 1 reserved for studies that have begun); privacy left: ε = 1 (cap ε = 2)." in shown
    done = panbayes("holder", "ledger", "close", "north", "summer", "--state", "state")
    assert done.returncode == 2
    assert 'STUDY: no study that has begun is "summer"' in done.stderr
    for named in (agreed.hash[:12], "spring"):
        done = panbayes("holder", "ledger", "close", "north", named, "--state", "state")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[2].endswith("closed")
        assert "Privacy spent: ε = 0.1667; privacy left: ε = 1.833 (cap ε = 2)." in done.stdout
    told = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)[0]
    assert (told["studies"][0]["closed"], told["reserved"]) == (True, {"class": "pure", "epsilon": "1/6"})
    assert panbayes("holder", "ledger", "verify", "north", "--state", "state").returncode == 0


def test_resume_shows_what_failed_and_lets_the_study_go_on(tmp_path: Path, panbayes: Panbayes) -> None:
    agreed = study("independent", name="spring")
    path = tmp_path / "north.ledger"
    question = asked(singles(agreed), agreed)
    with Ledger.open(path, create=True) as ledger:
        for _ in range(PAUSING - 1):
            Gate(table(), agreed, ledger, Failing(no_memory)).ask(question)
    shown = panbayes("holder", "ledger", "show", "north.ledger").stdout
    assert "\n  2 answers to spring failed.\n" in shown
    with Ledger.open(path) as ledger:
        Gate(table(), agreed, ledger, Failing(no_memory)).ask(question)
    shown = panbayes("holder", "ledger", "show", "north.ledger").stdout
    remedy = f"panbayes holder ledger resume LEDGER {agreed.hash[:12]}"
    assert f"\n  3 answers to spring failed; it is paused until you look: {remedy}.\n" in shown
    told = json.loads(panbayes("holder", "ledger", "show", "north.ledger", "--json").stdout)[0]
    assert told["failed"] == [{"name": "spring", "study": agreed.hash, "failures": 3, "paused": True}]
    assert panbayes("holder", "ledger", "verify", "north.ledger").returncode == 0
    done = panbayes("holder", "ledger", "resume", "north.ledger", "summer")
    assert done.returncode == 2
    assert 'STUDY: no study that was answered, or was to be, is "summer"' in done.stderr
    done = panbayes("holder", "ledger", "resume", "north.ledger", "spring")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[1].split() == ["when", "question", "kind", "failed", "by"]
    assert len([row for row in rows if row.endswith("MemoryError")]) == 3
    assert all(row.split()[0].startswith("20") and row.split()[1].endswith("Z") for row in rows[2:5])
    assert rows[-1] == f"  3 answers to spring ({agreed.hash[:12]}) failed; the study goes on."
    assert "failed" not in panbayes("holder", "ledger", "show", "north.ledger").stdout
    with Ledger.open(path) as ledger:
        released(gate(ledger, agreed).ask(question))
    for _ in range(2):
        done = panbayes("holder", "ledger", "resume", "north.ledger", "spring")
        assert done.returncode == 0
        assert done.stdout.splitlines()[1:] == [
            f"  No answer to spring ({agreed.hash[:12]}) has failed since you last looked."
        ]
    with Ledger.read(path) as ledger, ledger.transaction(write=False) as transaction:
        assert [note.what for note in transaction.notes()] == ["failed", "failed", "failed", "resumed"]


def test_resume_finds_an_answer_that_was_cut_off_last(tmp_path: Path, panbayes: Panbayes) -> None:
    with Ledger.open(tmp_path / "north.ledger", create=True) as ledger, ledger.transaction() as transaction:
        transaction.begin(Attempt.now(study="0" * 64, name="spring", question="1" * 64, kind="vote"))
    done = panbayes("holder", "ledger", "resume", "north.ledger", "spring", "--json")
    (failed,) = json.loads(done.stdout)["failed"]
    assert (failed["question"], failed["kind"], failed["error"]) == ("1" * 64, "vote", "cut off")


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
        secrets += [entry.secret for entry in transaction.entries()]
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
    assert "Privacy spent: ε = 0; privacy left: ε = 2.5 (cap ε = 2.5)." in done.stdout
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
