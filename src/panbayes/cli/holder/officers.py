"""``panbayes holder officers``: who decides about a holder's account, and how they hand over."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.holder.options import CONFIG, Config, read_signature
from panbayes.cli.text import emit
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import change_officers, officers_statement
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.signatures import sign
from panbayes.errors import InputError
from panbayes.files import write_text

__all__ = ["officers"]


def officers(
    key: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="The secret key of an officer who decides now. Repeatable."),
    ] = None,
    signature: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="A signature of the statement by one of them, made elsewhere. Repeatable."),
    ] = None,
    statement: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the statement that they sign, and stop.")
    ] = None,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Let the officers of the holder's file decide from now on, by the signatures of those who decide now.

    The holder's account remembers who decides about it. To take an officer out, or to require a second signature, edit
    the holder's file: that holds at once. To let somebody in, or to require one signature less, edit it, and have as
    many officers as must sign until now sign the change here, all in one call. Have a key that was lost signed away as
    well: until then the account still knows it, and another file could name it.

    Examples:
        panbayes holder officers --statement officers.txt
        panbayes holder officers --key mary.key
    """
    if statement is not None and (key or signature):
        raise InputError("--statement", found="is given beside signatures", remedy="give one of them")
    holder = HolderFile.load(config)
    with holder.account() as ledger:
        wanted = officers_statement(holder, ledger)
        if wanted is None:
            done = [f"The officers of {holder.file} decide about its account: there is nothing to sign."]
        elif statement is not None:
            write_text(statement, wanted, argument="--statement")
            done = [
                f"{statement}: the statement. Each officer who decides now signs it:",
                f"  ssh-keygen -Y sign -n panbayes-approval -f KEY {statement}",
                f"  panbayes holder officers --signature {statement}.sig",
            ]
        else:
            change_officers(holder, ledger, _signatures(wanted, key or (), signature or ()), argument="--signature")
            done = [f"From now on the officers of {holder.file} decide about its account."]
    emit(
        {"config": holder.file, "officers": [one.name for one in holder.officers], "statement": wanted},
        done,
        as_json=as_json,
    )


def _signatures(statement: str, keys: Sequence[Path], signatures: Sequence[Path]) -> tuple[str, ...]:
    if not keys and not signatures:
        raise InputError(
            "--key",
            found="is not given, and other officers decide about the account than those of the holder's file",
            remedy="give --key or --signature of those who do, or --statement FILE to sign it elsewhere",
        )
    made = [sign(PrivateKey.load(file, argument="--key"), "panbayes-approval", statement.encode()) for file in keys]
    return (*made, *map(read_signature, signatures))
