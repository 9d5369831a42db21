"""Ledgers that belong to a holder's file: what that file says of them holds, and is changed there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from panbayes.cli.holder.options import CONFIG
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.errors import InputError

__all__ = ["is_owned", "owner_of", "refuse_cap", "refuse_resume"]

_CAP: Final = re.compile(r"\s*cap\s*=")


def is_owned(ledger: Path) -> bool:
    """Tell whether a ledger lies in the state of a holder's file, by what else lies there."""
    return Cabinet(Path(os.path.realpath(ledger)).parent).owned


def owner_of(ledger: Path, config: Path | None) -> HolderFile | None:
    """Return the holder's file whose officers decide about a ledger, None where none does; ``config`` names it."""
    if not is_owned(ledger):
        if config is not None:
            raise InputError(
                "--config", found=f"is given, and {ledger} belongs to no holder's file", remedy="leave it out"
            )
        return None
    file = _file_of(ledger) if config is None else config
    if file is None:
        raise InputError(
            "--config",
            found=f"is not given, and the officers of a holder's file decide about {ledger}",
            remedy="give that file",
        )
    holder = HolderFile.load(file)
    if not _has(holder, ledger):
        raise InputError(
            "--config", found=f"{file} has another ledger than {ledger}", remedy="give the file that has it"
        )
    return holder


def refuse_cap(ledger: Path) -> None:
    """Refuse to set the cap of a ledger that has its cap from a holder's file, and say where that stands."""
    if not is_owned(ledger):
        return
    file = _file_of(ledger)
    where = "the holder's file that has this folder as its state" if file is None else f"{file}, line {_line(file)}"
    raise InputError(
        "EPSILON",
        found=f"the cap of {ledger} is what its holder's file says, and would be so again with the next answer",
        remedy=f"change cap in {where}; an agent that runs takes it over at once",
    )


def refuse_resume(ledger: Path, study: str) -> None:
    """Refuse to let a study go on that officers decide about, and say how they do."""
    if not is_owned(ledger):
        return
    file = _file_of(ledger)
    option = "" if file is None or file == CONFIG else f" --config {file}"
    raise InputError(
        "LEDGER",
        found=f"{ledger} belongs to a holder's file, and its officers decide what goes on",
        remedy=f"run: panbayes holder resume {study}{option}",
    )


def _file_of(ledger: Path) -> Path | None:
    """Return the holder's file that has this ledger, if it lies where one usually does: here, or beside its state."""
    for path in (CONFIG, ledger.parent.parent.parent / CONFIG.name):
        try:
            if _has(HolderFile.load(path), ledger):
                return path
        except InputError:
            continue
    return None


def _has(holder: HolderFile, ledger: Path) -> bool:
    return holder.cabinet.path(holder.name).absolute().resolve() == ledger.absolute().resolve()


def _line(file: Path) -> int:
    """Return the line of a holder's file that says its cap."""
    lines = file.read_text(errors="replace").splitlines()
    return next((number for number, line in enumerate(lines, 1) if _CAP.match(line)), 1)
