"""Finding what a folder offers: the values of one type that its modules define.

Strategies, handlers, formats, sources, laws and universes are each one file that defines one value of a known type. A
registry is then nothing but the folder: to add one is to add a file, and no list has to be kept in step with it.

>>> from panbayes.bayesnet.formats.format import Format
>>> [found.title for found in discover("panbayes.bayesnet.formats", Format) if found.suffix == ".bif"]
['BIF file']
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import TypeVar

from panbayes.errors import InternalError

__all__ = ["discover", "registry"]

T = TypeVar("T")


def discover(package: str, kind: type[T]) -> tuple[T, ...]:
    """Return the values of type ``kind`` defined at the top of the modules of ``package``, by module name."""
    folder = import_module(package).__path__
    modules = [import_module(f"{package}.{found.name}") for found in pkgutil.iter_modules(folder)]
    values = {id(value): value for module in modules for value in vars(module).values() if isinstance(value, kind)}
    return tuple(values.values())


def registry(package: str, kind: type[T], name: Callable[[T], str]) -> dict[str, T]:
    """Return what :func:`discover` finds by its ``name``; two of one name are an error."""
    named: dict[str, T] = {}
    for value in discover(package, kind):
        if named.setdefault(name(value), value) is not value:
            raise InternalError(f'{package} defines two of the name "{name(value)}"')
    return named
