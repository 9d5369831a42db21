"""What a holder gets from the analyst's folder, and which of its replies are kept."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

from panbayes.consortium.desk import letterbox
from panbayes.consortium.desk.letterbox import Letterbox, Reply, Taken
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Kind, Letter, Signed, stem_of
from panbayes.consortium.post.requests import LETTER, SIGNATURE, one_line

STUDY = "1f0c2a77b3d1" + "00" * 26
NOTHING: Mapping[str, Any] = MappingProxyType({})
ANALYST, NORTH, SOUTH = (PrivateKey.generate() for _ in range(3))


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder.at(tmp_path / "letters", make=True)


def ask(
    folder: Folder, sequence: int, *, kind: Kind = "question", body: bytes = b"asked", to: PrivateKey = NORTH
) -> tuple[Header, Signed]:
    header = Header(kind, STUDY, ANALYST.public.fingerprint, to.public.fingerprint, sequence, sequence)
    letter = Letter(header, body).signed_by(ANALYST)
    folder.put("to", "north", header, letter)
    return header, letter


def reply(
    asked: tuple[Header, Signed], changes: Mapping[str, Any] = NOTHING, *, body: bytes = b"told"
) -> tuple[Header, Signed]:
    header, letter = asked
    kind: Reply = "answer" if header.kind == "question" else "approval"
    made = dataclasses.replace(header, kind=kind, replies_to=letter.digest)
    made = dataclasses.replace(made, **changes)
    return made, Letter(made, body).signed_by(NORTH)


def bring(
    box: Letterbox, replied: tuple[Header, Signed], *, key: PrivateKey = NORTH, kind: Reply | None = None
) -> Taken:
    header, letter = replied
    with box.incoming("north") as body:
        for place in range(0, len(letter.data), 100):
            body.write(letter.data[place : place + 100])
        claimed: Reply = kind or ("answer" if header.kind == "answer" else "approval")
        return box.take("north", key.public, claimed, body, letter.signature)


def given_out(box: Letterbox, *have: str) -> str | None:
    found = box.next_letter("north", NORTH.public, have)
    if found is None:
        return None
    with found.file:
        assert len(found.file.read()) == found.size
    return found.headers[LETTER]


def kept(folder: Folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in folder.path.rglob("*") if path.is_file()}


def test_studies_go_out_first_then_the_first_question_without_an_answer(folder: Folder) -> None:
    box = Letterbox(folder)
    assert given_out(box) is None
    asked = [ask(folder, sequence) for sequence in (2, 1, 3)]
    ask(folder, 0, kind="study")
    study, first, second, third = (
        f"north/1f0c2a77b3d1-00000{number}.{kind}"
        for number, kind in enumerate(("study", "question", "question", "question"))
    )
    assert given_out(box) == study
    assert given_out(box, study) == first
    assert given_out(box, study, first) == second
    assert bring(box, reply(asked[1])) == "taken"
    assert given_out(box, study) == second
    assert given_out(box, study, second, third) is None
    assert Letterbox(folder).next_letter("south", SOUTH.public, ()) is None


def test_a_letter_goes_out_with_its_own_bytes_and_signature(folder: Folder) -> None:
    _, letter = ask(folder, 1, body=os.urandom(200_000))
    found = Letterbox(folder).next_letter("north", NORTH.public, ())
    assert found is not None
    with found.file:
        assert found.file.read() == letter.data
    assert found.headers[SIGNATURE] == one_line(letter.signature)
    assert found.size == len(letter.data)


def test_what_is_no_letter_is_passed_over(folder: Folder, tmp_path: Path) -> None:
    ask(folder, 9)
    to = folder.path / "to-north"
    for number in range(1, 8):
        ask(folder, number)
    names = [to / f"1f0c2a77b3d1-00000{number}.question" for number in range(8)]
    names[1].with_name(f"{names[1].name}.sig").unlink()
    names[2].with_name(f"{names[2].name}.sig").write_bytes(b"x\r\nset-cookie: evil\r\nx")
    names[3].with_name(f"{names[3].name}.sig").write_bytes(b"A" * 5000)
    names[4].unlink()
    names[5].unlink()
    names[5].mkdir()
    names[6].unlink()
    (tmp_path / "elsewhere").write_bytes(b"secret")
    names[6].symlink_to(tmp_path / "elsewhere")
    with names[7].open("wb") as file:
        file.truncate(65 * 2**20)
    (to / "1f0c2a77b3d1-000008.question").symlink_to("/dev/zero")
    assert given_out(Letterbox(folder)) == "north/1f0c2a77b3d1-000009.question"


def test_an_answer_is_kept_to_the_byte_with_its_signature(folder: Folder) -> None:
    box, asked = Letterbox(folder), ask(folder, 7)
    header, letter = reply(asked, body=os.urandom(300_000))
    assert bring(box, (header, letter)) == "taken"
    assert folder.get("from", "north", stem_of(header), "answer") == letter
    assert sorted(path.name for path in (folder.path / "from-north").iterdir()) == [
        "1f0c2a77b3d1-000007.answer",
        "1f0c2a77b3d1-000007.answer.sig",
    ]


def test_an_approval_is_kept_for_a_study(folder: Folder) -> None:
    box, asked = Letterbox(folder), ask(folder, 0, kind="study")
    header, letter = reply(asked)
    assert bring(box, (header, letter)) == "taken"
    assert folder.get("from", "north", stem_of(header), "approval") == letter
    assert given_out(box) == "north/1f0c2a77b3d1-000000.study"


@pytest.mark.parametrize("again", [b"told", b"sealed once more"])
def test_the_first_reply_stays(folder: Folder, again: bytes) -> None:
    asked = ask(folder, 7)
    assert bring(Letterbox(folder), reply(asked)) == "taken"
    before = kept(folder)
    for box in (Letterbox(folder), Letterbox(folder)):
        assert bring(box, reply(asked, body=again)) == "there already"
        assert kept(folder) == before


@pytest.mark.parametrize("harm", ["cut", "another's", "unsigned", "another question", "garbage"])
def test_what_lies_there_and_is_no_reply_does_not_count(
    folder: Folder, harm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(letterbox, "_BELIEVED", 0.0)
    box, asked = Letterbox(folder), ask(folder, 7)
    first = reply(asked)
    assert bring(box, first) == "taken"
    assert given_out(box) is None
    path = folder.path / "from-north" / "1f0c2a77b3d1-000007.answer"
    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-1])
    elif harm == "another's":
        folder.put("from", "north", first[0], Letter(first[0], b"told").signed_by(SOUTH))
    elif harm == "unsigned":
        path.with_name(f"{path.name}.sig").unlink()
    elif harm == "garbage":
        path.write_bytes(os.urandom(100))
    else:
        asked = ask(folder, 7, body=b"something else")
    assert given_out(box) == "north/1f0c2a77b3d1-000007.question"
    again = reply(asked, body=b"told again")
    assert bring(box, again) == "taken"
    assert folder.get("from", "north", "1f0c2a77b3d1-000007", "answer") == again[1]
    assert given_out(box) is None


@pytest.mark.parametrize(
    "changes",
    [
        {"study": "1f0c2a77b3d1" + "11" * 26},
        {"study": "2f0c2a77b3d1" + "00" * 26},
        {"analyst": SOUTH.public.fingerprint},
        {"holder": SOUTH.public.fingerprint},
        {"round": 3},
        {"sequence": 8},
        {"replies_to": "ab" * 32},
    ],
    ids=lambda changes: min(changes),
)
def test_a_reply_that_does_not_belong_to_the_letter_is_refused(folder: Folder, changes: dict[str, Any]) -> None:
    box, asked = Letterbox(folder), ask(folder, 7)
    before = kept(folder)
    assert bring(box, reply(asked, changes)) == "refused"
    assert kept(folder) == before
    assert bring(box, reply(asked)) == "taken"


def test_a_reply_to_what_is_not_there_is_refused(folder: Folder) -> None:
    box, asked = Letterbox(folder), ask(folder, 7)
    signature = folder.path / "to-north" / "1f0c2a77b3d1-000007.question.sig"
    signature.unlink()
    assert bring(box, reply(asked)) == "refused"
    ask(folder, 7)
    assert bring(box, reply(asked)) == "taken"


def test_a_letter_to_another_in_this_holders_folder_is_not_replied_to(folder: Folder) -> None:
    box, asked = Letterbox(folder), ask(folder, 7, to=SOUTH)
    assert bring(box, reply(asked)) == "refused"
    assert bring(box, reply(asked, {"holder": NORTH.public.fingerprint})) == "refused"


def test_an_answer_is_no_approval_and_a_question_no_study(folder: Folder) -> None:
    box, asked = Letterbox(folder), ask(folder, 7)
    assert bring(box, reply(asked), kind="approval") == "refused"
    assert bring(box, reply(asked, {"kind": "approval"})) == "refused"
    study = ask(folder, 0, kind="study")
    assert bring(box, reply(study, {"kind": "answer"})) == "refused"
    assert bring(box, reply(study, {"kind": "answer"}), kind="approval") == "refused"


def test_garbage_is_refused_and_leaves_nothing(folder: Folder) -> None:
    box = Letterbox(folder)
    ask(folder, 7)
    before = kept(folder)
    header, letter = reply(ask(folder, 7))
    assert bring(box, (header, Signed(os.urandom(5000), letter.signature))) == "refused"
    assert bring(box, (header, Signed(b"", letter.signature))) == "refused"
    assert kept(folder) == before


def test_what_an_upload_left_behind_is_removed_at_the_next_start(folder: Folder) -> None:
    box = Letterbox(folder)
    with box.incoming("north") as body:
        left = body.path
        body.write(b"half")
        os.link(left, left.with_name(f".upload.{'0' * 16}.tmp"))
    assert not left.exists()
    assert kept(folder)
    Letterbox(folder)
    assert not kept(folder)
