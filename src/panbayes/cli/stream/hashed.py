"""The options of ``panbayes stream`` that belong to ids without a list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from panbayes.errors import InputError

__all__ = ["Expect", "Memory", "is_hashed", "refuse_with_hashed", "refuse_without_hashed"]

Expect = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="With hashed: how many users, known within a factor of three; then the error is a third.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="With hashed: how large the state may be, such as 1M.", show_default="128K"),
]


def is_hashed(universe: str | None) -> bool:
    """Say whether a user means ids without a list."""
    return universe is not None and universe.lower() == "hashed"


def refuse_with_hashed(given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing where ids are hashed."""
    for option, value in given.items():
        if value is not None:
            raise InputError(option, found="found with --universe hashed", remedy="leave it out: nobody is listed")


def refuse_without_hashed(given: Mapping[str, object]) -> None:
    """Refuse options that mean nothing where users are known."""
    for option, value in given.items():
        if value is not None:
            raise InputError(option, found="found with known users", remedy="leave it out, or say --universe hashed")
