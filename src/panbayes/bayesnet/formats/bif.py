"""BIF, the interchange format that other tools read: export with safe names, import that restores the originals.

Other readers stumble over names with spaces or brackets and states such as ``<30`` or ``[70-80)``, some without saying
so. So every attribute and state is written under an identifier of letters, digits and underscores, unique without
regard to case, and the original goes into a ``property`` line, percent-encoded: ``panbayes_name`` and
``panbayes_states`` with every variable, ``panbayes_schema`` (the whole schema) with the network. Importing a file
that has them restores the schema exactly; any other file gets a schema of categories named as its states are.

A BIF file has no checksum and its tables may have been edited, so the privacy statement is written as a comment for
people and is not read back. A warning that a network is not private is: it stands in the first line and in the property
``panbayes_warning``. Numbers are written to full precision: what we write, we read back bit for bit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.bif_import import MAX_BYTES, import_bif
from panbayes.bayesnet.formats.format import Format
from panbayes.errors import InputError
from panbayes.schema.schema import dump_schema

__all__ = ["BIF", "NO_STATEMENT", "export_bif"]

NO_STATEMENT: Final = "No privacy statement: nothing is promised to the people this was learned from, if it was."
"""What stands above a network that carries no statement."""

_RESERVED: Final = frozenset({"network", "variable", "probability", "property", "type", "discrete", "table", "default"})


def _identifiers(names: Iterable[str], prefix: str) -> list[str]:
    """Make safe identifiers, unique without regard to case, as close to the names as possible.

    >>> _identifiers(["age", "Age", "<30", "a b", "table"], "s")
    ['age', 'Age_2', 's_30', 'a_b', 'table_2']
    """
    taken = set(_RESERVED)
    result: list[str] = []
    for name in names:
        base = re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]", "_", name)).strip("_") or prefix
        if not base[0].isalpha():
            base = f"{prefix}_{base}"
        tries = itertools.chain([base], (f"{base}_{i}" for i in itertools.count(2)))
        chosen = next(text for text in tries if text.lower() not in taken)
        taken.add(chosen.lower())
        result.append(chosen)
    return result


def export_bif(network: Factors) -> str:
    """Write a network as BIF text."""
    schema = network.schema
    names = _identifiers(schema.names, "a")
    states = [_identifiers(attribute.labels, "s") for attribute in schema.attributes]
    warnings = [network.about["warning"]] if "warning" in network.about else []
    comments = warnings + (network.privacy.lines() if network.privacy is not None else [NO_STATEMENT])
    lines = [f"// {re.sub(r'[^ -~]', '_', line).replace(chr(34), chr(39))}" for line in comments]
    lines += [
        f"network {_identifiers([schema.name], 'network')[0]} {{",
        f"  property panbayes_schema = {quote(dump_schema(schema), safe='')};",
        *(f"  property panbayes_warning = {quote(text, safe='')};" for text in warnings),
        "}",
    ]
    for attribute, name, own in zip(schema.attributes, names, states, strict=True):
        lines += [
            f"variable {name} {{",
            f"  type discrete [ {attribute.size} ] {{ {', '.join(own)} }};",
            f"  property panbayes_name = {quote(attribute.name, safe='')};",
            f"  property panbayes_states = {','.join(quote(label, safe='') for label in attribute.labels)};",
            "}",
        ]
    for child, parents in network.structure.pairs:
        given = f" | {', '.join(names[p] for p in parents)}" if parents else ""
        lines.append(f"probability ( {names[child]}{given} ) {{")
        rows = network.tables[child].reshape(-1, network.tables[child].shape[-1]).tolist()
        if parents:
            combinations = itertools.product(*(states[p] for p in parents))
            lines += [f"  ({', '.join(at)}) {_row(row)};" for at, row in zip(combinations, rows, strict=True)]
        else:
            lines.append(f"  table {_row(rows[0])};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _row(values: Sequence[float]) -> str:
    return ", ".join(map(repr, values))


def _decode(data: bytes, *, source: str) -> Factors:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(source, found="found bytes that are not text", remedy="give a BIF file") from None
    return import_bif(text, source=source)


BIF: Final = Format(
    ".bif", "BIF file", lambda factors: export_bif(factors).encode(), _decode, MAX_BYTES, keeps_statement=False
)
