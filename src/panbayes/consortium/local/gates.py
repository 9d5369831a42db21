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
from pathlib import Path
from traceback import print_exception

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.binding import fingerprint
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.protocol.transport import Ask
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError, PanbayesError
from panbayes.tables.table import Table

__all__ = ["open_gates"]


@contextmanager
def open_gates(
    study: Study, tables: Mapping[str, Table], *, state: str | Path | None = None, simulate: int | None = None
) -> Iterator[dict[str, Ask]]:
    """Put every table behind a gate for the study; yield how to ask each, by the holder's name.

    ``state`` is where ledgers are kept, by default the user's state directory. The gates close with the block.
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
            gates = _secure_gates(study, tables, state, stack)
        yield gates


def _secure_gates(
    study: Study, tables: Mapping[str, Table], state: str | Path | None, stack: ExitStack
) -> dict[str, Ask]:
    records = {name: fingerprint(table) for name, table in tables.items()}
    cabinet = Cabinet.in_state(state)
    ledgers = cabinet.open({name: (table.schema.hash, records[name]) for name, table in tables.items()})
    for ledger in ledgers.values():
        stack.enter_context(ledger)
    owners: dict[Path | None, str] = {}
    for name, ledger in ledgers.items():
        if owners.setdefault(ledger.path, name) != name:
            raise InputError(
                f"holder {name}",
                found=f"has the very records of holder {owners[ledger.path]}",
                remedy="give every holder its own records",
            )
    return {
        name: Gate(table, study, ledgers[name], SecureNoise(), report=_report, records=records[name]).ask
        for name, table in tables.items()
    }


def _report(error: BaseException) -> None:
    """Tell the person at the keyboard, who here is the holder as well, what went wrong behind a gate.

    Anything but panbayes's own one-line messages may name private values, so it is shown on demand only.
    """
    if os.environ.get("PANBAYES_DEBUG"):
        print_exception(error)
    elif isinstance(error, PanbayesError):
        sys.stderr.write(f"{error}\n")
