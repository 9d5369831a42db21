"""An analyst who wishes a holder ill, and strangers who write into its folder: refused on public grounds, or nothing.

Everything lies in one folder at once, thousands of files besides, and a real agent goes over it with little memory.
What may leave is known by name and content beforehand; the ledger ends as if nothing but the honest question had come.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from panbayes.consortium.post.bodies import decode_study, encode
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Letter, Signed, stem_of
from panbayes.consortium.post.signatures import Namespace, sign
from panbayes.consortium.protocol import codec
from panbayes.consortium.protocol.codec import decode_question, decode_reply
from panbayes.consortium.protocol.envelope import Refusal, Release, question
from panbayes.consortium.protocol.queries import TablesQuery
from tests.effort import often
from tests.institutions.child import faulty
from tests.institutions.invariants import entries_of
from tests.institutions.parties import SCHEMA, Consortium, Terms, key_of, until

FLOOD = often(2_000, 10_000)
MEMORY = 6 * 2**30
"""Bytes of address space, of which the libraries map most: what a process takes beside them is far less."""

OTHERS: tuple[Namespace, ...] = ("panbayes-study", "panbayes-approval", "panbayes-answer", "panbayes-request")

RIVAL, STRANGER = PrivateKey.generate(), PrivateKey.generate()


@dataclass
class Stage:
    """A holder with an approved study, and the honest question that lies in its folder."""

    box: Consortium
    post: Path
    honest: Signed
    header: Header
    body: bytes

    @property
    def folder(self) -> Path:
        return self.post / "to-north"

    def put(self, sequence: int, letter: Letter, *, by: PrivateKey, namespace: Namespace = "panbayes-question") -> str:
        """Put a letter under a number, signed by somebody for something; return its stem."""
        stem = f"{letter.header.study[:12]}-{sequence:06d}"
        data = letter.encode()
        (self.folder / f"{stem}.question").write_bytes(data)
        (self.folder / f"{stem}.question.sig").write_text(sign(by, namespace, data))
        return stem

    def letter(self, body: bytes | None = None, **changes: Any) -> Letter:
        return Letter(replace(self.header, **changes), self.body if body is None else body)

    def left(self) -> dict[str, bytes]:
        """What lies where this holder's answers would."""
        found: dict[str, bytes] = {}
        for folder in self.post.glob("from-*"):
            found |= {f"{folder.name}/{path.name}": path.read_bytes() for path in folder.iterdir()}
        return found


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    box = Consortium.make(tmp_path_factory.mktemp("hostile") / "box", terms=Terms(cap=6.0))
    north = box.holders["north"]
    text = (north.folder / "holder.toml").read_text()
    (north.folder / "holder.toml").write_text(
        text.replace("[analysts]\n", f'[analysts]\nrival = "{RIVAL.public.line}"\n')
    )
    stem = box.propose()
    box.approve(stem, "north")
    (asked,) = (box.post / "to-north").glob("*.question")
    honest = Signed(asked.read_bytes(), asked.with_name(f"{asked.name}.sig").read_text())
    opened = Letter.decode(honest.data)
    yield Stage(box, box.post, honest, opened.header, opened.body)
    box.end()


def nested(depth: int) -> bytes:
    return b"\x91" * depth


def hostile_letters(stage: Stage) -> None:
    """Put letters that get no answer."""
    analyst, letter, put = key_of("analyst"), stage.letter, stage.put
    other = decode_question(stage.body)
    elsewhere = codec.encode(question(other.query, study="0" * 64, round_number=1))
    put(100, letter(sequence=100), by=STRANGER)
    put(101, letter(sequence=101), by=RIVAL)
    put(102, letter(sequence=102, analyst=RIVAL.public.fingerprint), by=RIVAL)
    put(103, letter(sequence=103, analyst=STRANGER.public.fingerprint), by=STRANGER)
    for number, namespace in enumerate(OTHERS, start=104):
        put(number, letter(sequence=number), by=analyst, namespace=namespace)
    put(110, letter(), by=analyst)  # the honest letter, under another number
    put(111, letter(sequence=111, holder=key_of("south").public.fingerprint), by=analyst)
    put(112, letter(sequence=112, study="0" * 64), by=analyst)
    put(113, letter(sequence=113, round=2), by=analyst)  # its round is not the question's
    put(114, letter(elsewhere, sequence=114), by=analyst)
    put(115, letter(elsewhere, sequence=115, study="0" * 64), by=analyst)
    put(116, letter(sequence=116, sealed=True), by=analyst)
    put(117, letter(sequence=117, kind="answer", replies_to="ab" * 32), by=analyst)
    put(118, letter(sequence=118, kind="study"), by=analyst)
    put(0, letter(sequence=0), by=analyst)
    stem = put(119, letter(sequence=119), by=analyst)
    data = bytearray((stage.folder / f"{stem}.question").read_bytes())
    data[-1] ^= 1
    (stage.folder / f"{stem}.question").write_bytes(data)
    for number in (120, 121):  # somebody else's signature; one cut in half
        stem = put(number, letter(sequence=number), by=analyst)
        text = stage.honest.signature if number == 120 else sign(analyst, "panbayes-question", b"")[:200]
        (stage.folder / f"{stem}.question.sig").write_text(text)
    stem = put(122, letter(sequence=122), by=analyst)
    (stage.folder / f"{stem}.question.sig").unlink()
    stem = put(123, letter(sequence=123), by=analyst)
    (stage.folder / f"{stem}.question").unlink()


def odd_things(stage: Stage, base: Path) -> None:
    """Put what is no letter, or too large, or lies where none belongs."""
    folder, study = stage.folder, stage.header.study[:12]
    for number, size in ((200, 70 * 2**20), (201, 3 * 2**30)):
        for name in (f"{study}-{number:06d}.question", f"{study}-{number:06d}.question.sig"):
            with (folder / name).open("wb") as file:
                file.truncate(size)
    os.mkfifo(folder / f"{study}-000202.question")
    (folder / f"{study}-000202.question.sig").write_text(stage.honest.signature)
    (folder / f"{study}-000203.question").mkdir()
    (folder / f"{study}-000204.question").symlink_to("/etc/passwd")
    (folder / f"{study}-000205.question").symlink_to(folder / f"{study}-000205.question")
    for name in ("\n\x1b[2J.question", "é" * 100 + ".question", f"{study}-1.question", f"{study}-{'9' * 40}.question"):
        (folder / name).write_bytes(stage.honest.data)
    for name in ("to-..", "to-" + "x" * 200, "to-north.", "to- ", "to-NORTH", "to-other"):
        (stage.post / name).mkdir()
        (stage.post / name / f"{study}-000001.question").write_bytes(b"panbayes letter 1\n" * 1000)
    outside = base / "outside"
    shutil.copytree(folder, outside, ignore=lambda _folder, names: [name for name in names if "000001" not in name])
    (stage.post / "to-linked").symlink_to(outside)


def flood(stage: Stage) -> None:
    """Put many letters that somebody made without a key of anybody."""
    rng = np.random.default_rng(1)
    for number in range(FLOOD):
        stem = f"{rng.bytes(6).hex()}-{number:06d}"
        (stage.folder / f"{stem}.question").write_bytes(stage.honest.data)
        (stage.folder / f"{stem}.question.sig").write_text(stage.honest.signature)


REFUSED = {
    300: "malformed",
    301: "malformed",
    302: "malformed",
    303: "wrong-id",
    304: "not-in-study",
    305: "not-in-study",
    306: "malformed",
}


def refused_questions(stage: Stage) -> None:
    """Put letters of the analyst whose questions are answered, with a refusal that anybody could have predicted."""
    asked = decode_question(stage.body)
    study, analyst = asked.study, key_of("analyst")
    bodies = {
        300: b"",
        301: nested(200_000),
        302: b"\xdf\xff\xff\xff\xff",
        303: codec.encode(msgspec.structs.replace(asked, id="ab" * 32)),
        304: codec.encode(question(TablesQuery(((0, 1, 2, 3),), "1", True), study=study, round_number=1)),
        305: codec.encode(question(TablesQuery(((0,),) * 9, "1000", False), study=study, round_number=1)),
        306: bytes(8 * 2**20),
    }
    for number, body in bodies.items():
        stage.put(number, stage.letter(body, sequence=number, round=1), by=analyst)


def hostile_studies(stage: Stage) -> None:
    """Put letters that propose what cannot be proposed."""
    (known,) = stage.folder.glob("*.study")
    honest, analyst = Letter.decode(known.read_bytes()), key_of("analyst")
    known_body = decode_study(honest.body)
    bodies = [
        b"[" * 100_000,
        b'{"study":' * 50_000,
        encode(msgspec.structs.replace(known_body, study="= " * 100_000)),
        encode(msgspec.structs.replace(known_body, schema="a = [" + "[" * 100_000)),
        encode(msgspec.structs.replace(known_body, schema="x.y." * 20_000 + "z = 1")),
        encode(msgspec.structs.replace(known_body, schema=SCHEMA.replace("[0, 40, 65, 120]", "[0, 1e300]"))),
        encode(msgspec.structs.replace(known_body, study=known_body.study.replace("clinic.toml", "/etc/passwd"))),
        encode(msgspec.structs.replace(known_body, study=Terms("non-private").study("open"))),
        encode(msgspec.structs.replace(known_body, holders={"south": key_of("south").public.line})),
        encode(msgspec.structs.replace(known_body, analyst=RIVAL.public.line)),
        bytes(33 * 2**20),
    ]
    for number, body in enumerate(bodies):
        header = replace(honest.header, study=f"{number:064x}")
        letter = Letter(header, body).signed_by(analyst)
        (stage.folder / f"{number:012x}-000000.study").write_bytes(letter.data)
        (stage.folder / f"{number:012x}-000000.study.sig").write_text(letter.signature)


@pytest.fixture(scope="module")
def attacked(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """Everything hostile has been put into the holder's box, and the holder has looked at it."""
    folder = tmp_path_factory.mktemp("attack")
    hostile_letters(stage)
    odd_things(stage, folder)
    refused_questions(stage)
    hostile_studies(stage)
    flood(stage)
    north = stage.box.holders["north"]
    north.more = faulty(folder / "faults", memory=str(MEMORY))
    done = north.run("holder", "answer", stage.post, limit=240)
    assert done.returncode == 0, done
    assert "Traceback" not in done.stderr
    assert "internal" not in done.stderr
    return stage


def test_nothing_leaves_but_what_anybody_could_have_predicted(attacked: Stage) -> None:
    stage = attacked
    study = stage.header.study[:12]
    answers = {name: data for name, data in stage.left().items() if name.endswith(".answer")}
    replies = {int(name[-13:-7]): decode_reply(Letter.decode(data).body) for name, data in answers.items()}
    assert all(name.startswith(f"from-north/{study}-") for name in answers), sorted(answers)
    assert {n: reply.code for n, reply in replies.items() if isinstance(reply, Refusal)} == REFUSED
    assert [n for n, reply in replies.items() if isinstance(reply, Release)] == [1]
    others = {name for name in stage.left() if not name.endswith((".answer", ".answer.sig"))}
    assert others == {f"from-north/{study}-000000.approval", f"from-north/{study}-000000.approval.sig"}
    (entry,) = entries_of(stage.box.ledger("north"))
    assert entry.question == decode_question(stage.body).id


def test_strangers_are_counted_and_change_nothing_else(attacked: Stage) -> None:
    """After the flood: numbers by day and kind, no row for each."""
    with closing(sqlite3.connect(f"file:{attacked.box.ledger('north')}?mode=ro", uri=True)) as base:
        counts = dict(base.execute("SELECT what, count FROM strangers"))
        events = base.execute("SELECT count(*) FROM events WHERE what = 'refused'").fetchone()[0]
    assert sum(counts.values()) >= FLOOD
    assert events == len(REFUSED)
    assert attacked.box.ledger("north").stat().st_size < 2**20


def test_no_study_came_but_the_one_that_is_one(attacked: Stage) -> None:
    (kept,) = (attacked.box.holders["north"].folder / "state" / "post" / "studies").glob("*.study")
    assert Letter.decode(kept.read_bytes()).header.study == attacked.header.study


def test_an_agent_stays_up_and_answers_the_next_honest_question(attacked: Stage) -> None:
    running = attacked.box.holders["north"].start("holder", "serve", "--post", attacked.post)
    letter = attacked.letter(sequence=2).signed_by(key_of("analyst"))
    attacked.put(2, attacked.letter(sequence=2), by=key_of("analyst"))
    name = f"from-north/{stem_of(replace(attacked.header, sequence=2))}.answer"
    until(lambda: name in attacked.left() or not running.alive, f"the honest question is answered\n{running.said}")
    assert running.alive
    answer = Letter.decode(attacked.left()[name])
    assert answer.header.replies_to == letter.digest
    assert len(entries_of(attacked.box.ledger("north"))) == 1
    running.kill()
