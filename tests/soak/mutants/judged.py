"""Mutants that live and need not die: each with the reason why what it changes is no promise.

``judged.toml`` names the module and quotes the change as the generator writes it, so that a mutant is known again
wherever its line has moved to within the module.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from tests.soak.mutants.generator import Mutant

__all__ = ["JUDGED", "judged", "judgement"]

JUDGED: Final = Path(__file__).with_name("judged.toml")


@cache
def judged() -> dict[tuple[str, str, str], str]:
    """Return the reason of every mutant that was judged, by file and by what it says before and after."""
    found: dict[tuple[str, str, str], str] = {}
    for one in tomllib.loads(JUDGED.read_text(encoding="utf-8"))["mutant"]:
        found |= {(one["file"], one["before"], after): one["reason"] for after in one["after"]}
    return found


def judgement(mutant: Mutant) -> str:
    """Return why a mutant need not die; "" if nobody has judged it."""
    return judged().get((mutant.file, mutant.before, mutant.after), "")
