"""What tables in a lake have in common: they keep their past as snapshots, until somebody clears it away.

A table is read at one snapshot, the newest where the address names none, and the address of what is open names it
(:class:`~panbayes.tables.sources.source.Pinnable`). A snapshot that is gone is an error, never the newer one.

The libraries' own scans do the reading, so that whatever a snapshot leaves out (deleted records, columns under earlier
names) is left out here. Their errors may quote paths, values and credentials: none of their text is shown.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

from panbayes.errors import InputError, nearest
from panbayes.tables.sources.address import Address

__all__ = ["failing", "needs", "number", "ordering"]


@contextmanager
def failing(argument: str, found: str, remedy: str) -> Iterator[None]:
    """Make one line of whatever a library raises, a panic too, which is no Exception."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, InputError | GeneratorExit | KeyboardInterrupt | SystemExit):
            raise
        raise InputError(argument, found=found, remedy=remedy) from None


def needs(error: ModuleNotFoundError, argument: str, extra: str) -> NoReturn:
    """Complain about a library that is not installed."""
    raise InputError(
        argument, found=f"needs {error.name}, which is not installed", remedy=f"run: pip install 'panbayes[{extra}]'"
    ) from None


def number(text: str, option: str, *, argument: str) -> int:
    """Read the number of a version or snapshot."""
    if not (text.isascii() and text.removeprefix("-").isdigit() and abs(int(text)) < 2**63):
        raise InputError(argument, found=f'option "{option}" is "{text}"', remedy="give a whole number")
    return int(text)


def ordering(given: Address, columns: tuple[str, ...], *, argument: str) -> tuple[str, ...]:
    """Return the columns that a person's records are put in order by."""
    names = given.names("order_by")
    for name in names:
        if name not in columns:
            raise InputError(argument, found=f'has no column "{name}" to order by', remedy=nearest(name, columns))
    return names
