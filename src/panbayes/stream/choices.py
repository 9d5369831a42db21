"""Choosing one of several things by the name that a user wrote."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TypeVar

from panbayes.errors import InputError

__all__ = ["choose"]

T = TypeVar("T")


def choose(name: str, choices: Mapping[str, T], *, argument: str) -> T:
    """Return the choice called ``name``; an unknown name gets an error with the nearest one, and all of them.

    >>> choose("lines", {"lines": 1, "circles": 2}, argument="--shape")
    1
    >>> choose("circle", {"lines": 1, "circles": 2}, argument="--shape")
    Traceback (most recent call last):
    panbayes.errors.InputError: --shape: found 'circle'; did you mean circles? The choices are lines, circles
    """
    if name in choices:
        return choices[name]
    near = get_close_matches(name.lower(), choices, n=1)
    hint = f"did you mean {near[0]}? The choices are" if near else "choose one of"
    raise InputError(argument, found=f"found {name[:40]!r}", remedy=f"{hint} {', '.join(choices)}")
