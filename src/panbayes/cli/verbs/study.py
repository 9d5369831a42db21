"""``panbayes study``: write the study file that holders agree on, or show what it asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, get_args

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command, new_group
from panbayes.cli.study_facts import asks, facts, round_trips
from panbayes.cli.study_file import study_text
from panbayes.cli.text import aligned, emit
from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError, nearest
from panbayes.files import write_text
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.written import parse_epsilon
from panbayes.schema.schema import Schema

__all__ = ["register"]

HELP = """Write the study file that holders agree on, or show what it asks.

Examples:
    panbayes study new study.toml --schema clinic.toml --epsilon 1
    panbayes study show study.toml
"""


def register(app: typer.Typer) -> None:
    """Add the group ``study``."""
    group = new_group(HELP)
    add_command(group, new)
    add_command(group, show)
    app.add_typer(group, name="study")


def new(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="The study file to write (TOML); it must not exist.")],
    schema: Annotated[Path, typer.Option(metavar="FILE", help="The schema file (TOML) that the holders share.")],
    epsilon: Annotated[str, typer.Option(metavar="NUMBER", help="ε for every holder's people, such as 1 or 0.5.")],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What the study is called.", show_default="the study file's name"),
    ] = None,
    strategy: Annotated[
        str, typer.Option(metavar="NAME", help="How it is learned; the file says what each strategy asks for.")
    ] = "adaptive",
    target: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The attribute that the model is to predict.", show_default="none"),
    ] = None,
    adjacency: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is protected: replace, or add-remove, which tables that change need.",
            show_default="replace; add-remove if the schema has features",
        ),
    ] = None,
    edition: Annotated[
        str | None,
        typer.Option(
            metavar="WORDS",
            help="Which state of tables that change it is about, such as 2026-11: others are another study.",
            show_default="the first",
        ),
    ] = None,
    blocks: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PERIOD",
            help="A block of people to learn about, such as 2026-Q4. Repeatable.",
            show_default="all",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write a study file with every key, what it means and its default.

    Read it, change what you like, and give the same file to every holder.

    Examples:
        panbayes study new study.toml --schema clinic.toml --epsilon 1
        panbayes study new strict.toml --schema clinic.toml --epsilon 0.1 \\
            --name "three clinics" --strategy noisy-majority-voting
        panbayes study new risk.toml --schema clinic.toml --epsilon 1 --target smoker
    """
    if study.exists():
        raise InputError("STUDY", found=f"{study} exists", remedy="give another name, or remove it first")
    tables = Schema.load(schema)
    agreed = Study(
        name or study.stem,
        tables,
        strategy,
        parse_epsilon(epsilon, argument="--epsilon"),
        target=target,
        adjacency=_adjacency(adjacency, tables),
        edition=edition,
        blocks=blocks or "all",
        source=str(study),
    )
    place = Path(os.path.relpath(schema, study.parent)).as_posix()
    write_text(study, study_text(agreed, schema=place), argument="STUDY")
    emit(
        {"study": str(study), "name": agreed.name, "strategy": agreed.strategy, "hash": agreed.hash},
        [
            f"{study}: {agreed.name}, to be learned by {agreed.strategy} from tables of {schema}.",
            "Read it, change what you like, then give the same file to every holder.",
        ],
        as_json=as_json,
    )


def _adjacency(text: str | None, schema: Schema) -> Adjacency:
    if text is None:
        # Where features choose a cohort, its size is about people.
        return "replace" if schema.features is None else "add-remove"
    known: tuple[Adjacency, ...] = get_args(Adjacency)
    for one in known:
        if one == text:
            return one
    raise InputError("--adjacency", found=f'found "{text}"', remedy=nearest(text, known))


def show(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")], as_json: AsJson = False
) -> None:
    """Show what a study asks of each holder, what it costs their people, and its hash.

    Touches no data and spends nothing. Parties that see the same hash have the same agreement.

    Examples:
        panbayes study show study.toml
    """
    agreed = Study.load(study)
    grant = agreed.grant if agreed.private else None
    emit(
        {
            "study": str(study),
            "hash": agreed.hash,
            "private": agreed.private,
            "grant": None if grant is None else grant.json(),
            "schema_status": agreed.schema.status,
            "round_trips": dict(zip(("any_number", "each_holder"), round_trips(agreed), strict=True)),
            "asks": [
                {
                    "kind": stage.kind,
                    "times": stage.times,
                    "most": stage.most,
                    "loss": None if stage.loss is None else stage.loss.json(),
                }
                for stage in (agreed.plan.stages if agreed.private else ())
            ],
            "content": agreed.canonical(),
        },
        [f"{study}: {agreed.name}.", *aligned(facts(agreed)), *asks(agreed)],
        as_json=as_json,
    )
