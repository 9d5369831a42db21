"""The holder's verbs between institutions, as people type them."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import stat
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.cli.ledger_account import account
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.holder.ledger.attempts import Attempt
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import Letter
from panbayes.consortium.post.words import words_of
from panbayes.privacy.classes.pure import Pure
from tests.cli.typing_person import at_terminal
from tests.conftest import Panbayes
from tests.consortium.agent.houses import SCHEMA, STUDY, TABLE, House, begin, key, letter, study_body

CLINICS = STUDY.replace("three clinics", "clinics")
TWO = {"mary": key("mary").public.line, "tom": key("tom").public.line}


@pytest.fixture
def house(tmp_path: Path) -> House:
    """A holder in the test's folder, with the keys of two officers at hand."""
    found = House(tmp_path)
    found.text()
    for name in ("mary", "tom", "mallory"):
        key(name).save(tmp_path / name, comment=name, argument=name)
    return found


def arrive(house: House, study: str = CLINICS, schema: str = SCHEMA) -> str:
    """Put a letter into the folder ``post`` of the house; return the hash of its study."""
    given = letter(study_body(study, schema))
    folder = Folder.at(house.folder / "post", make=True)
    folder.put("to", "north", Letter.decode(given.data).header, given)
    return Letter.decode(given.data).header.study


def listed(panbayes: Panbayes) -> list[dict[str, object]]:
    done = panbayes("holder", "pending", "--post", "post", "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, object]] = json.loads(done.stdout)
    return found


# keygen


def test_keygen_makes_a_pair(panbayes: Panbayes, tmp_path: Path) -> None:
    done = panbayes("keygen", "mary")
    assert (done.returncode, done.stderr) == (0, "")
    key_file, public = PrivateKey.load(tmp_path / "mary.key", argument="x"), tmp_path / "mary.pub"
    assert PublicKey.load(public, argument="x") == key_file.public
    assert stat.S_IMODE((tmp_path / "mary.key").stat().st_mode) == 0o600
    assert stat.S_IMODE(public.stat().st_mode) == 0o644
    assert f"  words        {words_of(key_file.public)}\n" in done.stdout
    assert f"  fingerprint  {key_file.public.fingerprint}\n" in done.stdout
    assert "by phone" in done.stdout


def test_keygen_for_programs_and_never_over_a_key(panbayes: Panbayes, tmp_path: Path) -> None:
    said = json.loads(panbayes("keygen", "sub.dir", "--json").stdout)
    assert said["line"] == PublicKey.load(tmp_path / "sub.dir.pub", argument="x").line
    before = (tmp_path / "sub.dir.key").read_bytes()
    done = panbayes("keygen", "sub.dir")
    assert (done.returncode, done.stdout) == (2, "")
    assert "sub.dir.key is there already" in done.stderr
    assert (tmp_path / "sub.dir.key").read_bytes() == before
    assert panbayes("keygen", "-x").returncode == 2
    assert "NAME: found the name" in panbayes("keygen", "a b").stderr


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here to check with")
def test_ssh_keygen_reads_them(panbayes: Panbayes, tmp_path: Path) -> None:
    fingerprint = json.loads(panbayes("keygen", "mary", "--json").stdout)["fingerprint"]
    shown = subprocess.run(["ssh-keygen", "-lf", tmp_path / "mary.pub"], capture_output=True, text=True, check=True)
    assert fingerprint in shown.stdout
    derived = subprocess.run(["ssh-keygen", "-yf", tmp_path / "mary.key"], capture_output=True, text=True, check=True)
    assert derived.stdout.split()[:2] == (tmp_path / "mary.pub").read_text().split()[:2]


# init

GIVEN = ("--name", "north", "--source", "north.csv", "--cap", "3", "--officer", "mary=mary.pub")


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    for name in ("mary", "tom", "uni"):
        key(name).save(tmp_path / name, comment=name, argument=name)
    (tmp_path / "north.csv").write_text(TABLE)
    return tmp_path


def test_init_writes_a_file_that_says_what_was_given(panbayes: Panbayes, empty: Path) -> None:
    done = panbayes("holder", "init", *GIVEN, "--analyst", f"uni={key('uni').public.line}")
    assert (done.returncode, done.stderr) == (0, "")
    holder = HolderFile.load(empty / "holder.toml")
    assert (holder.name, holder.cap, holder.approvals) == ("north", Pure(Fraction(3)), 1)
    assert "cap = 3\n" in (empty / "holder.toml").read_text()
    assert [(one.name, one.key) for one in holder.officers] == [("mary", key("mary").public)]
    assert [(one.name, one.key) for one in holder.analysts] == [("uni", key("uni").public)]
    assert holder.data.path == empty / "north.csv"
    assert stat.S_IMODE((empty / "north.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((empty / "state").stat().st_mode) == 0o700
    assert words_of(holder.public) in done.stdout
    assert "Send north.pub to the analyst" in done.stdout
    assert "[analysts]" not in done.stdout


def test_init_says_where_the_mailbox_is(panbayes: Panbayes, empty: Path) -> None:
    (empty / "mailbox.pem").touch()
    done = panbayes("holder", "init", *GIVEN, "--mailbox", "https://post.example:8443", "--ca", "mailbox.pem")
    assert (done.returncode, done.stderr) == (0, "")
    mailbox = HolderFile.load(empty / "holder.toml").mailbox
    assert mailbox is not None
    assert (mailbox.url, mailbox.ca) == ("https://post.example:8443", "mailbox.pem")


def test_init_explains_every_key_and_signs_can_be_removed(panbayes: Panbayes, empty: Path) -> None:
    assert panbayes("holder", "init", *GIVEN).returncode == 0
    text = (empty / "holder.toml").read_text()
    lines = text.splitlines()
    assert max(map(len, lines)) <= 140  # keys are long, everything else is wrapped
    assert all(len(line) <= 100 for line in lines if line.startswith("#"))
    opened = [line.removeprefix("# ") if _is_key(line) else line for line in lines]
    elsewhere = ("columns", "sheet", "header", 'url = "post', "kind", "features", "schema")  # Of other kinds of tables.
    opened = [line for line in opened if not line.startswith(elsewhere)]
    (empty / "holder.toml").write_text("\n".join(opened) + "\n")
    holder = HolderFile.load(empty / "holder.toml")
    assert holder.time.rows_bound == 1_000_000
    assert holder.mailbox is not None
    assert (holder.mailbox.url, holder.mailbox.ca, holder.mailbox.poll) == (
        "https://post.example:8443",
        "mailbox.pem",
        30,
    )
    assert (holder.seal, holder.state, holder.source.separator) == (False, "state", "semicolon")


def _is_key(line: str) -> bool:
    return re.match(r"# (\[\w+\]$|\w+ = )", line) is not None


def test_paths_are_those_of_the_person_who_gives_them(panbayes: Panbayes, empty: Path) -> None:
    (empty / "etc").mkdir()
    assert panbayes("holder", "init", *GIVEN, "--config", "etc/holder.toml").returncode == 0
    holder = HolderFile.load(empty / "etc" / "holder.toml")
    assert Path(str(holder.data)).resolve() == empty / "north.csv"
    assert (empty / "etc" / "north.key").exists()
    pairs = _replaced(("--source", str(empty / "north.csv")))
    assert panbayes("holder", "init", *pairs, "--config", "etc/two.toml").returncode == 0
    assert HolderFile.load(empty / "etc" / "two.toml").data.path == empty / "north.csv"


def test_init_refuses_without_a_cap_where_nobody_can_be_asked(panbayes: Panbayes, empty: Path) -> None:
    for left_out, remedy in ((4, "--cap"), (0, "--name"), (2, "--source")):
        given = [*GIVEN[:left_out], *GIVEN[left_out + 2 :]]
        done = panbayes("holder", "init", *given)
        assert done.returncode == 2
        assert f"{remedy}: is not given, and nobody is at the keyboard" in done.stderr
    assert "--officer: is not given" in panbayes("holder", "init", *GIVEN[:6]).stderr
    assert not (empty / "holder.toml").exists()
    assert not (empty / "north.key").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--cap", "0"), "--cap: found 0"),
        (("--cap", "none"), "--cap: found 'none'"),
        (("--name", "no/name"), '--name: found the name "no/name"'),
        (("--officer", "mary"), '--officer: found "mary"; give NAME=KEY'),
        (("--officer", "mary=none.pub"), "--officer: none.pub cannot be read"),
        (("--officer", "mary=mary.key"), "--officer: is no Ed25519 public key"),
        (("--officer", "m m=mary.pub"), '--officer: found the name "m m"'),
        (("--analyst", "uni=mary.pub"), "analysts.uni: is the key of officers.mary too"),
        (("--approvals", "2"), "officers: found 1, and approvals = 2"),
        (("--approvals", "3"), "--approvals"),
        (("--ca", "mailbox.pem"), "--ca: is given without --mailbox"),
        (("--mailbox", "ftp://post.example"), "mailbox.url: found"),
    ],
)
def test_init_refuses_what_cannot_be_meant(panbayes: Panbayes, empty: Path, given: tuple[str, str], words: str) -> None:
    merged = [*GIVEN, *given] if given[0] in ("--analyst", "--approvals") else _replaced(given)
    done = panbayes("holder", "init", *merged)
    assert (done.returncode, done.stdout) == (2, "")
    assert words in done.stderr
    assert not (empty / "holder.toml").exists()


def _replaced(given: tuple[str, str]) -> list[str]:
    pairs = dict(zip(GIVEN[::2], GIVEN[1::2], strict=True)) | {given[0]: given[1]}
    return [text for pair in pairs.items() for text in pair]


def test_init_keeps_what_is_there(panbayes: Panbayes, empty: Path) -> None:
    key("north").save(empty / "north", comment="north", argument="x")
    before = (empty / "north.key").read_bytes()
    done = panbayes("holder", "init", *GIVEN, "--json")
    said = json.loads(done.stdout)
    assert (said["made"], said["fingerprint"]) == (False, key("north").public.fingerprint)
    assert (empty / "north.key").read_bytes() == before
    again = panbayes("holder", "init", *GIVEN)
    assert again.returncode == 2
    assert "--config: holder.toml is there already" in again.stderr


def test_init_asks_for_what_is_missing(empty: Path) -> None:
    seen = at_terminal("holder", "init", folder=empty, typed=("north", "north.csv", "2.5", "mary", "mary.pub"))
    assert seen.code == 0, seen.text
    holder = HolderFile.load(empty / "holder.toml")
    assert (holder.name, str(holder.cap), [one.name for one in holder.officers]) == ("north", "ε = 2.5", ["mary"])
    assert "What may all studies together ever spend" in seen.text
    assert "Put the analyst's key under [analysts]" in seen.text


def test_init_asks_for_two_officers(empty: Path) -> None:
    typed = ("mary", "mary.pub", "tom", "tom.pub")
    seen = at_terminal("holder", "init", *GIVEN[:6], "--approvals", "2", folder=empty, typed=typed)
    assert seen.code == 0, seen.text
    assert [one.name for one in HolderFile.load(empty / "holder.toml").officers] == ["mary", "tom"]
    assert "officer 2 of 2" in seen.text


def test_init_takes_no_answer_for_none(empty: Path) -> None:
    seen = at_terminal("holder", "init", *GIVEN[:4], *GIVEN[6:], folder=empty, typed=("",))
    assert seen.code == 2
    assert "--cap: is not given" in seen.text
    assert not (empty / "holder.toml").exists()


# pending


def test_pending_says_how_every_study_stands(panbayes: Panbayes, house: House) -> None:
    done = panbayes("holder", "pending")
    assert done.returncode == 0
    assert "no study has arrived" in done.stdout
    study = arrive(house)
    done = panbayes("holder", "pending", "--post", "post")
    assert "holder.toml: 1 study waits for a decision.\n" in done.stdout
    assert f"clinics  {study[:12]}  uni      ε = 1" in done.stdout
    assert "waiting  0 of 1" in done.stdout
    (found,) = listed(panbayes)
    assert (found["study"], found["stands"], found["signed"], found["required"]) == (study, "waiting", [], 1)
    assert found["grant"] == {"class": "pure", "epsilon": "1"}
    panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    done = panbayes("holder", "pending")
    assert "no study waits for a decision" in done.stdout
    assert "approved  1 of 1: mary" in done.stdout


def test_pending_passes_over_what_has_not_arrived(panbayes: Panbayes, house: House) -> None:
    arrive(house)
    folder = house.folder / "post" / "to-north"
    (folder / "0123456789ab-000000.study").write_bytes(b"\x1b[2J nothing")
    (folder / "0123456789ab-000000.study.sig").write_text("nothing")
    done = panbayes("holder", "pending", "--post", "post")
    assert done.returncode == 0
    assert (
        "note: passed over to-north/0123456789ab-000000.study: the bytes do not begin as a letter does" in done.stderr
    )
    assert "1 study waits" in done.stdout
    assert panbayes("holder", "pending", "--post", "nowhere").returncode == 2


def test_a_verb_without_a_holders_file_says_so(panbayes: Panbayes) -> None:
    for verb in (("pending",), ("log",), ("approve", "x"), ("stop", "x"), ("decline", "x"), ("resume", "x")):
        done = panbayes("holder", *verb)
        assert done.returncode == 2
        assert "--config: holder.toml is not there; give the holder's file, or run panbayes holder init" in done.stderr


# approve


def test_an_officer_reads_and_signs(panbayes: Panbayes, house: House) -> None:
    study = arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes", COLUMNS="200")
    assert (done.returncode, done.stderr) == (0, "")
    assert "becomes 73.2 : 26.8 at most" in " ".join(done.stdout.split())
    assert done.stdout.splitlines()[0].startswith("Who asks: uni")
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 100
    assert len(done.stdout.splitlines()) <= 40
    assert "Signed by mary.\nThe study is approved" in done.stdout
    outgoing = Folder.at(house.folder / "state" / "post" / "outgoing")
    assert outgoing.stems("from", "north", "approval") == [f"{study[:12]}-000000"]
    again = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert "This officer has signed before: it counts once." in again.stdout
    (found,) = listed(panbayes)
    assert found["signed"] == ["mary"]


def test_two_officers_sign(panbayes: Panbayes, house: House) -> None:
    house.text(top="approvals = 2", officers=TWO)
    arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert "1 of 2 officers have signed; the study waits for the other." in done.stdout
    assert not (house.folder / "state" / "post" / "outgoing").exists()
    done = panbayes("holder", "approve", "clinics", "--key", "tom.key", "--yes", "--json")
    said = json.loads(done.stdout)
    assert (said["stands"], said["signed"], said["required"]) == ("approved", ["mary", "tom"], 2)
    assert said["words"]["Your limit"].endswith("privacy left after it: ε = 2.")
    assert said["statement"].startswith("panbayes approval 1\n")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--key", "mallory.key", "--yes"), "is no officer's key here"),
        (("--key", "north.key", "--yes"), "is no officer's key here"),
        (("--key", "none.key", "--yes"), "--key: none.key cannot be read"),
        (("--signature", "none.sig"), "--signature: none.sig cannot be read"),
        (("--signature", "north.csv"), "--signature: is no signature"),
        (("--key", "mary.key"), "--yes: is not given, and nobody is at the keyboard"),
        (("--key", "mary.key", "--json"), "--json: shows nothing to read before it asks"),
        (("--key", "mary.key", "--signature", "x"), "more than one is given"),
        (("--statement", "holder.toml/x"), "--statement: "),
    ],
)
def test_nothing_is_signed_otherwise(panbayes: Panbayes, house: House, options: tuple[str, ...], words: str) -> None:
    arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", *options)
    assert done.returncode == 2
    assert words in done.stderr
    (found,) = listed(panbayes)
    assert found["stands"] == "waiting"


def test_to_read_is_no_error_and_signs_nothing(panbayes: Panbayes, house: House) -> None:
    study = arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Nothing was signed. Next, one of:" in done.stdout
    for verb in ("approve", "decline"):
        assert f"panbayes holder {verb} {study[:12]} " in done.stdout
    (found,) = listed(panbayes)
    assert (found["stands"], found["signed"]) == ("waiting", [])


def test_a_study_that_does_not_fit_is_not_signed(panbayes: Panbayes, house: House) -> None:
    house.text(cap="0.5")
    arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert done.returncode == 1
    assert "DOES NOT FIT" in done.stdout
    assert done.stdout.endswith("Nothing was signed.\n")
    assert listed(panbayes)[0]["stands"] == "waiting"
    assert json.loads(panbayes("holder", "approve", "clinics", "--json").stdout)["stands"] == "waiting"


def test_others_that_are_approved_are_told(panbayes: Panbayes, house: House) -> None:
    for name in ("clinics", "wards"):
        arrive(house, CLINICS.replace("clinics", name))
    listed(panbayes)
    panbayes("holder", "approve", "wards", "--key", "mary.key", "--yes")
    shown = " ".join(panbayes("holder", "approve", "clinics", "--statement", "s.txt").stdout.split())
    assert "Others are approved and have not begun: ε = 1; who begins first has it." in shown
    panbayes("holder", "decline", "wards")
    shown = panbayes("holder", "approve", "clinics", "--statement", "s.txt").stdout
    assert "have not begun" not in shown


def test_others_that_are_approved_and_would_not_add_up_are_told(panbayes: Panbayes, house: House) -> None:
    """Whichever is answered first keeps the other from it: no sum of the two is shown."""
    house.text(rest="[time]\nrows_bound = 1000")
    arrive(house)
    arrive(house, CLINICS.replace("clinics", "people"), SCHEMA + '[unit]\ncolumn = "patient"\n')
    listed(panbayes)
    panbayes("holder", "approve", "people", "--key", "mary.key", "--yes")
    said = json.loads(panbayes("holder", "approve", "clinics", "--statement", "s.txt", "--json").stdout)
    assert said["words"]["Your limit"] == (
        "All studies together may spend ε = 3. Privacy spent so far: ε = 0. Approved too, and counting neighbours or "
        "persons in another way, so that it does not add up: people. Once one side has an answer, the other gets none. "
        "This study may spend ε = 1; privacy left after it: ε = 2."
    )


def test_studies_that_have_begun_are_kept_room_for(panbayes: Panbayes, house: House) -> None:
    house.text(rest="[time]\nrows_bound = 1000")
    arrive(house, CLINICS.replace("clinics", "wards").replace("epsilon = 1", 'strategy = "independent"\nepsilon = 1.5'))
    arrive(house)
    listed(panbayes)
    panbayes("holder", "approve", "wards", "--key", "mary.key", "--yes")
    holder = HolderFile.load(house.config)
    with holder.ledger() as ledger:
        begin(holder, ledger, Studies(holder).find("wards").proposed.study)
    said = json.loads(panbayes("holder", "approve", "clinics", "--statement", "s.txt", "--json").stdout)
    assert said["words"]["Your limit"] == (
        "All studies together may spend ε = 3. Privacy spent so far: ε = 1.5. Kept for other studies that have begun, "
        "with what they have spent: ε = 1.5. This study may spend ε = 1; privacy left after it: ε = 0.5."
    )
    arrive(house, CLINICS.replace("clinics", "people"), SCHEMA + '[unit]\ncolumn = "patient"\n')
    listed(panbayes)
    done = panbayes("holder", "approve", "people", "--key", "mary.key", "--yes")
    assert done.returncode == 1
    assert "you have answered studies that count" in " ".join(done.stdout.split())


def test_a_draft_is_refused_and_drafted_attributes_are_warned_of(panbayes: Panbayes, house: House) -> None:
    arrive(house, schema=SCHEMA.replace("approved", "draft"))
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert (done.returncode, done.stdout) == (2, "")
    assert "is a draft" in done.stderr
    shutil.rmtree(house.folder / "state" / "post")
    arrive(house, schema=SCHEMA.replace('name = "age"', 'name = "age"\ndrafted = true'))
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert done.returncode == 0
    assert "warning: 1 of 2 attributes are as a draft read them off somebody's data" in done.stderr


def test_a_study_that_has_ended_is_refused(panbayes: Panbayes, house: House) -> None:
    arrive(house, CLINICS + "[about]\nuntil = 2020-01-01\n")
    assert listed(panbayes)[0]["stands"] == "expired"
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert done.returncode == 2
    assert "STUDY: ended on 2020-01-01" in done.stderr


def test_a_study_whose_times_cannot_be_promised_is_refused(panbayes: Panbayes, house: House) -> None:
    arrive(house, CLINICS + 'adjacency = "add-remove"\n')
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert done.returncode == 2
    assert "holder.toml, time.rows_bound: is missing, and the number of rows in your table is private" in done.stderr
    for rule in ("grid = 0", "rows_bound = 1000"):
        house.text(rest=f"[time]\n{rule}")
        done = panbayes("holder", "approve", "clinics", "--statement", "s.txt")
        assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not here to sign with")
def test_an_officer_signs_elsewhere(panbayes: Panbayes, house: House) -> None:
    arrive(house)
    listed(panbayes)
    done = panbayes("holder", "approve", "clinics", "--statement", "clinics.txt")
    assert done.returncode == 0
    assert "ssh-keygen -Y sign -n panbayes-approval -f KEY clinics.txt" in done.stdout
    command = ["ssh-keygen", "-Y", "sign", "-n", "panbayes-approval", "-f", "mary.key", "clinics.txt"]
    subprocess.run(command, cwd=house.folder, check=True, capture_output=True)
    done = panbayes("holder", "approve", "clinics", "--signature", "clinics.txt.sig")
    assert "Signed by mary.\nThe study is approved" in done.stdout
    (house.folder / "clinics.txt").write_text("another statement")
    (house.folder / "clinics.txt.sig").unlink()
    subprocess.run(command, cwd=house.folder, check=True, capture_output=True)
    done = panbayes("holder", "approve", "clinics", "--signature", "clinics.txt.sig")
    assert done.returncode == 2
    assert "--signature: is not mary's signature under this approval" in done.stderr


# at a terminal


def test_the_name_of_the_study_is_typed(panbayes: Panbayes, house: House) -> None:
    arrive(house)
    listed(panbayes)
    seen = at_terminal("holder", "approve", "clinics", "--key", "mary.key", folder=house.folder, typed=("clinic",))
    assert seen.code == 2
    assert "another name was typed: nothing was signed" in seen.text
    assert listed(panbayes)[0]["stands"] == "waiting"
    seen = at_terminal("holder", "approve", "clinics", "--key", "mary.key", folder=house.folder, typed=("clinics",))
    assert seen.code == 0, seen.text
    assert 'To approve it, type its name, "clinics":' in seen.text
    assert "Your table fits the study's schema" in seen.text
    assert listed(panbayes)[0]["stands"] == "approved"


def test_misfits_are_shown_on_a_terminal_alone(panbayes: Panbayes, house: House) -> None:
    arrive(house)
    listed(panbayes)
    (house.folder / "north.csv").write_text(TABLE + "perhaps,30\n" * 9)
    command = ("holder", "approve", "clinics", "--key", "mary.key")
    seen = at_terminal(*command, folder=house.folder, typed=("no",))
    assert "for the eyes of north only: the schema does not name some values" in seen.text
    assert "tells the analyst one fact about your records by that" in seen.text
    assert seen.text.index("for the eyes") < seen.text.index("type its name")
    seen = at_terminal(*command, "--no-look", folder=house.folder, typed=("no",))
    assert "type its name" in seen.text
    assert "for the eyes" not in seen.text
    done = panbayes(*command, "--yes")
    assert "for the eyes" not in done.stdout + done.stderr


def test_a_table_that_cannot_be_read_does_not_keep_an_officer_from_signing(panbayes: Panbayes, house: House) -> None:
    arrive(house)
    listed(panbayes)
    (house.folder / "north.csv").unlink()
    command = ("holder", "approve", "clinics", "--key", "mary.key")
    seen = at_terminal(*command, folder=house.folder, typed=("clinics",))
    assert "note: how your table fits was not looked at: " in seen.text
    assert seen.code == 0, seen.text


# decline, stop, resume, log


def test_decline_stop_resume(panbayes: Panbayes, house: House) -> None:
    study = arrive(house)
    listed(panbayes)
    panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    done = panbayes("holder", "stop", "clinics", "--reason", "a doubt", "--by", "tom")
    assert done.stdout == f"clinics ({study[:12]}) is stopped: nothing leaves from now on.\n"
    assert listed(panbayes)[0]["stands"] == "stopped"
    done = panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    assert "The study is stopped, and stays so until panbayes holder resume." in done.stdout
    done = panbayes("holder", "resume", study[:12])
    assert done.stdout == f"clinics ({study[:12]}) was stopped, and goes on.\n"
    assert listed(panbayes)[0]["stands"] == "approved"
    done = panbayes("holder", "decline", "clinics", "--reason", "no vote")
    assert done.stdout == f"clinics ({study[:12]}) is declined. Nobody is told.\n"
    done = panbayes("holder", "resume", "clinics")
    assert done.returncode == 2
    assert "is approved by 0 of 1 officers" in done.stderr
    assert panbayes("holder", "stop", "nothing").returncode == 2
    said = json.loads(panbayes("holder", "log", "--json").stdout)
    told = [(event["what"], event["name"], event["who"]) for event in said["events"]]
    assert told == [(what, "clinics", "uni") for what in ("approved", "stopped", "resumed", "declined")]
    assert said["events"][1]["detail"] == {"by": "tom", "reason": "a doubt"}


def test_everything_is_stopped_at_once(panbayes: Panbayes, house: House) -> None:
    assert panbayes("holder", "stop", "--all").stdout == "No study has arrived: nothing is to be stopped.\n"
    for name in ("clinics", "wards"):
        arrive(house, CLINICS.replace("clinics", name))
    listed(panbayes)
    done = panbayes("holder", "stop", "--all", "--json")
    assert {one["name"] for one in json.loads(done.stdout)} == {"clinics", "wards"}
    assert {one["stands"] for one in listed(panbayes)} == {"stopped"}
    for arguments in ((), ("clinics", "--all")):
        done = panbayes("holder", "stop", *arguments)
        assert done.returncode == 2
        assert "STUDY: is needed, or else --all" in done.stderr


def test_the_log_is_a_table_for_people_and_spreadsheets(panbayes: Panbayes, house: House) -> None:
    assert "Nothing has happened yet." in panbayes("holder", "log").stdout
    arrive(house)
    listed(panbayes)
    panbayes("holder", "approve", "clinics", "--key", "mary.key", "--yes")
    panbayes("holder", "stop", "clinics", "--reason", "=cmd()")
    shown = panbayes("holder", "log", COLUMNS="300").stdout
    assert "signed by mary" in shown
    rows = list(csv.DictReader(io.StringIO(panbayes("holder", "log", "--csv").stdout)))
    assert [(row["what"], row["name"], row["who"]) for row in rows] == [
        ("approved", "clinics", "uni"),
        ("stopped", "clinics", "uni"),
    ]
    assert panbayes("holder", "log", "--since", "2999-01-01").stdout.strip() == "Nothing has happened yet."
    assert len(json.loads(panbayes("holder", "log", "--since", "2020-01-01", "--json").stdout)["events"]) == 2
    for arguments, words in ((("--since", "soon"), '--since: found "soon"'), (("--csv", "--json"), "--csv: is given")):
        done = panbayes("holder", "log", *arguments)
        assert done.returncode == 2
        assert words in done.stderr


def test_the_ledger_of_a_holders_file_is_found_by_it(panbayes: Panbayes, house: House) -> None:
    house.text()
    study = arrive(house)
    assert listed(panbayes)[0]["study"] == study
    (one,) = json.loads(panbayes("holder", "ledger", "show", "--config", "holder.toml", "--json").stdout)
    assert Path(one["ledger"]).parent == Path("state") / "ledgers"
    done = panbayes("holder", "ledger", "verify", "north", "--config", "holder.toml")
    assert (done.returncode, done.stderr) == (0, "")
    for verb in (("open", "north", "1"), ("close", "north", "clinics")):
        done = panbayes("holder", "ledger", *verb, "--config", "holder.toml")
        assert done.returncode == 2
        assert "no ledger file" not in done.stderr
    done = panbayes("holder", "ledger", "show", "--config", "holder.toml", "--state", "state")
    assert done.returncode == 2
    assert "--config: is given with --state" in done.stderr
    assert panbayes("holder", "ledger", "show", "--config", "none.toml").returncode == 2


# What a holder's file says of its ledger


@pytest.mark.parametrize("where", ["here", "elsewhere", "nowhere"])
def test_the_cap_of_a_holder_s_file_is_changed_there_and_nowhere_else(
    panbayes: Panbayes, house: House, where: str
) -> None:
    arrive(house)
    assert listed(panbayes)
    path = next((house.folder / "state" / "ledgers").glob("*.ledger"))
    before = HolderFile.load(house.folder / "holder.toml").cap
    line = [text.startswith("cap = ") for text in (house.folder / "holder.toml").read_text().splitlines()].index(True)
    if where == "here":
        done = panbayes("holder", "ledger", "cap", "north", "0.5", "--state", "state")
        assert f"change cap in holder.toml, line {line + 1};" in done.stderr
    elif where == "elsewhere":
        moved = shutil.copytree(house.folder, house.folder / "moved", ignore=shutil.ignore_patterns("moved"))
        (house.folder / "holder.toml").rename(house.folder / "another.toml")
        done = panbayes("holder", "ledger", "cap", str(moved / "state" / "ledgers" / path.name), "0.5")
        assert f"change cap in {moved / 'holder.toml'}, line {line + 1};" in done.stderr
        (house.folder / "another.toml").rename(house.folder / "holder.toml")
    else:
        (house.folder / "holder.toml").rename(house.folder / "another.toml")
        done = panbayes("holder", "ledger", "cap", "north", "0.5", "--state", "state")
        assert "change cap in the holder's file that has this folder as its state;" in done.stderr
        (house.folder / "another.toml").rename(house.folder / "holder.toml")
    assert (done.returncode, done.stdout) == (2, "")
    with HolderFile.load(house.folder / "holder.toml").ledger() as ledger:
        assert ledger.summary().cap == before
    shown = panbayes("holder", "ledger", "show", "north", "--state", "state")
    assert shown.returncode == 0, "to look is free"


def test_there_is_one_way_to_let_a_study_go_on(panbayes: Panbayes, house: House) -> None:
    study = arrive(house)
    assert listed(panbayes)
    done = panbayes("holder", "ledger", "resume", "north", study[:12], "--state", "state")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"run: panbayes holder resume {study[:12]}\n")
    with HolderFile.load(house.folder / "holder.toml").ledger() as ledger:
        summary = ledger.summary()
    failed = Attempt("cd" * 16, study, "clinics", "ab" * 32, "counts", "2026-11-16 12:00:00Z", "MemoryError")
    told = replace(summary, failures=(failed,) * 3)
    lines = {owned: " ".join(account(house.folder, told, owned=owned)) for owned in (True, False)}
    assert f"until you look: panbayes holder resume {study[:12]}." in lines[True]
    assert f"until you look: panbayes holder ledger resume LEDGER {study[:12]}." in lines[False]
