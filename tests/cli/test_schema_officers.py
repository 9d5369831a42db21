"""Private proposals from an account that officers decide about: nothing is computed before they have signed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.cli.schema import proposing
from panbayes.consortium.agent.own_questions import consent_to_own, own_statement
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposals.asking import offer, take
from panbayes.consortium.holder.proposals.wish import Cells
from panbayes.consortium.post.signatures import sign
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import NOTHING
from panbayes.schema.grids import decades
from tests.conftest import Panbayes
from tests.consortium.agent.houses import House, key

ASK = ("schema", "bounds", "north", "age", "--epsilon", "0.5", "--state", "state")
DECLARE = ("holder", "dataset", "declare", "--config", "holder.toml", "--fixed")


@pytest.fixture
def house(panbayes: Panbayes, tmp_path: Path) -> House:
    """A holder whose dataset is declared, and to whom no study has come yet; the keys of three people beside it."""
    house = House(tmp_path)
    house.text()
    for name in ("mary", "john", "mallory"):
        key(name).save(tmp_path / name, comment=name, argument=name)
    done = panbayes(*DECLARE)
    assert done.returncode == 0, done.stderr
    return house


def two(house: House, panbayes: Panbayes) -> None:
    house.text(top="approvals = 2", officers={name: key(name).public.line for name in ("mary", "john")})
    assert panbayes("holder", "officers", "--key", "mary.key").returncode == 0


def ledger_of(house: House) -> Path:
    (path,) = (house.folder / "state").rglob("*.ledger")
    return path


def nothing_happened(house: House) -> bool:
    with Ledger.open(ledger_of(house)) as ledger:
        return ledger.summary().spent == NOTHING and not ledger.entries()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--key: 0 of 1 officers of holder.toml have signed; before, nothing is computed"),
        (("--key", "mallory.key"), "which is no officer's here"),
        (("--signature", "north.csv"), "--signature: is no signature"),
        (("--signature", "none.sig"), "--signature: none.sig cannot be read"),
        (("--key", "mary.key", "--statement", "s.txt"), "--key, --signature, --statement: more than one is given"),
    ],
)
def test_without_an_officer_nothing_is_computed(
    options: tuple[str, ...], said: str, house: House, panbayes: Panbayes
) -> None:
    done = panbayes(*ASK, "--yes", *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert nothing_happened(house)


def test_an_officer_signs_here_and_what_was_paid_for_is_shown_again(house: House, panbayes: Panbayes) -> None:
    done = panbayes(*ASK, "--yes", "--key", "mary.key")
    assert (done.returncode, "Charged: ε = 0.5" in done.stdout) == (0, True), done.stderr
    again = panbayes(*ASK)
    assert (again.returncode, "Costs: nothing" in again.stdout) == (0, True)
    other = panbayes("schema", "bounds", "north", "age", "--epsilon", "0.6", "--state", "state", "--yes")
    assert (other.returncode, "0 of 1 officers" in other.stderr) == (2, True), "a signature is for one question"
    with Ledger.open(ledger_of(house)) as ledger:
        assert verify(ledger) == []
        with ledger.transaction(write=False) as transaction:
            assert [event.what for event in transaction.events.all()] == ["approved", "answered"]


def test_two_officers_sign_one_here_and_one_elsewhere(house: House, panbayes: Panbayes) -> None:
    two(house, panbayes)
    for _ in range(2):
        done = panbayes(*ASK, "--yes", "--key", "mary.key")
        assert (done.returncode, "1 of 2 officers" in done.stderr) == (2, True), done.stderr
    assert nothing_happened(house)
    assert panbayes(*ASK, "--statement", "s.txt").returncode == 0
    assert nothing_happened(house)
    statement = (house.folder / "s.txt").read_text()
    assert statement.splitlines()[2:5] == ["name: bounds of age", "may spend: ε = 0.5", "and of δ: 0"]
    (house.folder / "s.txt.sig").write_text(sign(key("john"), "panbayes-approval", statement.encode()))
    done = panbayes(*ASK, "--yes", "--signature", "s.txt.sig", "--json")
    assert (done.returncode, json.loads(done.stdout)["charged"]) == (0, True), done.stderr


def test_consent_is_asked_for_in_the_transaction_of_the_charge(house: House) -> None:
    """Whatever the command line saw before: no signature, or one that was made up, and nothing is drawn."""
    wish = Cells(decades("age"), Fraction(1, 2))
    holder = house.write()
    with holder.ledger() as ledger:
        offered = offer(ledger, wish)
        said = {"key": key("mary").public.line, "statement": own_statement(holder, offered.proposal)}
        for signature in (None, sign(key("mallory"), "panbayes-approval", said["statement"].encode()), "made up"):
            if signature is not None:
                with ledger.transaction() as transaction:
                    said["signature"] = signature
                    transaction.events.write("approved", said, study=offered.proposal.hash, asker="")
            with pytest.raises(InputError, match="is not approved by as many officers as must"):
                take(ledger, offered, noise=SecureNoise(), consent=consent_to_own(holder, offered.proposal))
        with pytest.raises(InputError, match="is not approved by as many officers as must"):
            take(ledger, offered, noise=SecureNoise())  # By a program that asks nobody.
    assert nothing_happened(house)


def test_an_account_of_nobodys_file_needs_no_officer_and_takes_none(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "north.csv").write_text("age\n50\n60\n")
    key("mary").save(tmp_path / "mary", comment="mary", argument="mary")
    assert (
        panbayes(
            "holder", "dataset", "declare", "north", "--source", "north.csv", "--fixed", "--state", "state"
        ).returncode
        == 0
    )
    for option, value in (("--key", "mary.key"), ("--config", "holder.toml")):
        done = panbayes(*ASK, "--yes", option, value)
        assert (done.returncode, done.stderr.startswith(f"error: {option}: is given, and")) == (2, True)
    assert panbayes(*ASK, "--yes").returncode == 0


def test_the_holders_file_is_named_where_it_is_not_found(house: House, panbayes: Panbayes) -> None:
    house.config.rename(house.folder / "north.toml")
    done = panbayes(*ASK, "--yes", "--key", "mary.key")
    assert "error: --config: is not given, and the officers of a holder's file decide about" in done.stderr
    assert nothing_happened(house)
    other = House(house.folder / "other")
    other.write()
    done = panbayes(*ASK, "--yes", "--key", "mary.key", "--config", "other/holder.toml")
    assert "--config: other/holder.toml has another ledger than" in done.stderr
    assert panbayes(*ASK, "--yes", "--key", "mary.key", "--config", "north.toml").returncode == 0


def test_officers_are_asked_by_whatever_path_the_ledger_is_reached(house: House, panbayes: Panbayes) -> None:
    """Through a linked folder, through a folder and back, and by a link to the ledger itself."""
    ledger = ledger_of(house).relative_to(house.folder)
    (house.folder / "d").mkdir()
    (house.folder / "d" / "ledgers").symlink_to("../state/ledgers")
    (ledger_of(house).parent / "x").mkdir()
    (house.folder / "link.ledger").symlink_to(ledger)
    around = ledger.parent / "x" / ".." / ledger.name
    for ask in (("north", "--state", "d"), (str(around),), ("link.ledger",)):
        done = panbayes("schema", "bounds", ask[0], "age", "--epsilon", "0.5", "--yes", *ask[1:])
        assert done.returncode != 0
        assert nothing_happened(house), ask
        assert "officers" in done.stderr, done.stderr
    done = panbayes("holder", "ledger", "cap", str(around), "50")
    assert (done.returncode, "is what its holder's file says" in done.stderr) == (2, True)


def test_a_state_is_its_officers_from_the_beginning(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "north.csv").write_text("age\n50\n60\n")
    key("mary").save(tmp_path / "mary", comment="mary", argument="mary")
    key("anna").save(tmp_path / "anna", comment="anna", argument="anna")
    begun = ("--name", "north", "--cap", "3", "--source", "north.csv")
    done = panbayes("holder", "init", *begun, "--officer", "mary=mary.pub", "--analyst", "anna=anna.pub")
    assert done.returncode == 0, done.stderr
    assert panbayes(*DECLARE[:3], "north", "--source", "north.csv", "--fixed", "--state", "state").returncode == 0
    done = panbayes(*ASK, "--yes")
    assert (done.returncode, "0 of 1 officers" in done.stderr) == (2, True), done.stderr


def test_nothing_is_learned_from_the_accounts_of_officers_without_their_agent(house: House, panbayes: Panbayes) -> None:
    """Neither by the declared dataset nor by a table of another name, which would open an account beside it."""
    (house.folder / "other.csv").write_text("age\n1\n2\n")
    schema = 'version = 1\nname = "ages"\nstatus = "approved"\n[[attributes]]\nname = "age"\nbins = [0, 50, 100]\n'
    (house.folder / "ages.toml").write_text(schema)
    study = 'version = 1\nname = "s"\nschema = "ages.toml"\nstrategy = "independent"\nepsilon = 1\n'
    (house.folder / "study.toml").write_text(study)
    before = sorted((house.folder / "state").rglob("*"))
    for table in ("north=north.csv", "south=other.csv"):
        done = panbayes("learn", "study.toml", "--holder", table, "-o", "m.json", "--state", "state")
        assert (done.returncode, "its officers decide what is answered" in done.stderr) == (2, True), done.stderr
    assert nothing_happened(house)
    assert sorted((house.folder / "state").rglob("*")) == before
    done = panbayes("learn", "study.toml", "--holder", "south=other.csv", "-o", "m.json", "--state", "elsewhere")
    assert done.returncode == 0, done.stderr


def test_who_is_no_officer_any_more_when_the_price_is_agreed_to_has_no_say(
    house: House, panbayes: Panbayes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def agree(_terms: object) -> None:
        house.text(officers={"john": key("john").public.line})

    monkeypatch.setattr(proposing, "_agree", agree)
    done = panbayes(*ASK, "--key", "mary.key")
    assert (done.returncode, "which is no officer's here" in done.stderr) == (2, True), done.stderr
    assert nothing_happened(house)
