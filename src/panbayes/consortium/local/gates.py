"""Holders in this process, each behind its own gate: what ``panbayes learn`` asks by default.

The analyst's half gets functions from bytes to bytes and nothing else, exactly as it would across a network. With
secure noise every holder keeps its ledger on disk (:mod:`panbayes.consortium.holder.ledger.cabinet`), so the same study
on the same records again is free and gives the same answers, and other studies add up. With ``simulate`` the noise
comes from that seed, by holder and question, the ledgers are thrown away, and every release is stamped not private.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from traceback import print_exception
from types import MappingProxyType
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.dataset import see
from panbayes.consortium.holder.edition import Edition
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.binding import Fingerprint
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.fingerprints import fingerprint
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.records import Records, read_for
from panbayes.consortium.protocol.transport import Ask
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError, LedgerError, PanbayesError
from panbayes.privacy.written import show_fraction
from panbayes.tables.sources.address import address_of
from panbayes.tables.sources.file import is_file

__all__ = ["MUCH", "Account", "check_own", "open_gates", "read_declared", "write_down_look"]

MUCH: Final = 10
"""Above this ε the promise is weak: one release can make a person's value e¹⁰ times likelier than another."""


@dataclass(frozen=True, slots=True)
class Account:
    """The open ``ledger`` of a declared dataset, and what the study sees of it (None for a fixed one)."""

    ledger: Ledger
    edition: Edition | None = None


def read_declared(
    study: Study, named: Mapping[str, object], *, state: str | Path | None, stack: ExitStack
) -> dict[str, tuple[Records, Account]]:
    """Return what a study sees of every declared dataset among the holders' tables, known by their places alone.

    A study without privacy sees the tables as they are.
    """
    cabinet = Cabinet.in_state(state)
    known = cabinet.datasets(free=True)
    found: dict[str, tuple[Records, Account]] = {}
    for name, data in named.items():
        path = cabinet.declared_at(data, argument=f"holder {name}", among=known)
        if path is None:
            continue
        ledger = stack.enter_context(Ledger.open(path))
        if study.private:
            seen = see(study, ledger, data, argument=f"holder {name}", stack=stack)
            found[name] = seen.records, Account(ledger, seen.edition)
        else:
            found[name] = read_for(study, data, argument=f"holder {name}", stack=stack), Account(ledger)
    return found


@contextmanager
def open_gates(
    study: Study,
    tables: Mapping[str, Records],
    *,
    state: str | Path | None = None,
    simulate: int | None = None,
    declared: Mapping[str, Account] = MappingProxyType({}),
) -> Iterator[dict[str, Ask]]:
    """Put every table behind a gate for the study; yield how to ask each, by the holder's name.

    ``state`` is where ledgers are kept, by default the user's state directory. The gates close with the block.
    ``declared`` are the accounts of those tables that are declared datasets, which the caller closes.
    """
    with ExitStack() as stack:
        gates: dict[str, Ask]
        if simulate is not None:
            gates = {
                name: Gate(
                    table,
                    study,
                    stack.enter_context(Ledger.in_memory()),
                    SimulatedNoise(simulate).spawn(f"holder {name}".encode()),
                    report=_report,
                ).ask
                for name, table in tables.items()
            }
        else:
            gates = _secure_gates(study, tables, state, stack, declared)
        yield gates


def _secure_gates(
    study: Study,
    tables: Mapping[str, Records],
    state: str | Path | None,
    stack: ExitStack,
    declared: Mapping[str, Account],
) -> dict[str, Ask]:
    records = {name: fingerprint(table) for name, table in tables.items()}
    apart = {
        account.ledger.path: records[name]
        for name, account in declared.items()
        if account.ledger.path is not None and tables[name].facts.records  # All empty tables are alike.
    }
    Cabinet.in_state(state).check_apart(apart)
    ledgers = _open_ledgers(tables, records, state, stack, declared)
    _warn(study, ledgers)
    _check_accounts(ledgers)
    editions = {name: account.edition for name, account in declared.items()}
    return {
        name: Gate(
            table,
            study,
            ledgers[name],
            SecureNoise(),
            report=_report,
            records=records[name],
            placed=name in declared,
            edition=editions.get(name),
        ).ask
        for name, table in tables.items()
    }


def check_own(holders: Mapping[str, object]) -> None:
    """Refuse holders that were given the same file or object twice: what was given is public, and known unread."""
    seen: dict[object, str] = {}
    for name, data in holders.items():
        known = seen.setdefault(_what(data), name)
        if known != name:
            what = "file" if is_file(data) else "table"
            raise InputError(
                f"holder {name}",
                found=f"is given the same {what} as holder {known}",
                remedy="give every holder its own records",
            )


def _what(data: object) -> object:
    """Return what something given is known by, before it is looked into: a file by its place on the disk."""
    address = address_of(data, argument="holder")
    if address is not None:
        return address.place
    if is_file(data):
        try:
            found = Path(str(data)).stat()
        except (OSError, ValueError):
            return str(data)
        return found.st_dev, found.st_ino
    return id(data)


def _check_accounts(ledgers: Mapping[str, Ledger]) -> None:
    """Refuse holders whose records are the same although they were given apart, and so have one ledger.

    Which ledger records have is told to their holder alone, as all that is about a ledger, before anything is asked: an
    analyst elsewhere would see that a holder is unavailable. To answer for both from one ledger would give the same
    bytes twice, which says that the tables are alike; to charge one ledger for two answers would spend more than the
    study says.
    """
    holders: dict[str, str] = {}
    for name, ledger in ledgers.items():
        if holders.setdefault(ledger.name, name) != name:
            raise LedgerError(
                ledger.name,
                found=f"is the ledger of holder {holders[ledger.name]} and of holder {name}",
                remedy="give every holder its own records: one account cannot answer for two holders of a study",
            )


def write_down_look(
    study: Study,
    tables: Mapping[str, Records],
    *,
    state: str | Path | None = None,
    declared: Mapping[str, Account] = MappingProxyType({}),
) -> None:
    """Write into every holder's ledger that ``study`` looks at all of its records without privacy."""
    records = {name: fingerprint(table) for name, table in tables.items()}
    with ExitStack() as stack:
        for ledger in _open_ledgers(tables, records, state, stack, declared).values():
            ledger.look(study)


def _open_ledgers(
    tables: Mapping[str, Records],
    records: Mapping[str, Fingerprint],
    state: str | Path | None,
    stack: ExitStack,
    declared: Mapping[str, Account],
) -> dict[str, Ledger]:
    """Return the ledger of each holder, in their order: those of declared datasets, and those that records find."""
    holders = {name: (table.facts.schema.hash, records[name]) for name, table in tables.items() if name not in declared}
    found = Cabinet.in_state(state).open(holders, waiting=_say_on_terminal, free=True) if holders else {}
    for ledger in found.values():
        stack.enter_context(ledger)
    known = {name: account.ledger for name, account in declared.items()}
    return {name: known.get(name) or found[name] for name in tables}


def _warn(study: Study, ledgers: Mapping[str, Ledger]) -> None:
    """Say what is to be thought of beforehand; nobody is asked anything.

    A missing cap is mentioned on a terminal when a ledger is used for the first time, and not again.
    """
    summaries = {name: ledger.summary() for name, ledger in ledgers.items()}
    new = [name for name, summary in summaries.items() if summary.cap is None and not summary.entries]
    if new:
        _say_on_terminal(
            f"note: no cap is set for {', '.join(new)}: all studies together may spend any amount; set one with "
            "`panbayes holder ledger cap NAME EPSILON`"
        )
    if study.epsilon is not None and study.epsilon > MUCH:
        _say(
            f"warning: the study grants ε = {show_fraction(study.epsilon)}: above {MUCH} little is promised to anybody"
        )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _say_on_terminal(line: str) -> None:
    if sys.stderr.isatty():
        _say(line)


def _report(error: BaseException) -> None:
    """Tell the person at the keyboard, who here is the holder as well, what went wrong behind a gate.

    Anything but panbayes's own one-line messages may name private values, so it is shown on demand only.
    """
    if os.environ.get("PANBAYES_DEBUG"):
        print_exception(error)
    elif isinstance(error, PanbayesError):
        sys.stderr.write(f"{error}\n")
