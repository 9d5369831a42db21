"""``panbayes stream check`` and ``panbayes stream move``, and the arguments that commands of streams share."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.kernels import announce_compiling
from panbayes.cli.text import HOLDER_ONLY, aligned, emit
from panbayes.stream.ids.feeding import stream_formats

__all__ = ["Column", "Form", "Source", "State", "check", "move"]

FORMATS: Final = ", ".join(stream_formats())
Form = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="NAME",
        help=f"One of {FORMATS}; text has one id a line.",
        show_default="what the file's name says, text for standard input",
    ),
]
Source = Annotated[str, typer.Argument(metavar="FILE", help="The stream; - is standard input.")]
Column = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column or field with the id; for csv also its number from 1."),
]
State = Annotated[Path, typer.Argument(metavar="STATE", help="The state file, as open makes it.")]


def check(
    source: Source,
    universe: Annotated[str, typer.Option(metavar="USERS", help="Who could appear, as for open.")],
    form: Form = None,
    column: Column = None,
    where: Annotated[
        list[str] | None, typer.Option(metavar="CONDITION", help="Which events would count, as for open.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Count the rows of a file whose ids would count: for the owner of the data.

    Touches no state. What it prints is not private.

    Examples:
        panbayes stream check visits.csv --column user --universe 100000
        panbayes stream check visits.csv --column user --universe hashed \\
            --where country=DE
    """
    from panbayes.stream.ids.checking import check_stream
    from panbayes.stream.ids.universes.registry import read_universe
    from panbayes.stream.ids.where import describe, parse_where

    announce_compiling()
    conditions = parse_where(where or [])
    found = check_stream(read_universe(universe, sample=None), source, form=form, column=column, where=conditions)
    filtered = [("left out", f"{found.left_out:,}", f"it is not so that {describe(conditions)}")] if conditions else []
    emit(
        asdict(found),
        [
            f"{HOLDER_ONLY}: exact numbers, not private.",
            *aligned(
                [
                    ("rows", f"{found.rows:,}", ""),
                    *filtered,
                    ("would count", f"{found.counted:,}", "their id is in the universe"),
                    ("ignored", f"{found.outside:,}", "their id is not"),
                    ("without an id", f"{found.missing:,}", "empty, missing or unreadable"),
                ]
            ),
        ],
        as_json=as_json,
    )


def move(
    state: State,
    new: Annotated[Path, typer.Argument(metavar="NEW", help="Where it goes; it must not exist.")],
    as_json: AsJson = False,
) -> None:
    """Move a state to another file, also on another file system.

    A copy is refused wherever it is used; a state that was moved can be used in its new place only. Run again, the same
    command finishes a move that was cut short.

    Examples:
        panbayes stream move visits.state elsewhere.state
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.state.move import move_state

    move_state(state, new)
    emit(
        {"state": str(new), "moved_from": str(state)},
        [f"{new}: moved here from {state}, which can no longer be used."],
        as_json=as_json,
    )
