"""A hostile holder, and whoever else writes into the folder: nothing that is not the answer is taken for it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from panbayes.consortium.desk.asking import Correspondence
from panbayes.consortium.desk.journal import Journal, journal_folder
from panbayes.consortium.local.learn import learn
from panbayes.consortium.post.folder import Folder, Side
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import LIMITS, Header, Kind, Letter, Signed
from panbayes.consortium.post.signatures import sign
from panbayes.consortium.protocol.answers import TablesAnswer
from panbayes.consortium.protocol.cells import pack_cells, unpack_cells
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Release, question
from panbayes.consortium.protocol.queries import ParentChoiceQuery
from panbayes.errors import HolderOutError, HolderWaitingError, InputError
from tests.consortium.desk.desks import ANALYST, INDEPENDENT, VOTING, Desk, DeskOf, bare
from tests.consortium.desk.holders import SEED, LetterHolder
from tests.consortium.studies import tables_for

OTHER = PrivateKey.generate()


def release_of(body: bytes) -> Release:
    found = decode_reply(body)
    assert isinstance(found, Release)
    return found


def counting(body: bytes, *, first: int | None = None, drop: int = 0) -> bytes:
    """Other counts in a release of tables: the first, or fewer."""
    release = release_of(body)
    assert isinstance(release.answer, TablesAnswer)
    counts = unpack_cells(release.answer.cells).copy()
    if first is not None:
        counts[0] = first
    return encode(msgspec.structs.replace(release, answer=TablesAnswer(pack_cells(counts[drop:]))))


def resized(body: bytes, size: int | None) -> bytes:
    return encode(msgspec.structs.replace(release_of(body), size=size))


Forged = Callable[[LetterHolder, Header, bytes], object]


def signed_by_another(holder: LetterHolder, header: Header, body: bytes) -> None:
    own, holder.key = holder.key, OTHER
    holder.send(header, body)
    holder.key = own


def signed_as_an_approval(holder: LetterHolder, header: Header, body: bytes) -> None:
    letter = Letter(header, body).signed_by(holder.key)
    holder.folder.put(
        "from", holder.name, header, replace(letter, signature=sign(holder.key, "panbayes-approval", letter.data))
    )


def a_byte_flipped(holder: LetterHolder, header: Header, body: bytes) -> None:
    letter = Letter(header, body).signed_by(holder.key)
    data = bytearray(letter.data)
    data[-1] ^= 1
    holder.folder.put("from", holder.name, header, replace(letter, data=bytes(data)))


def a_question(holder: LetterHolder, header: Header, body: bytes) -> None:
    """The right header in all but the kind."""
    letter = Letter(replace(header, kind="question", replies_to=None), body).signed_by(holder.key)
    signature = sign(holder.key, "panbayes-answer", letter.data)
    holder.folder.put("from", holder.name, header, replace(letter, signature=signature))


def saying(**change: Any) -> Forged:
    """A letter whose header says something else; the file has the name that is looked for."""

    def send(holder: LetterHolder, header: Header, body: bytes) -> None:
        letter = Letter(replace(header, **change), body).signed_by(holder.key)
        holder.folder.put("from", holder.name, header, letter)

    return send


def holding(change: Callable[[bytes], bytes]) -> Forged:
    """A letter with another body."""
    return lambda holder, header, body: holder.send(header, change(body))


NOT_ARRIVED: dict[str, tuple[Forged, str]] = {
    "another's signature": (signed_by_another, "not signed as an answer by the holder's key"),
    "another kind's signature": (signed_as_an_approval, "not signed as an answer by the holder's key"),
    "a byte flipped": (a_byte_flipped, "not signed as an answer by the holder's key"),
    "another kind": (a_question, "not signed as an answer by the holder's key"),
    "another study": (saying(study="ab" * 32), "about another study"),
    "another analyst": (saying(analyst=OTHER.public.fingerprint), "for another analyst"),
    "another holder": (saying(holder=OTHER.public.fingerprint), "another holder wrote it"),
    "another round": (saying(round=7), "of another round"),
    "another number": (saying(sequence=2), "another number"),
    "another letter": (saying(replies_to="cd" * 32), "replies to another letter"),
}
"""What anybody may have put there, or is not about this question."""

UNUSABLE: dict[str, tuple[Forged, str]] = {
    "sealed to nobody": (saying(sealed=True), "sealed to another key, or was changed"),
    "no reply": (holding(lambda _body: b"rubbish"), "the message is not"),
    "nothing": (holding(lambda _body: b""), "the message is not"),
    "another question's answer": (
        holding(lambda body: encode(msgspec.structs.replace(release_of(body), id="ab" * 32))),
        "to another question",
    ),
    "too few counts": (holding(lambda body: counting(body, drop=1)), "counts came where"),
    "absurd counts": (holding(lambda body: counting(body, first=2**62)), "a count is"),
    "absurdly many people": (holding(lambda body: resized(body, 2**52)), "no table has more than"),
    "no number of people": (holding(lambda body: resized(body, None)), "number of its people"),
    "secure noise": (
        holding(lambda body: encode(msgspec.structs.replace(release_of(body), private=True))),
        "secure noise; this run takes the other kind only",
    ),
}


@pytest.mark.parametrize("name", NOT_ARRIVED)
def test_what_is_not_the_answer_has_not_arrived(name: str, desk_of: DeskOf) -> None:
    forge, words = NOT_ARRIVED[name]
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    large, small = desk.holders.values()
    small.answer()
    (stem,) = large.folder.stems("to", "large", "question")
    forge(large, *large.reply(stem))
    for _ in range(2):
        assert desk.waiting().standing == {"a file lies there that is no answer of theirs": ["large"]}
    assert all(f"from-large/{stem}.answer, which is no answer of large: " in line for line in desk.told)
    assert all(words in line for line in desk.told)
    assert len(desk.told) == 2, "once a run"
    # Whoever mends it is heard.
    large.send(*large.reply(stem))
    assert bare(desk.run()) == learn(INDEPENDENT, tables_for(INDEPENDENT), simulate=SEED)


@pytest.mark.parametrize("name", UNUSABLE)
def test_who_signs_what_is_no_answer_is_out(name: str, desk_of: DeskOf) -> None:
    """A question has one answer: told by name and not waited for; what is signed later, however good, is not looked at.

    The journal holds the letter, so that it can be shown.
    """
    forge, words = UNUSABLE[name]
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    large = desk.holders["large"]
    (stem,) = large.folder.stems("to", "large", "question")
    forge(large, *large.reply(stem))
    unusable = (desk.post / "from-large" / f"{stem}.answer").read_bytes()
    for _ in range(2):  # small has not answered: to wait for it is of no use
        with pytest.raises(HolderOutError, match=r"^holder large: the answer that it signed in round 0") as caught:
            desk.run()
        assert words in caught.value.why
        assert (caught.value.holder, caught.value.exit_code) == ("large", 4)
        assert "propose the study anew under another name, with large or without" in str(caught.value)
        large.send(*large.reply(stem))  # as it should have been
    with pytest.raises(HolderOutError, match="holder large"):
        desk.run(wait=True)
    (path,) = desk.state.rglob("journal")
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("SELECT holder, sequence, round, letter FROM unusable").fetchall() == [
            ("large", 1, 0, unusable)
        ]
    assert desk.told == []


def test_another_holder_s_answer_is_not_taken(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    desk.holders["large"].answer()
    shutil.copytree(desk.post / "from-large", desk.post / "from-small")
    assert desk.waiting().standing == {"a file lies there that is no answer of theirs": ["small"]}
    assert "not signed as an answer by the holder's key" in desk.told[0]


def test_an_answer_of_an_earlier_round_is_not_taken(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    desk.waiting()
    for holder in desk.holders.values():
        holder.answer()
    desk.waiting()
    for holder in desk.holders.values():
        first, second = holder.folder.stems("to", holder.name, "question")
        for ending in ("answer", "answer.sig"):
            place = desk.post / f"from-{holder.name}"
            shutil.copy(place / f"{first}.{ending}", place / f"{second}.{ending}")
    assert desk.waiting().standing == {"a file lies there that is no answer of theirs": ["large", "small"]}
    assert all("of another round" in line for line in desk.told)


def test_a_holder_that_changes_its_number_of_people_is_not_followed(desk_of: DeskOf) -> None:
    """Also by a run that knows the first answer from its journal."""
    desk = desk_of(VOTING)
    desk.waiting()
    large, small = desk.holders.values()
    for holder in (large, small):
        holder.answer()
    desk.waiting()
    small.answer()
    _, stem = large.folder.stems("to", "large", "question")
    header, body = large.reply(stem)
    large.send(header, resized(body, 1501))
    with pytest.raises(HolderOutError, match="in round 2 cannot be used: its number of people changed"):
        desk.run()


def test_a_production_analyst_takes_no_simulated_noise(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.simulated = False
    desk.waiting()
    for holder in desk.holders.values():
        holder.answer()
    with pytest.raises(HolderOutError, match=r"holder large: .* simulated noise; this run takes the other kind only"):
        desk.run()


def odd(make: Callable[[Path, Path], object]) -> Callable[[Desk, Path], None]:
    def put(desk: Desk, path: Path) -> None:
        """Put something odd where the answer of large belongs, beside a signature; the real one lies elsewhere."""
        real = desk.post.parent / "real"
        path.rename(real)
        make(path, real)

    return put


@pytest.mark.parametrize(
    "put",
    [
        odd(lambda path, real: path.symlink_to(real)),
        odd(lambda path, _real: os.mkfifo(path)),
        odd(lambda path, _real: path.mkdir()),
        odd(lambda path, _real: os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), LIMITS["answer"] + 1)),
        odd(lambda path, real: path.write_bytes(real.read_bytes() + bytes(20_000))),
        odd(lambda path, _real: path.symlink_to("/dev/zero")),
        odd(lambda path, _real: path.write_bytes(b"")),
    ],
    ids=["link", "fifo", "folder", "huge", "large", "endless", "empty"],
)
def test_odd_files_are_no_answers(put: Callable[[Desk, Path], None], desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    for holder in desk.holders.values():
        holder.answer()
    (stem,) = desk.holders["large"].folder.stems("to", "large", "question")
    put(desk, desk.post / "from-large" / f"{stem}.answer")
    assert desk.waiting().standing == {"a file lies there that is no answer of theirs": ["large"]}
    assert len(desk.told) == 1


def test_a_large_file_is_not_even_read(desk_of: DeskOf, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an answer can hold is known beforehand: a holder cannot fill the analyst's memory."""
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    for holder in desk.holders.values():
        holder.answer()
    (stem,) = desk.holders["large"].folder.stems("to", "large", "question")
    os.truncate(desk.post / "from-large" / f"{stem}.answer", 100_000)
    get = Folder.get

    def without(self: Folder, side: Side, name: str, stem: str, kind: Kind) -> Signed | None:
        assert (side, name, kind) != ("from", "large", "answer")
        return get(self, side, name, stem, kind)

    monkeypatch.setattr(Folder, "get", without)
    assert desk.waiting().holders == ("large",)
    assert "is larger than an answer to this question can be, 8," in desk.told[0]


def test_a_letter_without_its_signature_has_not_arrived(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    for holder in desk.holders.values():
        holder.answer()
    (stem,) = desk.holders["large"].folder.stems("to", "large", "question")
    (desk.post / "from-large" / f"{stem}.answer.sig").rename(desk.post / "kept")
    assert desk.waiting().holders == ("large",)
    assert desk.told == []
    (desk.post / "kept").rename(desk.post / "from-large" / f"{stem}.answer.sig")
    desk.run()


def test_names_of_files_cannot_write_lines(desk_of: DeskOf) -> None:
    """What is told names a path that the analyst chose; nothing of the letter is repeated."""
    desk = desk_of(INDEPENDENT)
    desk.waiting()
    large = desk.holders["large"]
    (stem,) = large.folder.stems("to", "large", "question")
    header, _ = large.reply(stem)
    large.send(header, b"\x1b[2J secret \n")
    with pytest.raises(HolderOutError) as caught:
        desk.run()
    assert "secret" not in str(caught.value)


def test_a_foreign_letter_in_our_place_is_written_over(desk_of: DeskOf) -> None:
    """Also one of ours for another holder: whatever the relay shows, the letter that is looked for is put there."""
    desk = desk_of(VOTING)
    desk.waiting()
    large = desk.holders["large"]
    (stem,) = large.folder.stems("to", "large", "question")
    path = desk.post / "to-large" / f"{stem}.question"
    ours = path.read_bytes()
    for ending in ("question", "question.sig"):
        shutil.copy(desk.post / "to-small" / f"{stem}.{ending}", desk.post / "to-large" / f"{stem}.{ending}")
    desk.waiting()
    assert path.read_bytes() == ours
    path.write_bytes(b"rubbish")
    desk.waiting()
    assert path.read_bytes() == ours
    path.unlink()
    path.symlink_to(desk.post / "to-small" / f"{stem}.question")
    desk.waiting()
    assert not path.is_symlink()
    assert bare(desk.finish()) == learn(VOTING, tables_for(VOTING), simulate=SEED)


def test_an_answer_in_the_journal_that_was_changed_is_noticed(desk_of: DeskOf) -> None:
    desk = desk_of(INDEPENDENT)
    network = desk.finish()
    (path,) = desk.state.rglob("journal")
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        (letter,) = base.execute("SELECT letter FROM answers WHERE holder = 'large'").fetchone()
        base.execute("UPDATE answers SET letter = ? WHERE holder = 'large'", (letter[:-1] + bytes([letter[-1] ^ 1]),))
    with pytest.raises(InputError, match="STUDY: the journal holds an answer of large that is none"):
        desk.run()
    shutil.rmtree(desk.state)
    assert desk.run() == network


@contextmanager
def correspondence(desk: Desk) -> Iterator[Correspondence]:
    """The letters to and from large alone."""
    large = desk.holders["large"]
    with Journal(journal_folder(desk.state, VOTING.hash)) as journal:
        yield Correspondence(
            VOTING, ANALYST, "large", large.key.public, large.folder, journal, desk.told.append, simulated=True
        )


def vote(*placed: int) -> bytes:
    (stage,) = (stage for stage in VOTING.plan.stages if stage.query is ParentChoiceQuery)
    return encode(question(stage.ask(placed=placed), study=VOTING.hash, round_number=len(placed) - 1))


def test_numbers_that_a_lost_journal_has_forgotten_are_passed_over(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    large = desk.holders["large"]
    with correspondence(desk) as letters, pytest.raises(HolderWaitingError):
        letters(vote(0))
    large.answer()
    shutil.rmtree(desk.state)
    before = {path: path.read_bytes() for path in desk.post.rglob("*") if path.is_file()}
    with correspondence(desk) as letters:
        with pytest.raises(HolderWaitingError):
            letters(vote(0, 1))
        assert large.folder.stems("to", "large", "question")[-1].endswith("-000002")
        assert all(path.read_bytes() == data for path, data in before.items()), "a letter is never another one"
        large.answer()
        letters(vote(0, 1))
        letters(vote(0, 1))
        assert [answer.sequence for answer in letters.answers.values()] == [2]
    assert desk.told == []


def test_a_folder_that_loses_letters_does_not_lead_to_a_number_twice(desk_of: DeskOf) -> None:
    desk = desk_of(VOTING)
    large = desk.holders["large"]
    with correspondence(desk) as letters:
        with pytest.raises(HolderWaitingError):
            letters(vote(0))
        large.answer()
        letters(vote(0))
        shutil.rmtree(desk.post / "to-large")
        with pytest.raises(HolderWaitingError):
            letters(vote(0, 1))
        assert [stem[-2:] for stem in large.folder.stems("to", "large", "question")] == ["02"]
        # While it is waited for, a letter that is gone is put there again.
        shutil.rmtree(desk.post / "to-large")
        assert letters.look() is None
        assert [stem[-2:] for stem in large.folder.stems("to", "large", "question")] == ["02"]
        large.answer()
        assert letters.look() == letters(vote(0, 1))
        assert letters.look() is None
