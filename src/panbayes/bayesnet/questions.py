"""From the names and values of a question to positions and codes; what is unknown is said with the nearest match."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np

from panbayes.errors import InputError, nearest
from panbayes.schema.attribute import Attribute
from panbayes.schema.domains import Scalar, label_text
from panbayes.schema.schema import Schema

__all__ = ["Evidence", "code_of", "evidence_codes", "impossible", "position"]

Evidence: TypeAlias = Mapping[str, Scalar]
"""Observed values by attribute name: a label, or a value inside the attribute's domain."""


def position(schema: Schema, name: object, *, argument: str) -> int:
    """Return the position of an attribute, or complain about ``argument``."""
    if not isinstance(name, str):
        raise InputError(argument, found=f"found {name!r}", remedy="give the name of an attribute")
    return schema.index(name, argument=argument)


def code_of(attribute: Attribute, value: object, *, argument: str) -> int:
    """Return the code of a label, or of a value inside the attribute's domain.

    >>> insulin = Attribute("insulin", categories=("No", "Steady", "Up"))
    >>> code_of(insulin, "Up", argument="evidence")
    2
    >>> code_of(insulin, "Steedy", argument="evidence")
    Traceback (most recent call last):
    ...
    panbayes.errors.InputError: evidence: "Steedy" is not a value of "insulin"; did you mean "Steady"?
    """
    plain = value.item() if isinstance(value, np.generic) else value
    code = attribute.code_of(plain) if isinstance(plain, Scalar) else None
    if code is None:
        text = label_text(plain) if isinstance(plain, Scalar) else repr(plain)
        raise InputError(
            argument, found=f'"{text}" is not a value of "{attribute.name}"', remedy=nearest(text, attribute.labels)
        )
    return code


def evidence_codes(schema: Schema, given: Evidence | None, *, argument: str) -> dict[int, int]:
    """Translate evidence into codes by position."""
    if given is not None and not hasattr(given, "items"):
        raise InputError(
            argument, found=f"found a {type(given).__name__}", remedy='give values by name, such as {"insulin": "Up"}'
        )
    found: dict[int, int] = {}
    for name, value in (given or {}).items():
        place = position(schema, name, argument=argument)
        found[place] = code_of(schema.attributes[place], value, argument=argument)
    return found


def impossible(schema: Schema, evidence: Mapping[int, int], *, argument: str) -> InputError:
    """Return the error for evidence of probability zero."""
    texts = [f"{schema.attributes[i].name}={schema.attributes[i].labels[code]}" for i, code in evidence.items()]
    return InputError(
        argument,
        found=f"{', '.join(texts)} has probability zero in this network",
        remedy="give less evidence, or other values",
    )
