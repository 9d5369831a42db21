"""What happens behind the pipe: which records, which ledger, which noise, and silence where any of it is wrong."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from panbayes.consortium.agent import effort, pipe
from panbayes.consortium.agent.answering import Agent
from panbayes.consortium.agent.pipe import Done, Job, Promise, Taken, receive_job, receive_said, send
from panbayes.consortium.agent.serving import answer_all
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.worker import Worker
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.local.learn import learn
from panbayes.consortium.post.letters import Header, Letter
from panbayes.consortium.protocol.codec import decode_reply, round_of
from panbayes.consortium.protocol.envelope import Release
from panbayes.errors import InternalError
from tests.consortium.agent.exchanges import VOTING, Exchange, Here
from tests.consortium.agent.houses import SCHEMA, key
from tests.effort import soak, some
from tests.tables.databases import in_duckdb

ADAPTIVE = 'version = 1\nname = "adaptive"\nschema = "clinic.toml"\nepsilon = 1\n'
VOTES = f'{ADAPTIVE}strategy = "noisy-majority-voting"\ndegree = 1\n'
HIDDEN = f'{ADAPTIVE}adjacency = "add-remove"\n'


def job(exchange: Exchange, **changed: Any) -> Job:
    kept, *_ = Studies(exchange.holder).all()
    body = Letter.decode(exchange.question(**changed)[1].data).body
    asker = key("uni").public.fingerprint
    return Job(kept.proposed.study.hash, kept.proposed.letter.digest, changed.get("round", 0), asker, body)


def done(exchange: Exchange, asked: Job | None = None, **options: Any) -> Done:
    worker = Here(exchange.holder, **options)
    try:
        *_, last = worker.work(asked or job(exchange))
    finally:
        worker.close()
    assert isinstance(last, Done)
    return last


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    made = Exchange(tmp_path)
    made.approve()
    return made


@pytest.mark.parametrize("text", some([VOTES, ADAPTIVE, HIDDEN], 1))
def test_a_rehearsal_through_letters_learns_what_one_process_learns_bit_for_bit(tmp_path: Path, text: str) -> None:
    exchange = Exchange(tmp_path, text=text)
    exchange.approve()
    study, worker = exchange.study, Here(exchange.holder, simulate=7)
    agent = Agent(
        exchange.holder, exchange.carrier, worker, say=pytest.fail, note=lambda _: None, simulated=True, again=False
    )
    sequence = iter(range(1, 1000))

    def ask(data: bytes) -> bytes:
        head = Header(
            "question",
            study.hash,
            key("uni").public.fingerprint,
            key("north").public.fingerprint,
            round_of(data),
            next(sequence),
        )
        stem = exchange.put(head, Letter(head, data).signed_by(key("uni")))
        answer_all(agent)
        found = exchange.answer(stem)
        assert found is not None
        opened = found.open(key("north").public, "answer")
        assert opened is not None
        return opened.body

    try:
        apart = learn_from(Federation(study, {"north": ask}, simulated=True))
    finally:
        worker.close()
    together = learn(study, {"north": exchange.house.folder / "north.csv"}, simulate=7)
    assert apart.structure == together.structure
    assert [table.tolist() for table in apart.tables] == [table.tolist() for table in together.tables]
    assert exchange.entries() == 0, "nothing is charged"


def test_a_rehearsal_is_stamped_not_private_and_needs_the_officers_like_everything(exchange: Exchange) -> None:
    found = done(exchange, simulate=3)
    reply = decode_reply(found.reply)
    assert isinstance(reply, Release)
    assert not reply.private
    exchange.decide("stopped", Studies(exchange.holder).all()[0].proposed)
    assert done(exchange, simulate=3).became == "withheld"
    assert exchange.entries() == 0


def test_without_the_officers_the_gate_itself_is_silent(exchange: Exchange) -> None:
    exchange.decide("declined", Studies(exchange.holder).all()[0].proposed)
    assert done(exchange) == Done("withheld", done(exchange).question, "unavailable")
    assert exchange.entries() == 0


@pytest.mark.parametrize("wrong", ["study", "round"])
def test_a_question_that_is_not_what_its_letter_says_never_reaches_the_gate(exchange: Exchange, wrong: str) -> None:
    other = Exchange(exchange.root / "other", text=VOTING.replace("three", "four"))
    said = job(exchange)
    body = Letter.decode((other if wrong == "study" else exchange).question(round=0 if wrong == "study" else 2)[1].data)
    asked = Job(said.study, said.letter, said.round, said.asker, body.body)
    assert done(exchange, asked).became == "misaddressed"
    assert exchange.entries() == 0


def test_a_letter_that_is_no_longer_kept_is_silence(exchange: Exchange) -> None:
    asked = job(exchange)
    found = Job(asked.study, "00" * 32, asked.round, asked.asker, asked.body)
    last = done(exchange, found)
    assert last == Done("withheld", trouble=last.trouble)
    assert "no longer kept" in last.trouble


def test_records_that_cannot_be_read_are_silence_and_a_line_for_the_holder(
    exchange: Exchange, capfd: pytest.CaptureFixture[str]
) -> None:
    (exchange.house.folder / "north.csv").unlink()
    last = done(exchange)
    assert last == Done("withheld", trouble=last.trouble)
    assert "north.csv" in last.trouble
    assert capfd.readouterr().err == ""


def test_whether_an_answer_comes_does_not_depend_on_the_private_number_of_records(tmp_path: Path) -> None:
    """The table has 100: with a bound below it the holder is told, and the asker gets the same."""
    seen = []
    for bound in (99, 100):
        exchange = Exchange(tmp_path / f"{bound}", text=HIDDEN, rest=f"[time]\ngrid = 1\nrows_bound = {bound}\n")
        exchange.approve()
        found = done(exchange)
        assert found.became == "refused", "the question is another study's, and the gate says so"
        assert ("rows_bound: your table has more rows" in found.trouble) == (bound == 99)
        assert "100" not in found.trouble.partition("holder.toml")[2], "how many there are is not said"
        seen.append(found.reply)
    assert seen[0] == seen[1]


def test_what_is_promised_for_reading_does_not_depend_on_the_rows_of_one_person(tmp_path: Path) -> None:
    schema = SCHEMA.replace("[[attributes]]", '[unit]\ncolumn = "id"\nmax_records = 1\n\n[[attributes]]', 1)
    promises = []
    for rows in (1, 400):
        exchange = Exchange(tmp_path / f"{rows}", schema=schema, rest="[time]\ngrid = 1\nrows_bound = 500000\n")
        (exchange.house.folder / "north.csv").write_text("id,smokes,age\n" + "a,no,30\n" * rows + "b,yes,70\n")
        exchange.approve()
        worker = Here(exchange.holder)
        promises += [said for said in worker.work(job(exchange)) if isinstance(said, Promise)]
        worker.close()
    assert promises[0] == promises[1]
    assert promises[0].seconds > effort.OPEN + 500_000 * effort.ID, "all rows that were declared are read"


def test_people_who_have_blocks_are_promised_for_by_what_their_register_takes(tmp_path: Path) -> None:
    bound = "[time]\ngrid = 0\nrows_bound = 300000\n"
    exchange = Exchange(tmp_path, text=HIDDEN, schema=SCHEMA + '[unit]\ncolumn = "id"\n', rest=bound)
    (exchange.house.folder / "north.csv").write_text("id,smokes,age\na,no,30\nb,yes,70\n")
    declared = exchange.run_here("dataset", "declare", "--unit", "id", "--changing", "--blocks", "yearly")
    assert declared.returncode == 0, declared.stderr
    exchange.approve()
    worker = Here(exchange.holder)
    (promised,) = (said.seconds for said in worker.work(job(exchange)) if isinstance(said, Promise))
    worker.close()
    assert promised > effort.OPEN + 300_000 * (effort.ID + effort.REGISTER)


def test_what_a_database_counts_is_promised_for_by_what_that_takes(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, text=HIDDEN, rest="[time]\ngrid = 0\nrows_bound = 300000\n")
    table = pl.DataFrame({"smokes": ["no", "yes"], "age": [30, 70]})
    address = in_duckdb(table, exchange.house.folder / "t").replace(f"{exchange.house.folder}/", "")
    config = exchange.house.config
    config.write_text(config.read_text().replace('file = "north.csv"', f'url = "{address}&pushdown=true"'))
    declared = exchange.run_here("dataset", "declare", "--fixed")
    assert declared.returncode == 0, declared.stderr
    exchange.approve()
    worker = Here(exchange.holder)
    (promised,) = (said.seconds for said in worker.work(job(exchange)) if isinstance(said, Promise))
    worker.close()
    assert promised > effort.OPEN + effort.AWAY


def test_what_is_promised_does_not_depend_on_the_private_number_of_records(tmp_path: Path) -> None:
    """Whoever waits for an answer sees how long its slot is: it follows from what the holder declared alone."""
    promises = []
    for rows in (60, 400):
        exchange = Exchange(tmp_path / f"{rows}", text=HIDDEN, rest="[time]\ngrid = 1\nrows_bound = 50\n")
        (exchange.house.folder / "north.csv").write_text("smokes,age\n" + "no,30\n" * rows)
        exchange.approve()
        worker = Here(exchange.holder)
        promises += [said for said in worker.work(job(exchange)) if isinstance(said, Promise)]
        worker.close()
    assert len(promises) == 2
    assert promises[0] == promises[1]


def test_people_who_may_have_any_number_of_rows_need_a_bound_before_anything_is_read(tmp_path: Path) -> None:
    schema = SCHEMA.replace("[[attributes]]", '[unit]\ncolumn = "id"\nmax_records = 1\n\n[[attributes]]', 1)
    exchange = Exchange(tmp_path, schema=schema, rest="[time]\ngrid = 1\n")
    (exchange.house.folder / "north.csv").unlink()
    exchange.approve()
    last = done(exchange)
    assert (last.became, "rows_bound: is missing" in last.trouble) == ("withheld", True), last.trouble


def test_records_that_another_holder_has_answered_for_are_not_answered_for_twice(exchange: Exchange) -> None:
    assert done(exchange).became == "answered"
    ledgers = exchange.holder.cabinet.folder
    mine = exchange.holder.cabinet.path("north")
    for path in list(ledgers.glob(f"{mine.name}*")):
        path.rename(ledgers / path.name.replace("north", "other"))
    fresh = Exchange(exchange.root / "again")
    fresh.approve()
    for path in list(ledgers.glob("other*")):
        path.rename(fresh.holder.cabinet.folder / path.name)
    last = done(fresh)
    assert last.became == "withheld"
    assert 'is not the ledger of a holder "north"' in last.trouble


def test_what_is_promised_follows_from_public_sizes_alone(tmp_path: Path) -> None:
    promises: list[list[Promise]] = []
    for table in ("smokes,age\n" + "no,30\n" * 100, "smokes,age\n" + "yes,70\nno,10\n" * 50):
        exchange = Exchange(tmp_path / str(len(promises)), rest="[time]\ngrid = 1\n")
        (exchange.house.folder / "north.csv").write_text(table)
        exchange.approve()
        worker = Here(exchange.holder)
        promises.append([said for said in worker.work(job(exchange)) if isinstance(said, Promise)])
        worker.close()
    assert promises[0] == promises[1]
    assert promises[0][0].seconds > 0


def messages() -> Iterator[Any]:
    yield Taken()
    yield Promise(1.5)
    yield Done("answered", "aa", "", b"\x00" * 1000)


def test_messages_come_out_as_they_went_in_and_a_cut_is_an_end() -> None:
    for message in messages():
        buffer = io.BytesIO()
        send(buffer, message)
        data = buffer.getvalue()
        assert receive_said(io.BytesIO(data)) == message
        for length in (0, 3, 8, len(data) - 1):
            assert receive_said(io.BytesIO(data[:length])) is None
    buffer = io.BytesIO()
    asked = Job("a", "b", 3, "c", b"body")
    send(buffer, asked)
    assert receive_job(io.BytesIO(buffer.getvalue())) == asked


def test_a_message_beyond_the_bound_is_neither_sent_nor_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipe, "MAX_FRAME", 100)
    with pytest.raises(InternalError):
        send(io.BytesIO(), Done("answered", "", "", b"\x00" * 100))
    with pytest.raises(InternalError):
        receive_said(io.BytesIO((101).to_bytes(8, "big") + b"\x00" * 101))


@soak
def test_what_is_compiled_is_kept_with_the_state_where_there_is_no_other_place(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panbayes.consortium.agent.worker.is_kept", lambda: False)
    worker = Worker(exchange.holder)
    *_, last = worker.work(job(exchange))
    worker.close()
    assert isinstance(last, Done)
    assert last.became == "answered"
    assert (exchange.house.folder / "state" / "kernels").stat().st_mode & 0o777 == 0o700
