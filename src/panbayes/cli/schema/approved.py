"""Keeping schemas that a person has approved from being written over."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from panbayes.errors import InputError

__all__ = ["check_not_approved"]

MAX_BYTES: Final = 4_000_000
_APPROVED: Final = re.compile(r"""^\s*["']?status["']?\s*=\s*["']{1,3}approved""", re.MULTILINE)


def check_not_approved(output: Path) -> None:
    """Refuse to replace a schema that a person has approved, by whatever name it goes."""
    try:
        if not output.is_file():
            return
        with output.open("rb") as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return  # the writing itself will say what is wrong
    if _APPROVED.search(text):
        raise InputError(
            "--output",
            found=f"{output} is an approved schema",
            remedy="give another name, or remove the schema first",
        )
