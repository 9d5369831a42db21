"""A network from the declarations of a BIF file: names, states and schema restored, every table checked.

Which properties restore the originals is said in :mod:`panbayes.bayesnet.formats.bif`, which writes them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.factors import TOLERANCE, Factors
from panbayes.bayesnet.formats.bif_text import Declarations, ProbabilityBlock, VariableBlock, parse_bif
from panbayes.bayesnet.structure import Structure
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema

__all__ = ["MAX_BYTES", "MAX_DEFAULTS", "ROUNDING", "import_bif"]

MAX_BYTES: Final = 1 << 29
"""The largest BIF file, and the largest table that one may hold."""

MAX_DEFAULTS: Final = 1 << 22
"""So many numbers at most stand in the tables that have a ``default`` row: a few bytes can declare any number."""

ROUNDING: Final = 0.02
"""How far a published row may be from one (files round to two or three digits) before it is called wrong."""


def import_bif(text: str, *, source: str = "bif") -> Factors:
    """Read a network from BIF text; ``source`` is its name in errors."""
    declared = parse_bif(text, source=source)
    place: dict[str, int] = {}
    for block in declared.variables:
        if block.name in place or not block.states:
            raise _error(source, block.line, f'"{block.name[:40]}" is declared twice, or without states')
        if len(set(block.states)) != len(block.states):
            raise _error(source, block.line, f'"{block.name[:40]}" has a state twice')
        place[block.name] = len(place)
    if not place:
        raise InputError(source, found="declares no variable", remedy="give a BIF file")
    blocks: dict[int, ProbabilityBlock] = {}
    for table in declared.probabilities:
        for name in (table.child, *table.parents):
            if name not in place:
                raise _error(source, table.line, f'"{name[:40]}" is not declared')
        if place[table.child] in blocks:
            raise _error(source, table.line, f'"{table.child[:40]}" has two tables')
        blocks[place[table.child]] = table
    for block in declared.variables:
        if place[block.name] not in blocks:
            raise _error(source, block.line, f'"{block.name[:40]}" has no table')
    try:
        _check_defaults(blocks, declared.variables, place, source)
        structure = Structure.of((child, [place[p] for p in table.parents]) for child, table in blocks.items())
        schema = _schema(declared, source)
        tables = tuple(
            _table(blocks[child], child, structure, declared.variables, source) for child in range(len(place))
        )
        warning = unquote(declared.properties.get("panbayes_warning", ""))
        return Factors(schema, structure, tables, about={"warning": warning} if warning else {})
    except InputError as error:
        if error.argument.startswith(source):
            raise
        raise InputError(f"{source}, {error.argument}", found=error.found, remedy=error.remedy) from None


def _error(source: str, line: int, found: str) -> InputError:
    return InputError(f"{source}, line {line}", found=found, remedy="give every variable once, with one table")


def _check_defaults(
    blocks: dict[int, ProbabilityBlock], variables: Sequence[VariableBlock], place: dict[str, int], source: str
) -> None:
    """Refuse default rows that stand for more numbers than anybody meant, before there is memory for one."""
    filled = 0
    for child, block in blocks.items():
        if block.default is not None:
            sizes = [len(variables[place[name]].states) for name in block.parents]
            filled += math.prod(sizes) * len(variables[child].states)
            if filled > MAX_DEFAULTS:
                raise InputError(
                    f"{source}, line {block.line}",
                    found=f"default rows stand for more than {MAX_DEFAULTS:,} numbers",
                    remedy="write the rows that matter, or use fewer parents",
                )


def _schema(declared: Declarations, source: str) -> Schema:
    """Restore the schema from the properties where they agree with the variables, else make one of categories."""
    attributes = tuple(_attribute(block) for block in declared.variables)
    if "panbayes_schema" in declared.properties:
        schema = Schema.parse(unquote(declared.properties["panbayes_schema"]), source=f"{source}, panbayes_schema")
        own = {attribute.name: attribute.labels for attribute in schema.attributes}
        if own == {attribute.name: attribute.labels for attribute in attributes}:
            if schema.names == tuple(attribute.name for attribute in attributes):
                return schema
            by_name = {attribute.name: attribute for attribute in schema.attributes}
            attributes = tuple(by_name[attribute.name] for attribute in attributes)
    return Schema(declared.name or "bif", attributes)


def _attribute(block: VariableBlock) -> Attribute:
    name = unquote(block.properties.get("panbayes_name", "")) or block.name
    labels = block.states
    if "panbayes_states" in block.properties:
        restored = [unquote(label) for label in block.properties["panbayes_states"].split(",")]
        if len(restored) == len(labels):
            labels = restored
    return Attribute(name, categories=tuple(labels))


def _table(
    block: ProbabilityBlock, child: int, structure: Structure, variables: Sequence[VariableBlock], source: str
) -> FloatArray:
    parents = [variables[p].states for p in structure.parents(child)]
    size = len(variables[child].states)
    count = math.prod(len(states) for states in parents)
    given = len(block.table or ()) + sum(len(_sized(block, row, size, source)) for _, row in block.rows)
    if (given < count * size and block.default is None) or count * size > MAX_BYTES // 8:
        raise _error(source, block.line, f'the table of "{block.child[:40]}" needs {count} rows, and some are missing')
    values = np.full((count, size), np.nan)
    if block.table is not None:
        if len(block.table) != count * size:
            raise _error(source, block.line, f'the table of "{block.child[:40]}" needs {count * size} numbers')
        values[:] = np.array(block.table).reshape(size, count).T
    if block.default is not None:
        values[:] = _sized(block, block.default, size, source)
    codes = [{state: code for code, state in enumerate(states)} for states in parents]
    for states, row in block.rows:
        if len(states) != len(codes) or any(s not in known for s, known in zip(states, codes, strict=True)):
            raise _error(
                source, block.line, f'the table of "{block.child[:40]}" has a row for ({", ".join(states)[:40]})'
            )
        index = 0
        for state, known in zip(states, codes, strict=True):
            index = index * len(known) + known[state]
        values[index] = row
    return _normalised(values, block, source).reshape([*(len(states) for states in parents), size])


def _sized(block: ProbabilityBlock, row: list[float], size: int, source: str) -> list[float]:
    if len(row) != size:
        raise _error(
            source, block.line, f'the table of "{block.child[:40]}" has a row of {len(row)} numbers, not {size}'
        )
    return row


def _normalised(values: FloatArray, block: ProbabilityBlock, source: str) -> FloatArray:
    if np.any(np.isnan(values)):
        raise _error(source, block.line, f'the table of "{block.child[:40]}" has a row that is missing or no number')
    totals = values.sum(axis=1, keepdims=True)
    if np.any(values < 0) or not np.all(np.abs(totals - 1) <= ROUNDING):
        raise _error(source, block.line, f'the table of "{block.child[:40]}" has a row that does not sum to one')
    # Rows that are as exact as a network asks for are kept to the bit; rounded ones are divided by their sum.
    return np.where(np.abs(totals - 1) <= TOLERANCE / 10, values, values / totals)
