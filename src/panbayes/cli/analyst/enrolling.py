"""``panbayes analyst enroll`` and ``panbayes analyst roster``: whose key is whose."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.text import aligned, emit
from panbayes.consortium.desk.roster import Enrolled, Roster
from panbayes.consortium.post.keys import PLAIN, TOUCHED, PrivateKey, PublicKey
from panbayes.consortium.post.words import words_of
from panbayes.errors import InputError

__all__ = ["KeyFile", "RosterFile", "enroll", "roster"]

RosterFile: TypeAlias = Annotated[
    Path, typer.Option("--roster", metavar="FILE", help="The keys of the holders; enroll makes it.")
]
KeyFile: TypeAlias = Annotated[
    Path, typer.Option("--key", metavar="FILE", help="Your private key, as panbayes keygen analyst makes it.")
]


def enroll(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the holder is called, such as north.")],
    key: Annotated[
        str,
        typer.Argument(metavar="KEY", help='Its public key: a .pub file, or the line "ssh-ed25519 AAAA…" in quotes.'),
    ],
    roster: RosterFile = Path("roster"),
    own: KeyFile = Path("analyst.key"),
    replace: Annotated[
        bool, typer.Option("--replace", help="The holder has a new key: the old one is good no more from now on.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Enroll a holder: its answers are taken if they are signed with this key.

    Compare the four words with the holder by phone, at a number that you know from elsewhere: a key that came by mail
    may be somebody else's. A key that is replaced stays on file, so that what it signed before can be checked.

    Examples:
        panbayes analyst enroll north north.pub
        panbayes analyst enroll north new.pub --replace
    """
    public = _public(key)
    if own.exists() and PrivateKey.load(own, argument="--key").public == public:
        raise InputError("KEY", found="is your own", remedy="give the holder's")
    moment = datetime.now(UTC)
    before = Roster.load(roster, may_be_absent=True)
    after = before.enroll(name, public, moment=moment, instead=replace)
    if after is not before:
        after.save(roster)
    replaced = len([one for one in before.of(name) if one.valid(moment)]) == 1 and after is not before
    what = "was enrolled before" if after is before else "is enrolled with a new key" if replaced else "is enrolled"
    lines = [f"{roster}: {name} {what}, {public.fingerprint}.", f"Compare by phone: {words_of(public)}"]
    if replaced:
        lines.append(
            "Studies that were proposed to the old key go no further: give them another name and propose them anew."
        )
    data = {"roster": str(roster), "name": name, "fingerprint": public.fingerprint, "words": words_of(public)}
    emit({**data, "replaced": replaced}, lines, as_json=as_json)


def roster(
    roster: RosterFile = Path("roster"),
    words: Annotated[
        bool, typer.Option("--words", help="Also the four words of every key, to compare by phone; takes a moment.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the holders that are enrolled, and their keys.

    Examples:
        panbayes analyst roster
        panbayes analyst roster --words
    """
    moment = datetime.now(UTC)
    found = sorted(Roster.load(roster).enrolled, key=lambda one: one.name)
    rows = [("holder", "key", "valid", *(["words"] if words else []))]
    data: list[dict[str, object]] = []
    for one in found:
        spoken = [words_of(one.key)] if words else []
        rows.append((one.name, one.key.fingerprint, _validity(one, moment), *spoken))
        data.append(
            {
                "name": one.name,
                "fingerprint": one.key.fingerprint,
                "key": one.key.line,
                "valid": one.valid(moment),
                "after": None if one.after is None else one.after.isoformat(),
                "before": None if one.before is None else one.before.isoformat(),
                **({"words": spoken[0]} if words else {}),
            }
        )
    emit(data, aligned(rows) if found else [f"{roster}: nobody is enrolled."], as_json=as_json)


def _validity(one: Enrolled, moment: datetime) -> str:
    if one.before is not None and moment >= one.before:
        return f"until {one.before:%Y-%m-%d %H:%M} UTC, no more"
    if one.after is not None and moment < one.after:
        return f"from {one.after:%Y-%m-%d %H:%M} UTC"
    return "yes" if one.before is None else f"until {one.before:%Y-%m-%d %H:%M} UTC"


def _public(text: str) -> PublicKey:
    """Read a key that was given as a line, or as a file."""
    line = text.lstrip().startswith((f"{PLAIN} ", f"{TOUCHED} "))
    return PublicKey.parse(text, argument="KEY") if line else PublicKey.load(text, argument="KEY")
