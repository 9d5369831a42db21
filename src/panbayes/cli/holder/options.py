"""What the verbs of a holder take in common."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.studies import Arrived, Studies
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.signatures import MAX_SIGNATURE_BYTES
from panbayes.errors import InputError

__all__ = ["CONFIG", "By", "Config", "House", "Reason", "StudyName", "author", "house", "read_signature"]

CONFIG: Final = Path("holder.toml")

Config: TypeAlias = Annotated[
    Path,
    typer.Option("--config", metavar="FILE", help="The holder's file, as panbayes holder init writes it."),
]

StudyName: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="STUDY",
        help="The study: its name or how its hash begins, as panbayes holder pending shows them; or a letter's file.",
    ),
]

Reason: TypeAlias = Annotated[
    str, typer.Option("--reason", metavar="WORDS", help="Why, in a line for the ledger.", show_default="none")
]

By: TypeAlias = Annotated[
    str | None,
    typer.Option("--by", metavar="NAME", help="Who decides, for the ledger.", show_default="the user's name"),
]


@dataclass(frozen=True, slots=True)
class House:
    """A holder's file, its ledger and the studies that have arrived."""

    holder: HolderFile
    ledger: Ledger
    studies: Studies

    def find(self, study: str) -> Arrived:
        """Return the study that is meant."""
        return self.studies.find(study)


@contextmanager
def house(config: Path) -> Iterator[House]:
    """Open everything that a holder's file names."""
    if not config.exists():
        raise InputError(
            "--config", found=f"{config} is not there", remedy="give the holder's file, or run panbayes holder init"
        )
    holder = HolderFile.load(config)
    with holder.ledger() as ledger:
        yield House(holder, ledger, Studies(holder))


def author(given: str | None) -> str:
    """Return who decides: who says so, or the user of this computer."""
    if given is not None:
        return given
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def read_signature(path: Path) -> str:
    """Read the file of --signature."""
    try:
        with path.open("rb") as file:
            return file.read(MAX_SIGNATURE_BYTES + 1).decode(errors="replace")
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(
            "--signature", found=f"{path} cannot be read ({reason})", remedy="give what ssh-keygen -Y sign wrote"
        ) from None
