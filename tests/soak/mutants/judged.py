"""Mutants that live and need not die: each with the reason why what it changes is no promise.

``judged.toml`` names the module and quotes the line of code, so that a mutant is known again wherever in the module its
line has moved to.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

from tests.soak.mutants.generator import Mutant

__all__ = ["JUDGED", "Key", "judged", "judgement"]

JUDGED: Final = Path(__file__).with_name("judged.toml")


Key: TypeAlias = tuple[str, str, str, str]
"""File, line of code, what is changed in it, and what that says then."""


@cache
def judged() -> dict[Key, str]:
    """Return the reason of every mutant that was judged."""
    found: dict[Key, str] = {}
    for one in tomllib.loads(JUDGED.read_text(encoding="utf-8"))["mutant"]:
        found |= {(one["file"], one["code"], before, after): one["reason"] for before, after in one["changes"]}
    return found


def judgement(mutant: Mutant) -> str:
    """Return why a mutant need not die; "" if nobody has judged it."""
    return judged().get((mutant.file, mutant.code, mutant.before, mutant.after), "")
