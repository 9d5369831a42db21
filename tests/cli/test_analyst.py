"""``panbayes analyst``: enrolling holders, learning from them by letters, and checking what they signed."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from msgspec.structs import replace as changed

from panbayes.bayesnet.network import Network
from panbayes.cli.demo.population import clinic_network, clinic_schema
from panbayes.cli.study_file import study_text
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.words import words_of
from panbayes.schema.schema import dump_schema
from tests.cli.help_pages import examples, page, pages
from tests.conftest import Panbayes
from tests.consortium.desk.holders import LetterHolder, letter_holders
from tests.running import run_line

STUDY = Study("three clinics", clinic_schema(), "noisy-majority-voting", 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Keys of an analyst and two holders, a study with its schema, and a folder for letters."""
    for name in ("analyst", "north", "south", "new"):
        PrivateKey.generate().save(tmp_path / name, comment=name, argument="NAME")
    (tmp_path / "clinic.toml").write_text(dump_schema(STUDY.schema), encoding="utf-8")
    (tmp_path / "study.toml").write_text(study_text(STUDY, schema="clinic.toml"), encoding="utf-8")
    (tmp_path / "letters").mkdir()
    return tmp_path


def key(folder: Path, name: str) -> PrivateKey:
    return PrivateKey.load(folder / f"{name}.key", argument="KEY")


@contextmanager
def holders(folder: Path, *, simulated: bool = False) -> Iterator[dict[str, LetterHolder]]:
    """North and south, behind the folder of letters."""
    tables = {name: clinic_network().sample_table(400, seed) for seed, name in enumerate(("north", "south"))}
    state = None if simulated else folder / "ledgers"
    with letter_holders(STUDY, tables, folder / "letters", key(folder, "analyst").public, state=state) as found:
        for name, holder in found.items():
            holder.key = key(folder, name)
        yield found


@contextmanager
def answering(found: dict[str, LetterHolder]) -> Iterator[None]:
    """Answer whatever comes."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.02):
            for holder in found.values():
                holder.answer()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


LEARN = ("analyst", "learn", "study.toml", "--post", "letters", "-o", "model.json")


def enrolled(panbayes: Panbayes) -> None:
    for name in ("north", "south"):
        assert panbayes("analyst", "enroll", name, f"{name}.pub").returncode == 0


def test_enrolling_shows_what_to_compare(folder: Path, panbayes: Panbayes) -> None:
    north = key(folder, "north").public
    done = panbayes("analyst", "enroll", "north", "north.pub")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"roster: north is enrolled, {north.fingerprint}.\nCompare by phone: {words_of(north)}\n"
    again = panbayes("analyst", "enroll", "north", f"  {north.line} somebody's comment", "--json")
    assert json.loads(again.stdout) == {
        "roster": "roster",
        "name": "north",
        "fingerprint": north.fingerprint,
        "words": words_of(north),
        "replaced": False,
    }
    assert (folder / "roster").read_text() == (
        f'north namespaces="panbayes-answer,panbayes-approval,panbayes-request" {north.line}\n'
    )
    for arguments, message in (
        (("south", "north.pub"), 'KEY: is the key of holder "north"; give every holder a key of its own'),
        (("south", "analyst.pub"), "KEY: is your own; give the holder's"),
        (("North", "south.pub"), 'NAME: found "North", and "north" is enrolled'),
        (("../north", "south.pub"), 'NAME: found the name "../north"'),
        (("north", "south.pub"), 'NAME: holder "north" is enrolled with another key, SHA256:'),
        (("south", "south.key"), "KEY: is no Ed25519 public key (this is a private key: it never leaves its owner)"),
        (("south", "absent.pub"), "KEY: absent.pub cannot be read"),
    ):
        done = panbayes("analyst", "enroll", *arguments)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {message}"), done.stderr
        assert len(done.stderr.splitlines()) == 1
    done = panbayes("analyst", "enroll", "north", "new.pub", "--replace")
    assert "north is enrolled with a new key" in done.stdout
    assert "give them another name and propose them anew" in done.stdout


def test_the_roster_lists_keys_old_and_new(folder: Path, panbayes: Panbayes) -> None:
    done = panbayes("analyst", "roster")
    assert (done.returncode, done.stderr) == (
        2,
        "error: --roster: roster is not there; `panbayes analyst enroll NAME KEY` makes one\n",
    )
    (folder / "roster").write_text("# nobody\n")
    assert panbayes("analyst", "roster").stdout == "roster: nobody is enrolled.\n"
    enrolled(panbayes)
    panbayes("analyst", "enroll", "north", "new.pub", "--replace")
    shown = panbayes("analyst", "roster").stdout
    assert re.search(r"  north   SHA256:\S{43}  until 20\d\d-\d\d-\d\d \d\d:\d\d UTC, no more\n", shown)
    assert re.search(rf"  north   {re.escape(key(folder, 'new').public.fingerprint)}  yes\n", shown)
    told = json.loads(panbayes("analyst", "roster", "--words", "--json").stdout)
    assert [(one["name"], one["valid"]) for one in told] == [("north", False), ("north", True), ("south", True)]
    assert told[2]["words"] == words_of(key(folder, "south").public)


def test_learning_by_letters_in_the_open(folder: Path, panbayes: Panbayes) -> None:
    """Run after run, as a person would, with exit code 6 until all have answered."""
    enrolled(panbayes)
    with holders(folder) as found:
        first = panbayes(*LEARN)
        assert (first.returncode, first.stdout) == (6, "")
        assert first.stderr == (
            "waiting for north, south (not approved yet: north, south); run the same command again later\n"
        )
        found["north"].approve()
        told = json.loads(panbayes(*LEARN, "--json").stdout)
        assert told == {
            "model": None,
            "waiting": {"approved, not answered yet": ["north"], "not approved yet": ["south"]},
            "out": {},
        }
        done = first
        while done.returncode == 6:
            for holder in found.values():
                holder.answer()
            done = panbayes(*LEARN)
        assert (done.returncode, done.stderr) == (0, "")
        assert not list(folder.glob(".model.json*"))
        asked = len(found["north"].answered)
    prints = {name: key(folder, name).public.fingerprint for name in ("north", "south")}
    for text in (done.stdout, panbayes("show", "model.json").stdout):
        for name in prints:
            assert f"signed by {name} ({prints[name]}), {asked} answers\n" in text
    shown = json.loads(panbayes("show", "model.json", "--json").stdout)
    assert [len(one["answers"]) for one in shown["receipts"]["holders"]] == [asked, asked]
    assert "ledger head of north" in shown["about"]
    verified = panbayes("analyst", "verify", "model.json")
    assert (verified.returncode, verified.stderr) == (0, "")
    assert f"  north ({prints['north']}) signed {asked} answers, every signature holds.\n" in verified.stdout
    assert (folder / "model.json").stat().st_mode & 0o044


def test_verifying_says_what_does_not_hold(folder: Path, panbayes: Panbayes) -> None:
    enrolled(panbayes)
    with holders(folder) as found, answering(found):
        assert panbayes(*LEARN, "--wait").returncode == 0
    panbayes("analyst", "enroll", "north", "new.pub", "--replace")
    assert panbayes("analyst", "verify", "model.json").returncode == 0, "a key that was replaced was its key"
    roster = (folder / "roster").read_text()
    text = (folder / "model.json").read_text()
    network = Network.load(folder / "model.json")
    assert network.receipts is not None

    def unsound(words: str) -> None:
        done = panbayes("analyst", "verify", "model.json")
        assert (done.returncode, done.stderr) == (1, "")
        assert f"north: NOT AS SIGNED: {words}" in done.stdout, done.stdout
        assert "south (SHA256:" in done.stdout
        told = json.loads(panbayes("analyst", "verify", "model.json", "--json").stdout)
        assert (told["sound"], told["holders"][1]["faults"]) == (False, [])

    (folder / "roster").write_text("".join(line for line in roster.splitlines(True) if "north" not in line))
    unsound("the roster has another key, or none")
    (folder / "roster").write_text(roster)
    changes: list[tuple[dict[str, object], str]] = [
        ({"letter": "ab" * 64}, "the signature of answer 1 is not by this key, or of another letter"),
        ({"signature": "rubbish"}, "the signature of answer 1 is not by this key"),
        ({"signature": network.receipts.holders[1].answers[0].signature}, "the signature of answer 1 is not by"),
        ({"sequence": 2}, "answer 2 is there twice"),
    ]
    for change, words in changes:
        (folder / "model.json").write_text(text)
        tampered(folder / "model.json", change)
        unsound(words)


def tampered(path: Path, change: dict[str, object]) -> None:
    """Change the first answer of north in a model, and make its checksum right."""
    network = Network.load(path)
    assert network.receipts is not None
    north, south = network.receipts.holders
    answers = (changed(north.answers[0], **change), *north.answers[1:])
    holders = (changed(north, answers=answers), south)
    replace(network, receipts=changed(network.receipts, holders=holders)).save(path)


def test_a_holder_that_the_model_names_without_a_receipt_is_missed(folder: Path, panbayes: Panbayes) -> None:
    enrolled(panbayes)
    with holders(folder) as found, answering(found):
        assert panbayes(*LEARN, "--wait").returncode == 0
    network = Network.load(folder / "model.json")
    assert network.receipts is not None
    replace(network, receipts=changed(network.receipts, holders=network.receipts.holders[1:])).save(
        folder / "model.json"
    )
    done = panbayes("analyst", "verify", "model.json")
    assert done.returncode == 1
    assert "north: NOT AS SIGNED: the model names it, and has no receipt of it" in done.stdout
    north, south = network.receipts.holders
    silent = changed(network.receipts, holders=(changed(north, answers=()), south))
    replace(network, receipts=silent).save(folder / "model.json")
    done = panbayes("analyst", "verify", "model.json")
    assert done.returncode == 0
    assert re.search(r"  north \(SHA256:\S+\): no answer of it was used\.\n", done.stdout)
    replace(network, receipts=None).save(folder / "model.json")
    done = panbayes("analyst", "verify", "model.json")
    assert (done.returncode, done.stderr) == (
        2,
        "error: model.json: carries no signatures; give a model that panbayes analyst learn has written\n",
    )


def test_what_learning_cannot_begin_with_is_named(folder: Path, panbayes: Panbayes) -> None:
    def refused(message: str, *more: str) -> None:
        done = panbayes(*LEARN, *more)
        assert done.returncode == 2
        assert done.stderr.startswith(f"error: {message}"), done.stderr
        assert not list((folder / "letters").iterdir())

    refused("--roster: roster is not there")
    (folder / "roster").write_text("")
    refused("--roster: nobody is enrolled; `panbayes analyst enroll NAME KEY` enrolls a holder")
    refused('--holder: "north" is not enrolled; `panbayes analyst', "--holder", "north")
    enrolled(panbayes)
    refused('--holder: "nroth" is not enrolled; did you mean "north"?', "--holder", "nroth")
    refused("--post: nowhere is no folder", "--post", "nowhere")
    refused("--key: nobody.key cannot be read", "--key", "nobody.key")
    refused("--output: analyst.key is also read by this command", "--output", "analyst.key")
    (folder / "analyst.key").chmod(0o644)
    refused("--key: analyst.key may be read by others")
    (folder / "analyst.key").chmod(0o600)
    (folder / "study.toml").write_text(
        (folder / "study.toml").read_text().replace("noisy-majority-voting", "non-private")
    )
    refused('study.toml, strategy: "non-private" looks at all records without privacy')


def test_simulated_answers_are_taken_only_if_asked_for(folder: Path, panbayes: Panbayes) -> None:
    enrolled(panbayes)
    with holders(folder, simulated=True) as found:
        panbayes(*LEARN)
        for holder in found.values():
            holder.answer()
        done = panbayes(*LEARN)
        assert done.returncode == 4
        told = "holder north: the answer that it signed in round 1 cannot be used: simulated noise; this run takes the "
        assert (
            f"{told}other kind only (rehearse with a study of another name); a question has one answer" in done.stderr
        )
        done = panbayes(*LEARN, "--json")
        assert json.loads(done.stdout)["out"].keys() == {"north"}
        done = panbayes(*LEARN, "--simulated")
        assert "error: --simulated: the study was begun with secure noise" in done.stderr
        with answering(found):
            done = panbayes(*LEARN, "--simulated", "--wait", "--state", "other")
        assert done.returncode == 0
        assert "NOT PRIVATE" in done.stdout
        assert (folder / "model.json").stat().st_mode & 0o077 == 0
        assert "ledger head of north" not in Network.load(folder / "model.json").about


def test_the_examples_are_one_working_session(folder: Path, panbayes: Panbayes) -> None:
    shown = [line for words in pages() if words[:1] == ("analyst",) for line in examples(page(words))]
    lines = [line for line in dict.fromkeys(shown) if re.search("analyst (enroll|roster|learn|verify)", line)]
    assert panbayes("analyst", "enroll", "south", "south.pub").returncode == 0
    with holders(folder) as found, answering(found):
        for line in sorted(lines, key=lambda line: "--replace" in line):
            done = run_line(line, folder=folder)
            while done.returncode == 6:
                done = run_line(line, folder=folder)
            assert (done.returncode, line) == (0, line), done.stderr
