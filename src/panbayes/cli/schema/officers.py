"""Officers and private proposals: where a holder's file says who decides, they sign before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from panbayes.cli.holder.options import read_signature
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.own_questions import approve_own, officers_for_own, own_statement
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.proposal import Proposal
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.signatures import sign
from panbayes.errors import InputError
from panbayes.files import write_text

__all__ = [
    "KeyFile",
    "OfHolder",
    "SignatureFile",
    "Signing",
    "StatementFile",
    "sign_own",
    "waiting_for",
    "write_statement",
]

KeyFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--key",
        metavar="FILE",
        help="Where officers decide about the account: the secret key of one, to sign with.",
        show_default="none",
    ),
]
SignatureFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--signature",
        metavar="FILE",
        help="An officer's signature of the statement, made elsewhere.",
        show_default="none",
    ),
]
StatementFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--statement", metavar="FILE", help="Write the statement that officers sign, and stop.", show_default="none"
    ),
]
OfHolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The holder's file that the account belongs to.",
        show_default="holder.toml, if it is that one's",
    ),
]


@dataclass(frozen=True, slots=True)
class Signing:
    """What officers gave: at most one of a key, a signature and where to write the statement."""

    key: Path | None = None
    signature: Path | None = None
    statement: Path | None = None
    config: Path | None = None

    def __post_init__(self) -> None:
        """Check that one is given at most."""
        if len(self.options) > 1:
            raise InputError(
                "--key, --signature, --statement", found="more than one is given", remedy="give one of them"
            )

    @property
    def options(self) -> list[str]:
        """The options of those that are given."""
        given = {"--key": self.key, "--signature": self.signature, "--statement": self.statement}
        return [option for option, value in given.items() if value is not None]


def sign_own(holder: HolderFile, ledger: Ledger, asked: Proposal, given: Signing) -> None:
    """Write down that an officer has signed, if one has; nothing is computed here."""
    if given.key is not None:
        private = PrivateKey.load(given.key, argument="--key")
        signature = sign(private, "panbayes-approval", own_statement(holder, asked).encode())
        approve_own(holder, asked, ledger, signature, argument="--key")
    elif given.signature is not None:
        approve_own(holder, asked, ledger, read_signature(given.signature), argument="--signature")


def waiting_for(holder: HolderFile, ledger: Ledger, asked: Proposal) -> str | None:
    """Say how many officers have yet to sign; None if enough have."""
    signed = len(officers_for_own(holder, asked, ledger))
    if signed >= holder.approvals:
        return None
    return f"{signed} of {holder.approvals} officers of {holder.file} have signed; before, nothing is computed"


def write_statement(holder: HolderFile, asked: Proposal, path: Path) -> list[str]:
    """Write what officers sign; return what to do with it."""
    write_text(path, own_statement(holder, asked), argument="--statement")
    return [
        f"{path}: the statement. To sign it elsewhere:",
        f"  ssh-keygen -Y sign -n panbayes-approval -f KEY {path}",
        f"Then run this command again, with --signature {path}.sig in the place of --statement.",
    ]
