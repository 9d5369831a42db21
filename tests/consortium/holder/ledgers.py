"""Ways to open a ledger, and what tests do to it: filling it, editing it behind its back, asking what is wrong."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.consent import Consent
from panbayes.consortium.holder.gate import Gate, Report
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.noise import Noise
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import LedgerError
from panbayes.tables.table import Table
from tests.consortium.holder.examples import asked, released, script, study, table

Way = Callable[[Path, float], Ledger]

WAYS: Mapping[str, Way] = {
    "open": lambda folder, busy: Ledger.open(folder / "contract.ledger", create=True, busy_seconds=busy),
    "in_memory": lambda _folder, busy: Ledger.in_memory(busy_seconds=busy),
}
"""Every way to open an empty ledger for use, by the name of the class method."""


def gate(
    ledger: Ledger,
    agreed: Study,
    records: Table | None = None,
    *,
    consent: Consent | None = None,
    report: Report = lambda _error: None,
) -> Gate:
    """Return a gate with the noise that goes with the ledger."""
    noise: Noise = SecureNoise() if ledger.durable else SimulatedNoise(0)
    return Gate(records or table(), agreed, ledger, noise, consent=consent, report=report)


def answer(ledger: Ledger, agreed: Study) -> list[bytes]:
    """Let a study ask everything it asks, and return the replies."""
    door = gate(ledger, agreed)
    return [door.ask(asked(query, agreed, number)) for number, query in enumerate(script(agreed))]


def fill(path: Path, studies: int = 2) -> list[str]:
    """Answer some studies in full and return the heads that went out."""
    with Ledger.open(path, create=True) as ledger:
        replies = [reply for number in range(studies) for reply in answer(ledger, study(name=f"study {number}"))]
    return [released(reply).ledger for reply in replies]


def edit(path: Path, *statements: str, values: tuple[object, ...] = ()) -> None:
    """Do what somebody with a database editor would do, who puts the triggers back."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    triggers = connection.execute("SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement, values if "?" in statement else ())
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for _, guarded, sql in triggers:
        if guarded in tables:
            connection.execute(sql)
    connection.close()


def faults(path: Path, *heads: str) -> str:
    """Say what is wrong with a ledger, whether that shows on opening or later."""
    try:
        with Ledger.read(path) as ledger:
            return "; ".join(verify(ledger, heads=heads))
    except LedgerError as error:
        return str(error)
