"""``panbayes holder pending``: which studies wait for a decision, and how the others stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.holder.options import CONFIG, Config, House, house
from panbayes.cli.text import aligned, complain, emit
from panbayes.consortium.agent.arriving import import_studies
from panbayes.consortium.agent.decisions import Position, position_of
from panbayes.consortium.agent.studies import Arrived
from panbayes.consortium.post.folder import Folder

__all__ = ["pending"]


def pending(
    post: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of letters to look into first."),
    ] = None,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show which studies wait for a decision, and how the others stand.

    A study is shown when its letter has come and an analyst of the holder's file has signed it.

    Examples:
        panbayes holder pending --post post
        panbayes holder pending --json
    """
    with house(config) as opened:
        if post is not None:
            found = import_studies(Folder.at(post, argument="--post"), opened.holder)
            if found.passed:
                complain(*(f"note: passed over {line}" for line in found.passed))
        known = [(one, position_of(one.proposed, opened.holder, opened.ledger)) for one in opened.studies.all()]
    emit([_facts(*one) for one in known], _lines(opened, known), as_json=as_json)


def _facts(arrived: Arrived, position: Position) -> dict[str, object]:
    proposed = arrived.proposed
    until = proposed.study.about.until
    return {
        "name": proposed.study.name,
        "study": proposed.study.hash,
        "letter": proposed.letter.digest,
        "analyst": proposed.analyst.name,
        "fingerprint": proposed.analyst.key.fingerprint,
        "grant": proposed.study.grant.json(),
        "until": None if until is None else until.isoformat(),
        "arrived": arrived.time.isoformat(timespec="seconds"),
        "stands": position.word,
        "signed": [officer.name for officer in position.signed],
        "required": position.required,
    }


def _lines(opened: House, known: list[tuple[Arrived, Position]]) -> list[str]:
    if not known:
        return [
            f"{opened.holder.file}: no study has arrived.",
            "Letters come with panbayes holder serve, with panbayes holder answer DIR, or here with --post DIR.",
        ]
    rows = [("study", "hash", "analyst", "may spend", "arrived", "stands", "signed by")]
    for arrived, position in known:
        proposed = arrived.proposed
        names = ", ".join(officer.name for officer in position.signed)
        many = f"{len(position.signed)} of {position.required}"
        rows.append(
            (
                proposed.study.name,
                proposed.study.hash[:12],
                proposed.analyst.name,
                proposed.study.grant.plain(),
                f"{arrived.time:%Y-%m-%d %H:%MZ}",
                position.word,
                f"{many}: {names}" if names else many,
            )
        )
    waiting = sum(position.word == "waiting" for _, position in known)
    lines = [f"{opened.holder.file}: {_waits(waiting)}.", *aligned(rows)]
    remedy = ["Read what one asks, then sign or decline: panbayes holder approve STUDY"] if waiting else []
    return [*lines, *remedy]


def _waits(number: int) -> str:
    if not number:
        return "no study waits for a decision"
    return f"{number:,} {'study waits' if number == 1 else 'studies wait'} for a decision"
