"""An account remembers who decides about it: nothing that asks others gets an answer from it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import change_officers, consent_to, officers_statement
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.holder.consent import is_given
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.officers import Change, Officers
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.local.learn import learn
from panbayes.consortium.post.signatures import sign
from panbayes.consortium.protocol.codec import decode_reply, encode
from panbayes.consortium.protocol.envelope import Refusal, question
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError, LedgerError
from panbayes.tables.table import Table
from tests.consortium.agent.exchanges import Exchange, tables
from tests.consortium.agent.houses import key


def of(holder: HolderFile, *names: str, required: int = 1) -> HolderFile:
    """The same holder's file with other officers, as whoever uses the machine can write it."""
    people = tuple(Person(name, key(name).public) for name in names)
    return replace(holder, officers=people, approvals=required)


def signed(holder: HolderFile, *names: str) -> tuple[str, ...]:
    """Signatures of the change to the officers of a holder's file."""
    with holder.account() as ledger:
        statement = officers_statement(holder, ledger)
    assert statement is not None
    return tuple(sign(key(name), "panbayes-approval", statement.encode()) for name in names)


def change(holder: HolderFile, signatures: tuple[str, ...]) -> None:
    with holder.account() as ledger:
        change_officers(holder, ledger, signatures, argument="--signature")


@pytest.fixture
def exchange(tmp_path: Path) -> Exchange:
    made = Exchange(tmp_path, officers=("mary", "john"))
    made.holder.ledger().close()
    return made


def test_a_holders_file_with_officers_of_its_own_cannot_spend_the_account_of_others(exchange: Exchange) -> None:
    """Neither by what opens the account, nor at the gate by an approval of the forged officer over this letter."""
    forged = of(exchange.holder, "eve")
    with pytest.raises(LedgerError, match="other officers decide"):
        forged.ledger()
    proposed = exchange.propose()
    consent = consent_to(forged, proposed)
    with forged.account() as ledger:
        signature = sign(key("eve"), "panbayes-approval", consent.statement.encode())
        said = {"key": key("eve").public.line, "statement": consent.statement, "signature": signature}
        ledger.write_event("approved", said, study=exchange.study.hash)
        table = Table.read(exchange.holder.data, exchange.study.schema)
        asked = encode(question(tables(exchange.study), study=exchange.study.hash, round_number=0))
        for given in (consent, None):
            gate = Gate(table, exchange.study, ledger, SecureNoise(), consent=given)
            reply = decode_reply(gate.ask(asked))
            assert isinstance(reply, Refusal)
            assert reply.code == "unavailable"
        assert ledger.summary().entries == 0
    exchange.approve(proposed)
    with exchange.holder.ledger() as ledger:
        gate = Gate(table, exchange.study, ledger, SecureNoise(), consent=consent_to(exchange.holder, proposed))
        assert not isinstance(decode_reply(gate.ask(asked)), Refusal), "those who decide have agreed"


def test_an_account_is_its_officers_also_where_its_agents_folders_are_gone(exchange: Exchange) -> None:
    shutil.rmtree(exchange.house.folder / "state" / "post")
    assert exchange.holder.cabinet.owned
    with pytest.raises(InputError, match="its officers decide"):
        learn(exchange.study, {"north": exchange.house.folder / "north.csv"}, state=exchange.house.folder / "state")


def test_who_may_ask_for_more_may_do_so_at_once_and_nobody_is_let_in(exchange: Exchange) -> None:
    holder = exchange.holder
    for allowed in (of(holder, "mary"), of(holder, "mary", "john", required=2), holder):
        allowed.ledger().close()
    change(of(holder, "john"), signed(of(holder, "john"), "john"))  # Mary's key was stolen: no file may name it now.
    with pytest.raises(LedgerError, match="other officers decide"):
        of(holder, "mary").ledger()
    change(holder, signed(holder, "john"))
    for refused in (of(holder, "mary", "eve"), of(holder, "eve"), of(holder, "mary", "john", "eve", required=2)):
        with pytest.raises(LedgerError, match="other officers decide"):
            refused.ledger()


def test_those_who_decide_hand_over_and_as_many_of_them_sign_as_must(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, officers=("mary", "john"), top="approvals = 2")
    exchange.holder.ledger().close()
    for fewer in (of(exchange.holder, "mary", "john"), of(exchange.holder, "mary")):
        with pytest.raises(LedgerError, match="other officers decide"):
            fewer.ledger()
    later = of(exchange.holder, "anna")
    for wrong in ((), signed(later, "mary"), signed(later, "mary", "mary"), signed(later, "mary", "anna")):
        with pytest.raises(InputError, match="fewer than 2"):
            change(later, wrong)
    both = signed(later, "mary", "john")
    change(later, both)
    later.ledger().close()
    with pytest.raises(LedgerError, match="other officers decide"):
        exchange.holder.ledger()
    change(exchange.holder, signed(exchange.holder, "anna"))
    with pytest.raises(InputError, match="fewer than 2"):
        change(later, both)  # What was signed once is not shown again.
    exchange.holder.ledger().close()
    with exchange.holder.ledger() as ledger:
        assert verify(ledger) == []


def test_a_note_that_nobody_signed_changes_nothing(exchange: Exchange) -> None:
    forged = of(exchange.holder, "eve")
    with forged.account() as ledger, ledger.transaction() as transaction:
        transaction.note("officers", Change(Officers.of([key("eve").public.line], 1)).content)
        transaction.note("officers", "{}")
        assert not is_given(None, transaction, exchange.study.hash)
    with pytest.raises(LedgerError, match="other officers decide"):
        forged.ledger()
    exchange.holder.ledger().close()


def test_where_two_must_sign_no_file_makes_one_enough(tmp_path: Path) -> None:
    """Neither when the account is opened, nor at the gate, with all the consent that the file asks for."""
    exchange = Exchange(tmp_path, officers=("mary", "john"), top="approvals = 2")
    exchange.holder.ledger().close()
    fewer = of(exchange.holder, "mary", "john", required=1)
    with pytest.raises(LedgerError, match="other officers decide"):
        fewer.ledger()
    proposed, study = exchange.propose(), exchange.study.hash
    with fewer.account() as ledger:
        statement = consent_to(fewer, proposed).statement
        for name, agreed in (("mary", False), ("john", True)):
            signature = sign(key(name), "panbayes-approval", statement.encode())
            said = {"key": key(name).public.line, "statement": statement, "signature": signature}
            ledger.write_event("approved", said, study=study)
            with ledger.transaction() as transaction:
                assert not consent_to(fewer, proposed).given(transaction, study)
                assert consent_to(exchange.holder, proposed).given(transaction, study) is agreed
