"""A holder that answers with what is no answer: told by name, nothing of it is used, and an honest one goes on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Letter, Signed
from panbayes.consortium.protocol import codec
from panbayes.consortium.protocol.answers import ParentChoiceAnswer, TablesAnswer
from panbayes.consortium.protocol.cells import Cells, pack_cells
from panbayes.consortium.protocol.codec import decode_reply
from panbayes.consortium.protocol.envelope import Refusal, Release
from panbayes.consortium.protocol.queries import Pair
from tests.institutions.parties import Consortium, Terms, key_of

STRANGER = PrivateKey.generate()


@dataclass
class Stage:
    """An analyst that waits for the answer of north, which is known; south has answered."""

    box: Consortium
    path: Path
    header: Header
    release: Release
    honest: Signed

    def put(self, body: bytes | None = None, *, by: PrivateKey | None = None, **changes: Any) -> None:
        """Put an answer there, with this body and header."""
        header = replace(self.header, **changes)
        letter = Letter(header, codec.encode(self.release) if body is None else body)
        self.put_signed(letter.signed_by(by or key_of("north")))

    def put_signed(self, letter: Signed) -> None:
        self.path.with_name(f"{self.path.name}.sig").write_text(letter.signature)
        self.path.write_bytes(letter.data)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    box = Consortium.make(tmp_path_factory.mktemp("holder") / "box", terms=Terms("noisy-sufficient-statistics"))
    box.approve(box.propose())
    for party in box.holders.values():
        party.done("holder", "answer", box.post)
    (path,) = (box.post / "from-north").glob("*.answer")
    honest = Signed(path.read_bytes(), path.with_name(f"{path.name}.sig").read_text())
    letter = Letter.decode(honest.data)
    release = decode_reply(letter.body)
    assert isinstance(release, Release)
    yield Stage(box, path, letter.header, release, honest)
    box.end()


def cells(release: Release) -> np.ndarray:
    from panbayes.consortium.protocol.cells import unpack_cells

    assert isinstance(release.answer, TablesAnswer)
    return np.array(unpack_cells(release.answer.cells))


def wrong_replies(stage: Stage) -> dict[str, bytes]:
    """Return bodies that are no answer to what was asked."""
    release, counts = stage.release, cells(stage.release)

    def answered(values: np.ndarray) -> bytes:
        return codec.encode(msgspec.structs.replace(release, answer=TablesAnswer(pack_cells(values))))

    refusal = Refusal("ab" * 32, "over-budget", "no")
    return {
        "nothing": b"",
        "garbage": b"\xc1" * 100,
        "nested": b"\x91" * 100_000,
        "a text of its own": codec.encode(Refusal(release.id, "over-budget", "x" * 100_000)),
        "one cell less": answered(counts[:-1]),
        "one cell more": answered(np.append(counts, 0)),
        "no cells": answered(counts[:0]),
        "a million cells": answered(np.zeros(10**6, dtype=np.int64)),
        "absurd counts": answered(np.full_like(counts, 2**62)),
        "counts far below none": answered(np.full_like(counts, -(2**62))),
        "half a number": codec.encode(
            msgspec.structs.replace(release, answer=TablesAnswer(Cells(4, b"\0" * (4 * counts.size - 1))))
        ),
        "another kind": codec.encode(msgspec.structs.replace(release, answer=ParentChoiceAnswer(Pair(1, (0,))))),
        "another question": codec.encode(msgspec.structs.replace(release, id="cd" * 32)),
        "a refusal of another question": codec.encode(refusal),
        "simulated": codec.encode(msgspec.structs.replace(release, private=False)),
        "no people": codec.encode(msgspec.structs.replace(release, size=None)),
        "fewer than no people": codec.encode(msgspec.structs.replace(release, size=-5)),
    }


WRONG = (
    "nothing", "garbage", "nested", "a text of its own", "one cell less", "one cell more", "no cells",
    "a million cells",
    "absurd counts", "counts far below none", "half a number", "another kind", "another question",
    "a refusal of another question", "simulated", "no people", "fewer than no people",
)  # fmt: skip


def refused(stage: Stage, code: int) -> str:
    """Let the analyst look, who has lost its journal since: what it found of north before is not known any more."""
    for journal in (stage.box.analyst.folder / "state").rglob("journal*"):
        journal.unlink()
    done = stage.box.analyst.here(*stage.box.learning())
    assert done.returncode == code, done
    assert ("holder north: " if code == 4 else "waiting for north") in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr) < 2_000
    assert not (stage.box.analyst.folder / "model.json").exists()
    return done.stderr


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_answer_is_not_used(stage: Stage, name: str) -> None:
    stage.put(wrong_replies(stage)[name])
    # What a file cannot be by its size is not read, so that nobody knows who signed it.
    refused(stage, 6 if name in ("nested", "a million cells", "a text of its own") else 4)


def test_none_is_left_out(stage: Stage) -> None:
    assert tuple(wrong_replies(stage)) == WRONG


@pytest.mark.parametrize(
    "changes",
    [
        {"round": 7},
        {"sequence": 2},
        {"study": "0" * 64},
        {"replies_to": "ab" * 32},
        {"analyst": STRANGER.public.fingerprint},
        {"holder": STRANGER.public.fingerprint},
        {"kind": "approval"},
        {"sealed": True},
    ],
    ids=lambda changes: min(changes),
)
def test_an_answer_to_something_else_is_none(stage: Stage, changes: dict[str, Any]) -> None:
    stage.put(**changes)
    refused(stage, 4 if "sealed" in changes else 6)


@pytest.mark.parametrize("who", ["stranger", "south", "analyst"])
def test_an_answer_that_somebody_else_signed_is_none(stage: Stage, who: str) -> None:
    stage.put(by=STRANGER if who == "stranger" else key_of(who))
    refused(stage, 6)


def test_anothers_answer_is_none(stage: Stage) -> None:
    (path,) = (stage.box.post / "from-south").glob("*.answer")
    stage.put_signed(Signed(path.read_bytes(), path.with_name(f"{path.name}.sig").read_text()))
    refused(stage, 6)


def test_a_gigantic_answer_is_not_read(stage: Stage) -> None:
    with stage.path.open("r+b") as file:
        file.truncate(700 * 2**20)
    refused(stage, 6)


def test_what_is_honest_is_taken_after_all_that(stage: Stage) -> None:
    stage.put_signed(stage.honest)
    stage.box.analyst.done(*stage.box.learning())
    assert json.loads((stage.box.analyst.folder / "model.json").read_text())["receipts"]
