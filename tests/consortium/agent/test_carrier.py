"""A folder as a carrier: what comes out of it, what is passed over, and what is an error."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from panbayes.consortium.agent.carrier import CarrierError, FolderCarrier
from panbayes.consortium.post.letters import Header, Letter, Signed
from tests.consortium.agent.exchanges import Exchange
from tests.consortium.agent.houses import key


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    return Exchange(tmp_path)


def names(carrier: FolderCarrier, *have: str) -> list[str]:
    return [arrived.known_by for arrived in carrier.collect(set(have), seconds=0)]


def reply(exchange: Exchange, number: int = 1, *, by: str = "north", to: Signed | None = None) -> tuple[Header, Signed]:
    asked = to or exchange.question(number=number)[1]
    head = Letter.decode(asked.data).header
    header = Header("answer", head.study, head.analyst, head.holder, head.round, number, asked.digest)
    return header, Letter(header, b"reply").signed_by(key(by))


def test_studies_come_first_and_all_in_order(exchange: Exchange) -> None:
    exchange.propose()
    first, second = exchange.ask(number=1), exchange.ask(number=2)
    study = f"{exchange.study.hash[:12]}-000000"
    carrier = exchange.carrier
    assert names(carrier) == [f"north/{study}.study", f"north/{first}.question", f"north/{second}.question"]
    assert names(carrier, f"north/{study}.study") == [f"north/{first}.question", f"north/{second}.question"]
    assert names(carrier, f"north/{study}.study", f"north/{first}.question") == [f"north/{second}.question"]


def test_few_letters_come_at_once_and_few_bytes(exchange: Exchange) -> None:
    first = exchange.ask(number=1)
    folder = exchange.folder.path / "to-north"
    question, signature = ((folder / f"{first}.question{end}").read_bytes() for end in ("", ".sig"))
    for number in range(2, 300):
        (folder / f"{first[:-6]}{number:06d}.question").write_bytes(question)
        (folder / f"{first[:-6]}{number:06d}.question.sig").write_bytes(signature)
    assert len(names(exchange.carrier)) == 100
    for number in range(2, 300):
        (folder / f"{first[:-6]}{number:06d}.question").write_bytes(bytes(400_000))
    assert len(names(exchange.carrier)) == 4


def test_what_was_there_in_part_comes_again_when_it_is_there(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A drive may show half of a letter, or another's signature, before it shows the letter."""
    monkeypatch.setattr("panbayes.consortium.agent.carrier._COMPARED", 0.0)
    exchange.ask(number=2)
    stem, carrier = exchange.ask(number=1), exchange.carrier
    known_by, other = f"north/{stem}.question", f"north/{stem[:-1]}2.question"
    for end in ("", ".sig"):
        path = exchange.folder.path / "to-north" / f"{stem}.question{end}"
        whole = path.read_bytes()
        path.write_bytes(whole[:30])
        assert names(carrier, other) == [known_by]
        assert names(carrier, other, known_by) == []
        path.write_bytes(whole)
        assert names(carrier, other, known_by) == [known_by]
        assert names(carrier, other, known_by) == []


def test_a_question_comes_until_this_holders_answer_to_it_lies_there(exchange: Exchange) -> None:
    stem = exchange.ask()
    carrier, folder = exchange.carrier, exchange.folder
    assert names(carrier)
    folder.put("from", "north", *reply(exchange, by="south"))
    assert names(carrier), "an answer that somebody else signed is none"
    folder.put("from", "north", *reply(exchange, to=exchange.question(number=1, round=5)[1]))
    assert names(carrier), "nor is the answer to another question"
    carrier.deliver("north", *reply(exchange))
    assert names(carrier) == names(exchange.carrier) == []
    answer = folder.path / "from-north" / f"{stem}.answer"
    whole = answer.read_bytes()
    answer.write_bytes(whole[:-1])
    assert names(carrier), "nor is one that was cut off"
    answer.write_bytes(whole)
    assert names(carrier) == []
    answer.with_name(f"{answer.name}.sig").unlink()
    assert names(carrier), "nor is one without its signature"


def test_a_question_that_was_replaced_is_asked_again(exchange: Exchange) -> None:
    exchange.ask()
    carrier = exchange.carrier
    carrier.deliver("north", *reply(exchange))
    assert names(carrier) == []
    exchange.ask(round=3)
    assert names(carrier), "the answer that lies there answers what lay there before"


def test_a_folder_that_brings_old_files_back_brings_nothing_new(exchange: Exchange) -> None:
    exchange.ask()
    carrier = exchange.carrier
    before = exchange.folder.path / "to-north"
    kept = exchange.root / "kept"
    shutil.copytree(before, kept)
    carrier.deliver("north", *reply(exchange))
    shutil.rmtree(before)
    assert names(carrier) == []
    shutil.copytree(kept, before)
    assert names(carrier) == []


def test_what_lies_there_for_others_is_not_looked_at(exchange: Exchange) -> None:
    others = exchange.folder
    for name in ("south", "west"):
        header, signed = exchange.question(holder=key(name).public.fingerprint)
        others.put("to", name, header, signed)
    assert names(exchange.carrier) == []
    (others.path / "to-south" / f"{exchange.study.hash[:12]}-000009.question").write_bytes(b"\x00" * 100)
    (others.path / "to-south" / f"{exchange.study.hash[:12]}-000009.question.sig").write_bytes(b"\x00" * 100)
    assert names(exchange.carrier) == []
    exchange.name = "clinic-7"
    stem = exchange.ask()
    assert names(exchange.carrier) == [f"clinic-7/{stem}.question"], "whatever the analyst calls this holder"


def test_a_letter_that_comes_later_is_waited_for(exchange: Exchange) -> None:
    begun = time.monotonic()
    assert list(exchange.carrier.collect((), seconds=0.3)) == []
    assert time.monotonic() - begun >= 0.3
    exchange.ask()
    assert exchange.carrier.collect((), seconds=60), "what lies there is not waited for"


def test_a_folder_that_is_gone_is_an_error_and_one_that_is_back_is_none(exchange: Exchange) -> None:
    exchange.ask()
    carrier, path = exchange.carrier, exchange.folder.path
    path.rename(path.with_name("gone"))
    with pytest.raises(CarrierError, match=r"cannot be read \(no such file or directory\)"):
        carrier.collect((), seconds=0)
    with pytest.raises(CarrierError, match="cannot be written"):
        carrier.deliver("north", *reply(exchange))
    path.with_name("gone").rename(path)
    assert names(carrier)


def test_an_answer_that_cannot_be_written_is_an_error_about_the_folder(exchange: Exchange) -> None:
    exchange.ask()
    (exchange.folder.path / "from-north").write_text("in the way")
    with pytest.raises(CarrierError, match="cannot be written"):
        exchange.carrier.deliver("north", *reply(exchange))


def test_the_times_of_what_is_delivered_say_whole_seconds(exchange: Exchange) -> None:
    before = int(time.time())
    exchange.carrier.deliver("north", *reply(exchange))
    files = list((exchange.folder.path / "from-north").iterdir())
    assert len(files) == 2
    for file in files:
        found = file.stat()
        assert found.st_mtime_ns % 10**9 == found.st_atime_ns % 10**9 == 0
        assert before <= found.st_mtime <= time.time()


def test_links_and_folders_in_the_place_of_letters_have_not_arrived(exchange: Exchange) -> None:
    stem = exchange.ask()
    base = exchange.folder.path / "to-north" / f"{stem}.question"
    carrier = exchange.carrier
    assert names(carrier)
    away = exchange.root / "elsewhere"
    base.rename(away)
    base.symlink_to(away)
    assert names(exchange.carrier) == []
    base.unlink()
    base.mkdir()
    assert names(exchange.carrier) == []
    os.mkfifo(exchange.folder.path / "to-north" / f"{exchange.study.hash[:12]}-000002.question")
    assert names(exchange.carrier) == [], "nothing waits for a pipe"


def test_other_holders_folders_are_looked_into_once(exchange: Exchange, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("south", "west"):
        header, signed = exchange.question(holder=key(name).public.fingerprint)
        exchange.folder.put("to", name, header, signed)
    carrier = exchange.carrier
    read: list[bytes] = []
    decode = Letter.decode

    def spied(data: bytes) -> Letter:
        read.append(data)
        return decode(data)

    monkeypatch.setattr(Letter, "decode", spied)
    for _ in range(3):
        assert names(carrier) == []
    assert len(read) == 2
