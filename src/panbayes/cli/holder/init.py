"""``panbayes holder init``: a holder's file with every key explained, and the holder's own key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.asking import ask, somebody_there
from panbayes.cli.holder.options import CONFIG, Config
from panbayes.cli.holder_file import holder_text
from panbayes.cli.text import emit
from panbayes.consortium.agent.configuration import HOLDER_FILE, HolderFile
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.post.folder import check_name
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.words import words_of
from panbayes.errors import InputError
from panbayes.files import check_output, write_text
from panbayes.privacy.losses import parse_loss
from panbayes.tables.sources.address import Address, is_address

__all__ = ["init"]

OFFICER: Final = "give --officer NAME=KEY for each who may approve"


def init(
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the holder is called.", show_default="asked for")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="DATA", help="The holder's table, a folder of them, or an address.", show_default="asked for"
        ),
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="What all studies together may ever spend: ε, such as 3, or rho=0.05.",
            show_default="asked for",
        ),
    ] = None,
    officer: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KEY",
            help="Who may approve studies: a name, and a .pub file or the line in it. Repeatable.",
            show_default="asked for",
        ),
    ] = None,
    analyst: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=KEY",
            help="Whose studies are looked at: a name, and a .pub file or the line in it. Repeatable.",
            show_default="none yet",
        ),
    ] = None,
    approvals: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many officers must sign: 1 or 2.", min=1, max=2)
    ] = 1,
    mailbox: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="The analyst's mailbox, such as https://post.example:8443.",
            show_default="letters come in a folder",
        ),
    ] = None,
    ca: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="With --mailbox: certificates that are trusted beside the system's.",
            show_default="the system's alone",
        ),
    ] = None,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Write a holder's file with every key explained, and make the holder's key.

    What is not given is asked for on a terminal. The cap is the holder's own limit on what all studies together may
    spend of its people's privacy; nothing is set up without one.

    Examples:
        panbayes holder init --name north --source north.csv --cap 3 \\
            --officer mary=mary.pub --analyst uni=uni.pub
    """
    if config.exists():
        raise InputError("--config", found=f"{config} is there already", remedy="edit it, or give another file")
    check_output(config, argument="--config")
    name = check_name(_given(name, "What is the holder called, such as north?", "--name"), argument="--name")
    source = _given(source, "Which file has its table, such as north.csv?", "--source")
    limit = parse_loss(
        _given(cap, "What may all studies together ever spend, as ε, such as 3?", "--cap").removeprefix("ε="),
        argument="--cap",
    )
    if ca is not None and mailbox is None:
        raise InputError("--ca", found="is given without --mailbox", remedy="give both, or neither")
    officers = _people(officer or _asked_officers(approvals), argument="--officer")
    analysts = _people(analyst or [], argument="--analyst")
    text = holder_text(
        name=name,
        key=f"{name}.key",
        cap=limit,
        source=_from(config.parent, source),
        officers=officers,
        analysts=analysts,
        approvals=approvals,
        mailbox=None if mailbox is None else {"url": mailbox} | ({} if ca is None else {"ca": ca}),
    )
    HOLDER_FILE.parse(text, source=str(config))
    secret = config.with_name(f"{name}.key")
    made = not secret.exists()
    if made:
        PrivateKey.generate().save(config.with_name(name), comment=name, argument="--name")
    write_text(config, text, argument="--config")
    holder = HolderFile.load(config)
    holder.ledger().close()  # From here on the account knows its officers.
    _tell(holder, secret, made=made, as_json=as_json)


def _from(folder: Path, source: str) -> str:
    """Return where a table is, seen from the holder's file."""
    if is_address(source):
        return str(Address.parse(source, argument="--source").within(Path.cwd()))
    return source if Path(source).is_absolute() else Path(os.path.relpath(source, folder)).as_posix()


def _given(value: str | None, question: str, argument: str) -> str:
    return ask(question, argument=argument, remedy=f"give {argument}") if value is None else value


def _asked_officers(number: int) -> list[str]:
    """Ask for as many officers as must sign."""
    if not somebody_there():
        raise InputError("--officer", found="is not given", remedy=OFFICER)
    found: list[str] = []
    for place in range(1, number + 1):
        which = f" {place} of {number}" if number > 1 else ""
        who = ask(
            f"What is the officer{which} called, who may approve studies?", argument="--officer", remedy="give one"
        )
        line = ask(f"Where is the public key of {who}, such as {who}.pub?", argument="--officer", remedy="give one")
        found.append(f"{who}={line}")
    return found


def _people(given: Sequence[str], *, argument: str) -> list[Person]:
    """Read NAME=KEY, where KEY is a ``.pub`` file or the line in it."""
    people: dict[str, Person] = {}
    for text in given:
        name, sign, key = text.partition("=")
        if not sign or not key.strip():
            raise InputError(argument, found=f'found "{text}"', remedy="give NAME=KEY, such as mary=mary.pub")
        check_name(name, argument=argument)
        public = (
            PublicKey.load(key, argument=argument)
            if key.endswith(".pub") and " " not in key.strip()
            else PublicKey.parse(key, argument=argument)
        )
        if name in people:
            raise InputError(argument, found=f'found "{name}" twice', remedy="give everybody once")
        people[name] = Person(name, public)
    return list(people.values())


def _tell(holder: HolderFile, secret: Path, *, made: bool, as_json: bool) -> None:
    words = words_of(holder.public)
    public = secret.with_suffix(".pub")
    emit(
        {
            "config": holder.file,
            "name": holder.name,
            "key": str(secret),
            "made": made,
            "line": holder.public.line,
            "fingerprint": holder.public.fingerprint,
            "words": words,
            "state": str(holder.state_folder),
        },
        [
            f"{holder.file}: who you are and whom you listen to. Read it, every key is explained there.",
            f"{secret}: your secret key{'' if made else ', which was there already'}. It stays on this computer.",
            f"{holder.state_folder}: your ledger and letters, for your eyes only.",
            f"  fingerprint  {holder.public.fingerprint}",
            f"  words        {words}",
            "Next:",
            f"  1. Send {public.name} to the analyst, and read the four words to them by phone.",
            *(
                []
                if holder.analysts
                else [f"  2. Put the analyst's key under [analysts] in {holder.file}, and compare its words as well."]
            ),
            f"  {2 if holder.analysts else 3}. When a study has come, read and sign it: panbayes holder pending.",
        ],
        as_json=as_json,
    )
