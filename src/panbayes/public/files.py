"""Writing files so that nothing is ever half-written: a temporary name beside the target, then a rename."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from panbayes.public.errors import InputError

__all__ = ["output_file", "write_text"]


@contextmanager
def output_file(path: str | Path, *, argument: str = "--output") -> Iterator[Path]:
    """Yield a temporary path; when the block ends well, move it to ``path`` durably, else remove it.

    The temporary file is created at once, so that a folder that is absent or not writable is refused before any
    work is done. ``argument`` names the output in errors.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(argument, found=f"{target} is a directory", remedy="give the name of a file")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        temporary.touch(exist_ok=False)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError(
            argument, found=f"{target} cannot be written ({reason})", remedy="give a file in a folder that exists"
        ) from None
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | Path, text: str, *, argument: str = "--output") -> None:
    """Write a text file in one step."""
    with output_file(path, argument=argument) as temporary:
        temporary.write_text(text, encoding="utf-8")
