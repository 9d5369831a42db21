"""``panbayes holder log``: what happened at the gate, and who decided what."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.holder.options import CONFIG, Config, house
from panbayes.cli.ledger_log import Log
from panbayes.cli.text import emit, emit_exactly
from panbayes.errors import InputError

__all__ = ["log"]


def log(
    since: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="The first day to show (UTC), such as 2026-11-01.", show_default="all of it"),
    ] = None,
    csv: Annotated[bool, typer.Option("--csv", help="Print a table for a spreadsheet.")] = False,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show what happened at the gate: who asked, what left, what was decided.

    For the holder's eyes: times and decisions never leave. Whoever is a stranger here is only counted, day by day.

    Examples:
        panbayes holder log
        panbayes holder log --since 2026-11-01 --csv
    """
    if csv and as_json:
        raise InputError("--csv", found="is given with --json", remedy="give one of the two")
    first = _day(since)
    with house(config) as opened:
        people = {person.key.fingerprint: person.name for person in opened.holder.analysts}
        people |= {person.key.line: person.name for person in opened.holder.officers}
        studies = {one.proposed.study.hash: one.proposed.study.name for one in opened.studies.all()}
        found = Log.of(opened.ledger, studies=studies, people=people)
    shown = replace(
        found,
        events=tuple(event for event in found.events if event.time[:10] >= first),
        strangers=tuple(one for one in found.strangers if one.day >= first),
    )
    if csv:
        emit_exactly(shown.csv())
    else:
        emit(shown.json(), shown.lines(), as_json=as_json)


def _day(text: str | None) -> str:
    if text is None:
        return ""
    try:
        return dt.date.fromisoformat(text).isoformat()
    except ValueError:
        raise InputError("--since", found=f'found "{text}"', remedy="give a day such as 2026-11-01") from None
