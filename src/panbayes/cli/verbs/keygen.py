"""``panbayes keygen``: a key of one's own, in the files that OpenSSH uses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command
from panbayes.cli.text import emit
from panbayes.consortium.post.folder import check_name
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.words import words_of

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``keygen``."""
    add_command(app, keygen)


def keygen(
    name: Annotated[
        Path, typer.Argument(metavar="NAME", help="What the files are called: NAME.key and NAME.pub are written.")
    ],
    as_json: AsJson = False,
) -> None:
    """Make a key that signs letters between institutions.

    Analysts, holders and officers each have one of their own. NAME.key is secret and never leaves its owner; NAME.pub
    is for the others, who compare four words with you by phone. Both are files of OpenSSH (Ed25519): ssh-keygen reads
    them, and keys that it made are taken as well, also those in a hardware key.

    Examples:
        panbayes keygen mary
        panbayes keygen uni
    """
    check_name(name.name, argument="NAME")
    key = PrivateKey.generate()
    secret, public = key.save(name, comment=name.name, argument="NAME")
    words = words_of(key.public)
    emit(
        {
            "key": str(secret),
            "public_key": str(public),
            "line": key.public.line,
            "fingerprint": key.public.fingerprint,
            "words": words,
        },
        [
            f"{secret}: your secret key. Nobody else may read it; keep a copy where only you can get it.",
            f"{public}: your public key. Send it to those you work with.",
            f"  fingerprint  {key.public.fingerprint}",
            f"  words        {words}",
            "Read the four words to them by phone: whoever put another key in its place has other words.",
        ],
        as_json=as_json,
    )
