"""Learning by letters gives what learning in one process gives, however often it is given up and begun again."""

from __future__ import annotations

import shutil
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from panbayes.consortium.agreement.about import About
from panbayes.consortium.agreement.study import Study, dump_study
from panbayes.consortium.desk.learning import AwaitedError, learn_by_letters
from panbayes.consortium.desk.receipts import check_receipts
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.local.learn import learn
from panbayes.consortium.post.bodies import decode_study
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Letter
from panbayes.consortium.post.sealing import sealing_key
from panbayes.consortium.post.signatures import sign
from panbayes.consortium.protocol.codec import decode_question, encode
from panbayes.consortium.protocol.envelope import Refusal, RefusalCode
from panbayes.errors import HolderRefusedError, InputError
from panbayes.schema.schema import Schema
from tests.consortium.desk.desks import ANALYST, INDEPENDENT, VOTING, Desk, DeskOf, bare
from tests.consortium.desk.holders import SEED, LetterHolder, keys_of
from tests.consortium.studies import KILLED, SCHEMA, tables_for


@pytest.mark.parametrize("study", KILLED, ids=lambda study: study.name)
def test_letters_give_the_network_of_one_process(study: Study, desk_of: DeskOf) -> None:
    desk = desk_of(study)
    network = desk.finish()
    assert bare(network) == learn(study, tables_for(study), simulate=SEED)
    assert network.about == learn(study, tables_for(study), simulate=SEED).about
    assert network.receipts is not None
    for signer in network.receipts.holders:
        holder = desk.holders[signer.name]
        assert len(signer.answers) == len(holder.answered) == len(set(holder.answered))
        assert [answer.sequence for answer in signer.answers] == list(range(1, len(signer.answers) + 1))
    assert desk.run() == network, "a run after the last one is free"
    assert desk.told == []


def test_sealed_answers_are_opened(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT, sealed=True)
    assert bare(desk.finish()) == learn(INDEPENDENT, tables_for(INDEPENDENT), simulate=SEED)
    shutil.rmtree(desk.post)
    desk.post.mkdir()
    assert bare(desk.run()) == learn(INDEPENDENT, tables_for(INDEPENDENT), simulate=SEED)


def test_secure_answers_carry_receipts_that_hold(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING, secure=True)
    network = desk.finish()
    assert network.privacy is not None
    assert network.privacy.private
    assert network.receipts is not None
    assert network.receipts.study == VOTING.hash
    heads = {f"ledger head of {one.name}": one.answers[-1].head for one in network.receipts.holders}
    assert heads.items() <= dict(network.about).items()
    lines = [f"{name} {key.line}\n" for name, key in keys_of(desk.holders).items()]
    found = check_receipts(network.receipts, Roster.parse("".join(lines)), named=network.about["holders"])
    assert [(one.name, one.faults, one.answers) for one in found] == [("large", (), 5), ("small", (), 5)]


def test_who_is_waited_for_and_why(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    assert str(desk.waiting()) == (
        "waiting for large, small (not approved yet: large, small); run the same command again later"
    )
    desk.holders["large"].approve()
    assert desk.waiting().standing == {"approved, not answered yet": ["large"], "not approved yet": ["small"]}
    desk.holders["large"].answer()
    assert desk.waiting().standing == {"not approved yet": ["small"]}
    assert desk.waiting().exit_code == 6
    old = desk_of(replace(INDEPENDENT, about=About(until=date(2020, 1, 1))))
    told = str(old.waiting())
    assert told.endswith(
        "the study ended on 2020-01-01, and holders answer nothing after that: propose one with a later end"
    )
    assert "again later" not in told


def test_somebody_else_s_approval_is_none(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    large, small = desk.holders.values()
    large.approve()
    stem = f"{INDEPENDENT.hash[:12]}-000000"
    for name in ("approval", "approval.sig"):
        (desk.post / "from-small").mkdir(exist_ok=True)
        shutil.copy(desk.post / "from-large" / f"{stem}.{name}", desk.post / "from-small" / f"{stem}.{name}")
    assert desk.waiting().standing["not approved yet"] == ["small"]
    small.approve()
    assert desk.waiting().standing == {"approved, not answered yet": ["large", "small"]}
    letter = desk.post / "from-small" / f"{stem}.approval"
    signature = letter.with_name(f"{letter.name}.sig")
    own = signature.read_text()
    for forged in (
        sign(large.key, "panbayes-approval", letter.read_bytes()),
        sign(small.key, "panbayes-answer", letter.read_bytes()),
        own.replace("A", "B"),
    ):
        signature.write_text(forged)
        assert desk.waiting().standing["not approved yet"] == ["small"]
    signature.write_text(own)
    assert desk.waiting().standing == {"approved, not answered yet": ["large", "small"]}
    # Nor does its own word about another letter.
    found = Letter.decode(letter.read_bytes())
    other = replace(found, header=replace(found.header, replies_to="ab" * 32))
    small.folder.put("from", "small", found.header, other.signed_by(small.key))
    assert desk.waiting().standing["not approved yet"] == ["small"]


def test_waiting_goes_on_when_answers_come(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panbayes.consortium.desk.learning.QUIET", 0.01)
    desk = desk_of(VOTING)
    ended = threading.Event()

    def answering() -> None:
        while not ended.wait(0.005):
            for holder in desk.holders.values():
                holder.answer()

    thread = threading.Thread(target=answering)
    thread.start()
    try:
        network = desk.run(wait=True)
    finally:
        ended.set()
        thread.join()
    assert bare(network) == learn(VOTING, tables_for(VOTING), simulate=SEED)
    assert set(desk.told) <= {"waiting for large, small", "waiting for large", "waiting for small"}
    assert desk.told


def test_a_folder_that_loses_everything_does_not_matter(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    expected = learn(VOTING, tables_for(VOTING), simulate=SEED)

    def lose() -> None:
        shutil.rmtree(desk.post)
        desk.post.mkdir()
        with pytest.raises(AwaitedError):
            desk.run()

    assert bare(desk.finish(between=lose)) == expected
    assert all(len(set(holder.answered)) == 5 for holder in desk.holders.values())


def test_a_journal_that_was_lost_is_made_again_from_the_folder(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    network = desk.finish(between=lambda: shutil.rmtree(desk.state))
    assert bare(network) == learn(VOTING, tables_for(VOTING), simulate=SEED)
    shutil.rmtree(desk.state)
    answered = {name: len(holder.answered) for name, holder in desk.holders.items()}
    assert desk.run() == network, "all of it lies in the folder"
    assert {name: len(holder.answered) for name, holder in desk.holders.items()} == answered


def test_old_files_that_come_back_are_not_taken(desk_of: DeskOf, tmp_path: Path) -> None:
    """After every round the folder is as it was before it, with what came since on top of it or not."""
    desk = desk_of(VOTING)
    expected = learn(VOTING, tables_for(VOTING), simulate=SEED)
    copies: list[Path] = []

    def bring_back() -> None:
        copies.append(tmp_path / f"copy {len(copies)}")
        shutil.copytree(desk.post, copies[-1])
        for copy in copies:
            shutil.copytree(copy, desk.post, dirs_exist_ok=True)

    assert bare(desk.finish(between=bring_back)) == expected


def test_two_runs_at_once_are_refused(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("panbayes.consortium.desk.learning.QUIET", 0.01)
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    thread = threading.Thread(target=lambda: desk.run(wait=True))
    thread.start()
    try:
        while not desk.told:
            time.sleep(0.01)
        with pytest.raises(InputError, match="STUDY: is being learned by another process"):
            desk.run()
    finally:
        for holder in desk.holders.values():
            holder.answer()
        thread.join()


def test_what_is_not_private_is_not_asked_for(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.study = Study("all", SCHEMA, "non-private")
    with pytest.raises(InputError, match='study, strategy: "non-private" looks at all records without privacy'):
        desk.run()
    desk.study = Study("one", SCHEMA, "privbayes", 1)
    with pytest.raises(InputError, match='"privbayes" learns from one holder, found 2'):
        desk.run()
    desk.study = Study("draft", replace(SCHEMA, status="draft"), "independent", 1)
    with pytest.raises(InputError, match="is a draft"):
        desk.run()
    assert list(desk.post.iterdir()) == []


def test_a_run_goes_on_with_the_holders_and_keys_it_began_with(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    before = {path: path.read_bytes() for path in desk.post.rglob("*") if path.is_file()}
    everybody, large = dict(desk.holders), desk.holders["large"]

    def refused(words: str) -> None:
        for _ in range(2):
            with pytest.raises(InputError, match=words):
                desk.run()

    desk.holders = {"large": large}
    refused("--holder: found large, and the study was proposed to large, small; name the same holders")
    shutil.move(desk.state, f"{desk.state} away")
    refused("--holder: found large, and the folder holds the same study, proposed to large, small")
    shutil.rmtree(desk.state)
    shutil.move(f"{desk.state} away", desk.state)
    desk.holders = {**everybody, "third": replace(large, key=PrivateKey.generate())}
    refused("--holder: found large, small, third, and the study was proposed to large, small")
    desk.holders = {**everybody, "small": replace(everybody["small"], key=PrivateKey.generate())}
    refused("--roster: small has another key than the study was proposed to")
    desk.holders = everybody
    desk.simulated = False
    refused("--simulated: the study was begun with simulated noise")
    desk.simulated = True
    with pytest.raises(InputError, match="--key: is another key than the study was proposed with"):
        learn_by_letters(
            INDEPENDENT,
            keys_of(everybody),
            key=PrivateKey.generate(),
            folder=Folder.at(desk.post),
            state=desk.state,
            tell=print,
            simulated=True,
        )
    assert {path: path.read_bytes() for path in desk.post.rglob("*") if path.is_file()} == before
    assert bare(desk.finish()) == learn(INDEPENDENT, tables_for(INDEPENDENT), simulate=SEED)


def test_the_letter_that_proposed_a_study_stays_the_same(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later panbayes may write a study otherwise; officers have approved the letter as it was."""
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    stem = f"{INDEPENDENT.hash[:12]}-000000"
    path = desk.post / "to-large" / f"{stem}.study"
    before = path.read_bytes()
    monkeypatch.setattr("panbayes.consortium.desk.proposing.dump_study", lambda study: f"# new\n{dump_study(study)}")
    desk.waiting()
    assert path.read_bytes() == before
    path.unlink()
    desk.waiting()
    assert path.read_bytes() == before, "from the journal"
    shutil.rmtree(desk.state)
    desk.waiting()
    assert path.read_bytes() == before, "from the folder"
    # What is not ours, or means something else, is written over.
    shutil.rmtree(desk.state)
    path.write_bytes(before.replace(b"independent", b"dependent"))
    desk.waiting()
    assert b"# new" in path.read_bytes()
    found = decode_study(desk.holders["large"].read(stem, "study")[1].body)
    assert Study.parse(found.study, schema=Schema.parse(found.schema)).hash == INDEPENDENT.hash
    assert found.holders == {name: key.line for name, key in keys_of(desk.holders).items()}
    assert found.sealing == sealing_key(ANALYST)


def refusing(holder: LetterHolder, code: RefusalCode = "over-budget") -> None:
    """Let a holder refuse what lies there unanswered."""
    gate = holder.gate
    holder.gate = lambda data: encode(Refusal(decode_question(data).id, code, "no\x1b[2J room"))
    holder.answer()
    holder.gate = gate


@pytest.mark.parametrize("lost", [False, True], ids=["journal kept", "journal lost"])
def test_what_was_refused_is_asked_again_under_the_next_number(desk_of: DeskOf, lost: bool) -> None:
    desk = desk_of(VOTING)
    small = desk.holders["small"]

    def refused() -> None:
        with pytest.raises(HolderRefusedError, match=r"holder small: refused \(over-budget\): no\\x1b\[2J room"):
            desk.run()

    desk.waiting()
    desk.holders["large"].answer()
    refusing(small)
    refused()
    desk.waiting()
    refusing(small, "too-large")
    with pytest.raises(HolderRefusedError, match="too-large"):
        desk.run()
    assert small.folder.stems("to", "small", "question")[-1].endswith("-000002")
    network = desk.finish()
    assert bare(network) == learn(VOTING, tables_for(VOTING), simulate=SEED)
    if lost:
        shutil.rmtree(desk.state)
        answered = list(small.answered)
        refused()
        with pytest.raises(HolderRefusedError, match="too-large"):
            desk.run()
        assert desk.run() == network
        assert small.answered == answered
    assert network.receipts is not None
    numbers = {one.name: [answer.sequence for answer in one.answers] for one in network.receipts.holders}
    assert numbers == {"large": [1, 2, 3, 4, 5], "small": [3, 4, 5, 6, 7]}


def test_a_refusal_while_waiting_is_told_and_not_asked_again(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()

    def refuse() -> None:
        for holder in desk.holders.values():
            refusing(holder)

    timer = threading.Timer(0.3, refuse)
    timer.start()
    with pytest.raises(HolderRefusedError, match="holder large: refused"):
        desk.run(wait=True)
    timer.join()
    assert all(len(holder.folder.stems("to", name, "question")) == 1 for name, holder in desk.holders.items())


def test_looks_into_the_folder_become_rare(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 30:
            for holder in desk.holders.values():
                holder.answer()

    monkeypatch.setattr("panbayes.consortium.desk.learning.time.sleep", sleep)
    desk.run(wait=True)
    assert len(pauses) == 30
    assert pauses == sorted(pauses)
    assert 0.01 <= pauses[0] <= 0.05
    assert pauses[-1] == 1
    assert desk.told == ["waiting for large, small"]


def poison(desk: Desk, statement: str) -> None:
    (path,) = desk.state.rglob("journal")
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM facts",
        "DELETE FROM facts WHERE name = 'noise'",
        "UPDATE holders SET study = x'00'",
        "UPDATE holders SET signature = 'none'",
        "UPDATE holders SET (study, signature) = (SELECT study, signature FROM holders ORDER BY name LIMIT 1)",
    ],
)
def test_a_journal_that_was_changed_is_named_and_nothing_of_it_leaves(desk_of: DeskOf, statement: str) -> None:
    desk = desk_of(VOTING)
    desk.waiting()
    before = {path: path.read_bytes() for path in desk.post.rglob("*") if path.is_file()}
    poison(desk, statement)
    with pytest.raises(InputError, match=r"journal: is damaged .*; move its folder away"):
        desk.run()
    assert {path: path.read_bytes() for path in desk.post.rglob("*") if path.is_file()} == before


def test_the_journal_of_another_study_is_not_taken_for_its_own(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    desk.waiting()
    (own,) = (path.parent for path in desk.state.rglob("journal"))
    other = replace(VOTING, name="other votes")
    own.rename(own.with_name(other.hash))
    desk.study = other
    with pytest.raises(InputError, match="it holds another letter than the one that proposed the study"):
        desk.run()
    assert not list(desk.post.glob(f"to-*/{other.hash[:12]}-*"))
