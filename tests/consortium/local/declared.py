"""A dataset that changes, in files: writing its tables, declaring it, and asking it questions with next to no noise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.agreement.calendar import Calendar
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.declaring import declare
from panbayes.consortium.holder.ledger import ledger as ledger_module
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.summary import Summary
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.records import read_for
from panbayes.consortium.local.gates import open_gates, read_declared
from panbayes.consortium.protocol.answers import GroupedTablesAnswer
from panbayes.consortium.protocol.cells import unpack_cells
from panbayes.consortium.protocol.queries import GroupedTablesQuery, Grouping, ratio
from panbayes.consortium.protocol.transport import Ask
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File
from tests.consortium.holder.examples import asked, released

SMOKES = Schema(
    "clinic",
    (Attribute("smokes", categories=("no", "yes")), Attribute("sex", categories=("F", "M"))),
    unit=Unit("patient"),
)

MUCH = Fraction(200)
"""So much ε that counts come out exact, but for a chance of e⁻⁵⁰ or so."""


def write(path: Path, people: Mapping[str, str]) -> Path:
    """Write a table of people, each with what they say of smoking."""
    lines = [f"{who},{smokes},F\n" for who, smokes in people.items()]
    path.write_text("patient,smokes,sex\n" + "".join(lines), encoding="utf-8")
    return path


def people(numbers: range, smokes: str = "no") -> dict[str, str]:
    return {f"p{number}": smokes for number in numbers}


def declared(
    state: Path,
    source: Path | str | File,
    *,
    name: str = "north",
    unit: Unit | None = SMOKES.unit,
    changing: bool = True,
    blocks: Calendar | None = None,
    cap: Fraction | None = None,
    delta: Fraction = Fraction(0),
) -> Path:
    """Declare a dataset; return its ledger."""
    cabinet = Cabinet.in_state(state)
    data = Address.parse(source, argument="source") if isinstance(source, str) else source
    if isinstance(data, Path):
        data = File(data)
    dataset = Dataset(data, unit, changing, blocks, delta)
    declare(cabinet, cabinet.path(name), dataset, cap=None if cap is None else Pure(cap))
    return cabinet.path(name)


def study(
    name: str = "a",
    *,
    schema: Schema = SMOKES,
    epsilon: Fraction = MUCH,
    edition: str | None = None,
    blocks: tuple[str, ...] | None = None,
    adjacency: Adjacency = "add-remove",
) -> Study:
    return Study(name, schema, "adaptive", epsilon, adjacency=adjacency, edition=edition, blocks=blocks or "all")


def question(agreed: Study, *, number: int = 0, parts: int = 2) -> bytes:
    """How many there are of each value of the first attribute, for one of ``parts`` of what the study may spend."""
    groupings = tuple(Grouping(a, ()) for a in range(len(agreed.schema)))
    loss = ratio(agreed.grant.amount / parts)
    return asked(GroupedTablesQuery("pure", agreed.adjacency, groupings, ((0,),), (1,), loss), agreed, number)


@contextmanager
def gate(agreed: Study, data: object, state: Path, *, holder: str = "north") -> Iterator[Ask]:
    """Open a gate as ``learn`` does."""
    with ExitStack() as stack:
        found = read_declared(agreed, {holder: data}, state=state, stack=stack)
        tables = {name: records for name, (records, _) in found.items()}
        if holder not in found:
            tables = {holder: read_for(agreed, data, argument="data", stack=stack)}
        accounts = {name: account for name, (_, account) in found.items()}
        with open_gates(agreed, tables, state=state, declared=accounts) as gates:
            yield gates[holder]


def ask(agreed: Study, data: object, state: Path, *, holder: str = "north", number: int = 0, parts: int = 2) -> bytes:
    """Ask a question; see :func:`question`."""
    with gate(agreed, data, state, holder=holder) as door:
        return door(question(agreed, number=number, parts=parts))


def counted(reply: bytes) -> list[int]:
    """Return the counts of a reply."""
    answer = released(reply).answer
    assert isinstance(answer, GroupedTablesAnswer)
    return [int(cell) for cell in unpack_cells(answer.cells)]


def summary(path: Path) -> Summary:
    """Return where a ledger stands, which must be sound."""
    with Ledger.read(path) as ledger:
        assert verify(ledger) == []
        return ledger.summary()


def now(patch: pytest.MonkeyPatch, day: str) -> None:
    """Set the clock of ledgers to a day."""
    patch.setattr(ledger_module, "utc", lambda: f"{day} 12:00:00Z")
