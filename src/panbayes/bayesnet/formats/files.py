"""Networks in files: the format follows from the name, and the file is whole or not there.

A name that ends in none of the known suffixes is taken for a model file (:mod:`panbayes.bayesnet.formats.model_json`).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.format import Format
from panbayes.bayesnet.formats.model_json import MODEL
from panbayes.discovery import registry
from panbayes.errors import InputError
from panbayes.files import write_bytes

__all__ = ["format_of", "formats", "load_factors", "save_factors"]

_AT_ONCE: Final = 1 << 24
"""So many bytes are read at a time, and none beyond what a file may have: a device has no end."""


@cache
def formats() -> dict[str, Format]:
    """Return every format by its suffix."""
    return registry("panbayes.bayesnet.formats", Format, lambda found: found.suffix)


def format_of(path: str | Path) -> Format:
    """Return the format that a file's name asks for."""
    return formats().get(Path(path).suffix.lower(), MODEL)


def save_factors(factors: Factors, path: str | Path, *, argument: str = "--output") -> None:
    """Write a network to a file, in one step: the file is never half-written."""
    write_bytes(path, format_of(path).encode(factors), argument=argument)


def load_factors(path: str | Path, *, chosen: Format | None = None) -> Factors:
    """Read a network from a file of the ``chosen`` format, by default the one its name asks for."""
    source, chosen = str(path), chosen or format_of(path)
    try:
        data = bytearray()
        with Path(path).open("rb") as file:
            while len(data) <= chosen.max_bytes and (part := file.read(_AT_ONCE)):
                data += part
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(source, found=f"cannot be read ({reason})", remedy="check the path") from None
    except ValueError:
        raise InputError(source, found="holds a NUL, which no path can", remedy="check the path") from None
    if len(data) > chosen.max_bytes:
        raise InputError(source, found=f"is larger than {chosen.max_bytes} bytes", remedy=f"give a {chosen.title}")
    return chosen.decode(bytes(data), source=source)
