"""What a holder declares of a dataset, and what is pinned for a study: values, and the texts that are written down.

A :class:`Dataset` is a population: a ledger that has one is its account, whatever its table looks like today. A
:class:`Pin` says what one study sees of a dataset that changes. Both are notes of the ledger, so that its chain covers
them; :mod:`panbayes.consortium.holder.dataset` says what they are good for, and proves it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

from panbayes.consortium.agreement.calendar import CALENDARS, Calendar, calendar_of
from panbayes.errors import InputError
from panbayes.schema.schema import Unit
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File

__all__ = ["Dataset", "Named", "Pin", "read_dataset", "read_pin"]

Named: TypeAlias = frozenset[str] | None
"""The blocks that a study is charged to; None stands for everybody, whatever their block."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A population: where its table lies, whose records those are, and whether the table changes.

    ``blocks`` is the calendar by which new people bring a budget of their own; ``delta`` is what all proposals together
    may spend of δ.
    """

    source: File | Address
    unit: Unit | None
    changing: bool
    blocks: Calendar | None = None
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        """Check what spans fields."""
        if self.changing and self.unit is None:
            raise InputError(
                "--unit",
                found="is not given for a dataset that changes",
                remedy="name the column that says whose a record is; if every record is another person's, name their "
                "ids, and keep --max-records 1",
            )
        if self.blocks is not None and not self.changing:
            raise InputError("--blocks", found="is given for a fixed dataset", remedy="leave it out, or say --changing")
        if self.blocks is not None and self.blocks not in CALENDARS:
            raise InputError("--blocks", found=f'found "{self.blocks}"', remedy=f"give one of: {', '.join(CALENDARS)}")
        if not 0 <= self.delta < 1:
            raise InputError("--delta", found=f"found {float(self.delta):g}", remedy="give a number such as 1e-6, or 0")

    def text(self) -> str:
        """Write it as the one text that is kept and hashed; :func:`read_dataset` reads it."""
        said: dict[str, object] = {"source": _written(self.source), "changing": self.changing}
        if self.unit is not None:
            said["unit"] = {"column": self.unit.column, "max_records": self.unit.max_records}
        if self.blocks is not None:
            said["blocks"] = self.blocks
        if self.delta:
            said["delta"] = str(self.delta)
        return _text(said)

    def agrees_with(self, other: Dataset) -> bool:
        """Tell whether both are one population: another place of its table, or another δ, is no other one."""
        return (self.unit, self.changing, self.blocks) == (other.unit, other.changing, other.blocks)


@dataclass(frozen=True, slots=True)
class Pin:
    """What a ``study`` (its hash) sees of a dataset that changes.

    ``blocks`` are those that it is charged to, None for everybody; ``address`` is that of the table as it was, None
    where the source keeps no past.
    """

    study: str
    blocks: Named = None
    address: str | None = None

    def __post_init__(self) -> None:
        """Refuse a study that would be charged to nobody."""
        if self.blocks is not None and not self.blocks:
            raise ValueError("a study is charged to at least one block")

    def text(self) -> str:
        """Write it as the one text that is kept and hashed; :func:`read_pin` reads it."""
        blocks = None if self.blocks is None else sorted(self.blocks)
        return _text({"study": self.study, "blocks": blocks, "address": self.address})


def read_dataset(text: str) -> Dataset | None:
    """Read what was declared; None if the text is no declaration.

    >>> clinic = Dataset(File("/data/clinic.csv"), Unit("patient"), changing=True, blocks="monthly")
    >>> read_dataset(clinic.text()) == clinic, read_dataset("{}")
    (True, None)
    """
    try:
        said = json.loads(text)
        unit = said.get("unit")
        found = Dataset(
            _read_source(said["source"]),
            None if unit is None else Unit(unit["column"], max_records=unit["max_records"]),
            said["changing"],
            said.get("blocks"),
            Fraction(said.get("delta", "0")),
        )
    except (AttributeError, InputError, KeyError, TypeError, ValueError, ZeroDivisionError, RecursionError):
        return None
    return found if found.text() == text else None


def read_pin(text: str) -> Pin | None:
    """Read what was pinned; None if the text is no pin.

    >>> pin = Pin("0" * 64, frozenset({"2026-11"}))
    >>> read_pin(pin.text()) == pin, read_pin("[]")
    (True, None)
    """
    try:
        said = json.loads(text)
        blocks = said["blocks"]
        found = Pin(said["study"], None if blocks is None else frozenset(blocks), said["address"])
        periods = all(calendar_of(block) is not None for block in found.blocks or ())
        return found if periods and found.text() == text else None
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def _written(source: File | Address) -> dict[str, Any]:
    """Write where a table lies, and how it is written, as a holder's file does."""
    if isinstance(source, Address):
        return {"url": str(source)}
    said: dict[str, Any] = {
        "file": str(source.path),
        "encoding": source.encoding,
        "separator": source.separator,
        "header": source.header,
        "columns": source.columns if isinstance(source.columns, int) else list(source.columns),
        "sheet": source.sheet,
    }
    usual: dict[str, Any] = {"encoding": "utf-8", "separator": None, "header": True, "columns": [], "sheet": None}
    return {key: value for key, value in said.items() if key not in usual or value != usual[key]}


def _read_source(said: dict[str, Any]) -> File | Address:
    if "url" in said:
        return Address.parse(said["url"], argument="source")
    options = dict(said)
    return File(options.pop("file"), **options)


def _text(said: dict[str, object]) -> str:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
