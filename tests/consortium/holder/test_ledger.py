"""What every ledger does, on disk or in memory: the same operations, the same sums, the same refusals."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.consortium.holder.ledger.binding import Fingerprint, keyed
from panbayes.consortium.holder.ledger.chain import Charge, next_head
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.errors import InternalError, LedgerError
from panbayes.privacy.classes.pure import NOTHING, Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss
from panbayes.schema.schema import Unit
from panbayes.tables.table import Table
from tests.consortium.holder.examples import SCHEMA, asked, pure, refused, released, script, singles, study, table
from tests.consortium.holder.ledgers import WAYS, answer, gate
from tests.effort import often

SHARES = ("1/3", "1/7", "0.1", "0.000001", "2")
BUSY_SECONDS = 0.05
RECORDS = Fingerprint((b"records",))


@pytest.fixture(params=WAYS)
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    with WAYS[request.param](tmp_path, BUSY_SECONDS) as opened:
        yield opened


def test_every_way_to_open_a_ledger_is_tried_here() -> None:
    """What is only read has no operations of its own; ``test_ledger_file.py`` says that it is left alone."""
    ways = {name for name, member in vars(Ledger).items() if isinstance(member, classmethod)}
    assert ways == {*WAYS, "read"}


def test_a_new_ledger_is_empty(ledger: Ledger) -> None:
    summary = ledger.summary()
    assert summary.studies == ()
    assert summary.entries == 0
    assert summary.spent == NOTHING
    assert summary.cap is None
    assert summary.left is None
    assert summary.head == summary.first
    assert verify(ledger) == []


def test_a_study_is_charged_once_and_its_replies_are_replayed(ledger: Ledger) -> None:
    agreed = study(epsilon="1/3", split="3/7")
    replies = answer(ledger, agreed)
    summary = ledger.summary()
    assert answer(ledger, agreed) == replies
    assert ledger.summary() == summary
    (spending,) = summary.studies
    assert (spending.study, spending.name) == (agreed.hash, agreed.name)
    assert spending.grant == spending.spent == summary.spent == Pure(Fraction(1, 3))
    assert spending.entries == summary.entries == len(replies)
    assert [entry.head for entry in ledger.entries()] == [released(reply).ledger for reply in replies]
    assert verify(ledger, heads=[released(reply).ledger for reply in replies]) == []


def test_what_was_asked_and_replied_is_stored_by_the_question(ledger: Ledger) -> None:
    agreed = study("independent")
    question = asked(singles(agreed), agreed)
    reply = gate(ledger, agreed).ask(question)
    with ledger.transaction(write=False) as transaction:
        assert transaction.stored(released(reply).id) == (question, reply)
        assert transaction.stored("another") is None
        assert transaction.times(agreed.hash, "counts") == 1
        assert transaction.times(agreed.hash, "vote") == 0
        assert transaction.times("another", "counts") == 0


@pytest.mark.parametrize("way", WAYS)
@given(
    charges=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(SHARES)), max_size=12),
    cap=st.fractions(0, 4, max_denominator=50),
)
@settings(max_examples=often(4, 20))
def test_sums_are_exact_and_never_above_study_or_cap(
    way: str, charges: list[tuple[int, str]], cap: Fraction, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A model of the ledger's arithmetic in a few lines, beside the real one."""
    spent: dict[str, Fraction] = {}
    with WAYS[way](tmp_path_factory.mktemp("sums"), BUSY_SECONDS) as ledger:
        ledger.set_cap(Pure(cap))
        for number, epsilon in charges:
            agreed = study("independent", epsilon if "/" in epsilon else str(Fraction(epsilon)), name=f"s{number}")
            reply = gate(ledger, agreed).ask(asked(singles(agreed), agreed))
            fits = sum(spent.values()) + agreed.grant.amount <= cap
            if agreed.hash not in spent and fits:
                spent[agreed.hash] = agreed.grant.amount
            assert (agreed.hash in spent) == (b"release" in reply)
        summary = ledger.summary()
        assert pure(summary.spent) == sum(spent.values())
        assert {s.study: pure(s.spent) for s in summary.studies} == spent
        assert summary.left is not None
        assert pure(summary.left) == cap - sum(spent.values())
        assert verify(ledger) == []


def test_lowering_the_cap_below_what_is_spent(ledger: Ledger) -> None:
    answer(ledger, study(name="one"))
    answer(ledger, study(name="two"))
    ledger.set_cap(Pure(Fraction(1, 2)))
    summary = ledger.summary()
    assert summary.spent == Pure(Fraction(2))
    assert summary.left == Pure(Fraction(0))
    assert verify(ledger) == [], "it was spent before the cap"
    ledger.set_cap(None)
    assert ledger.summary().left is None


def test_every_cap_stays_on_record(ledger: Ledger) -> None:
    caps: list[Loss | None] = [Pure(Fraction(5, 3)), None, ZeroConcentrated(Fraction(1, 7)), Pure(Fraction(2))]
    for cap in caps[:2]:
        ledger.set_cap(cap)
        assert ledger.summary().cap == cap
    entries = len(answer(ledger, study()))
    for cap in caps[2:]:
        ledger.set_cap(cap)
        assert ledger.summary().cap == cap
    with ledger.transaction(write=False) as transaction:
        assert transaction.caps() == list(zip((0, 0, entries, entries), caps, strict=True))


def test_the_ledger_belongs_to_its_first_records_once_they_are_charged(ledger: Ledger) -> None:
    ours, others = fingerprint(table(1)), fingerprint(table(2))
    ledger.bind(SCHEMA.hash, others)
    ledger.bind(SCHEMA.hash, ours)
    with ledger.transaction(write=False) as transaction:
        bindings = transaction.bindings()
        assert bindings.marks == {keyed(transaction.secret("key"), ours.marks[0])}
    assert bindings.belongs_to(ours)
    assert not bindings.belongs_to(others)
    agreed = study("independent")
    door = gate(ledger, agreed, table(1))
    with ledger.transaction(write=False) as transaction:
        bound = transaction.bindings().marks
    released(door.ask(asked(singles(agreed), agreed)))
    with pytest.raises(LedgerError, match="belongs to other records"):
        ledger.bind(SCHEMA.hash, others)
    ledger.bind("another schema", others)
    with ledger.transaction(write=False) as transaction:
        assert set(bound) < set(transaction.bindings().marks)


def test_losses_of_different_promises_are_kept_apart(ledger: Ledger) -> None:
    agreed = study("independent")
    with ledger.transaction(write=False) as transaction:
        assert transaction.promises() == set()
    released(gate(ledger, agreed).ask(asked(singles(agreed), agreed)))
    persons = study("independent", schema=replace(SCHEMA, name="persons", unit=Unit("who", 3)))
    of_persons = Table(persons.schema, table().codes, persons=20)
    reply = gate(ledger, persons, of_persons).ask(asked(singles(persons), persons))
    assert "another adjacency or privacy unit" in refused(reply)[1]
    with ledger.transaction(write=False) as transaction:
        assert transaction.promises() == {("replace", None, None)}


def test_an_error_undoes_the_transaction(ledger: Ledger) -> None:
    """Everything in it, whatever it was: a cap, a binding and a charge."""
    entries = len(answer(ledger, study()))
    before = ledger.summary()
    other = study(name="other")

    def half_a_transaction() -> None:
        with ledger.transaction() as transaction:
            transaction.set_cap(Pure(Fraction(1)))
            transaction.bind("another schema", RECORDS)
            entry = transaction.next_entry(Charge(other.hash, "question", "counts", Pure(Fraction(1)), "reply"))
            transaction.record(entry, study=other, asked=b"asked", replied=b"replied")
            assert transaction.last() == (entries + 1, entry.head)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        half_a_transaction()
    assert ledger.summary() == before
    with ledger.transaction(write=False) as transaction:
        assert not transaction.bindings().belongs_to(RECORDS)
        assert transaction.caps() == []
    assert verify(ledger) == []


def test_what_is_charged_cannot_be_changed_by_a_slip(ledger: Ledger) -> None:
    answer(ledger, study())
    for slip in (
        "DELETE FROM entries",
        "UPDATE entries SET loss = ''",
        "DELETE FROM studies",
        "DELETE FROM notes WHERE 1",
        "UPDATE notes SET content = NULL",
    ):
        ledger.set_cap(Pure(Fraction(9)))
        with pytest.raises(LedgerError, match="append-only"), ledger.transaction() as transaction:
            transaction.connection.execute(slip)


def test_a_charge_needs_its_study(ledger: Ledger) -> None:
    insert = (
        "INSERT INTO entries (sequence, study, question, kind, loss, reply, head, asked, replied, secret, notes, "
        "events) VALUES (1, 'study', 'question', 'kind', 'loss', 'reply', 'head', x'00', x'00', x'00', 'n', 'e')"
    )
    with pytest.raises(LedgerError, match="FOREIGN KEY"), ledger.transaction() as transaction:
        transaction.connection.execute(insert)


def test_there_is_one_writer_at_a_time(ledger: Ledger) -> None:
    with ledger.transaction(), pytest.raises(LedgerError, match="in use by this process"):
        ledger.summary()
    ledger.set_cap(None)


@pytest.mark.parametrize("way", WAYS)
def test_threads_share_one_ledger(way: str, tmp_path: Path) -> None:
    """Each waits for its turn: the same replies for all, charged once."""
    with WAYS[way](tmp_path, 60) as ledger:
        agreed = study()
        door = gate(ledger, agreed)
        heads: list[tuple[str, ...]] = []

        def run() -> None:
            replies = [door.ask(asked(query, agreed, number)) for number, query in enumerate(script(agreed))]
            heads.append(tuple(released(reply).ledger for reply in replies))

        threads = [threading.Thread(target=run) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(heads) == 8
        assert len(set(heads)) == 1
        assert pure(ledger.summary().spent) == 1


def test_a_closed_ledger_is_not_used(ledger: Ledger) -> None:
    agreed = study("independent")
    door = gate(ledger, agreed)
    ledger.close()
    ledger.close()
    for use in (ledger.summary, ledger.entries, lambda: ledger.set_cap(None), lambda: ledger.bind("schema", RECORDS)):
        with pytest.raises(InternalError, match="after it was closed"):
            use()
    assert refused(door.ask(asked(singles(agreed), agreed)))[0] == "unavailable"


@pytest.mark.parametrize("way", WAYS)
def test_a_ledger_does_not_cross_a_fork(way: str, tmp_path: Path) -> None:
    code = (
        "import os, sys\n"
        "from pathlib import Path\n"
        "from panbayes.errors import InternalError\n"
        "from tests.consortium.holder.ledgers import WAYS\n"
        "ledger = WAYS[sys.argv[1]](Path(sys.argv[2]), 1)\n"
        "child = os.fork()\n"
        "try:\n"
        "    ledger.summary()\n"
        "except InternalError:\n"
        "    os._exit(7)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code, way, str(tmp_path)], check=False).returncode == 7


def test_the_chain_can_be_recomputed_from_what_show_prints(ledger: Ledger) -> None:
    answer(ledger, study(name="one"))
    answer(ledger, study(name="two"))
    head = ledger.summary().first
    for entry in ledger.entries():
        assert entry.commitment is not None
        head = next_head(entry.commitment, sequence=entry.sequence, previous=head)
        assert head == entry.head
    assert head == ledger.summary().head
