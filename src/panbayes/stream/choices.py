"""Choosing one of several things by the name that a user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from panbayes.errors import InputError, nearest

__all__ = ["choose"]

T = TypeVar("T")


def choose(name: str, choices: Mapping[str, T], *, argument: str) -> T:
    """Return the choice called ``name``; an unknown name gets an error with the nearest one.

    >>> choose("lines", {"lines": 1, "circles": 2}, argument="--shape")
    1
    >>> choose("circle", {"lines": 1, "circles": 2}, argument="--shape")
    Traceback (most recent call last):
    panbayes.errors.InputError: --shape: found 'circle'; did you mean "circles"?
    """
    if name in choices:
        return choices[name]
    raise InputError(argument, found=f"found {name[:40]!r}", remedy=nearest(name, choices))
