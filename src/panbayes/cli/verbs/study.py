"""``panbayes study``: write the study file that holders agree on, or show what it asks."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command, new_group
from panbayes.cli.study_file import chosen_keys, study_text
from panbayes.cli.text import aligned, emit, plural
from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.files import write_text
from panbayes.privacy.statement import neighbours, show_pair
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
    agreed = Study(
        name or study.stem,
        Schema.load(schema),
        strategy,
        parse_epsilon(epsilon, argument="--epsilon"),
        target=target,
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
            "round_trips": dict(zip(("any_number", "each_holder"), _round_trips(agreed), strict=True)),
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
        [f"{study}: {agreed.name}.", *aligned(_facts(agreed)), *_asks(agreed)],
        as_json=as_json,
    )


def _facts(study: Study) -> list[tuple[str, str]]:
    schema, unit = study.schema, study.schema.unit
    cost = f"{_promise(study)} for every person, of each holder that takes part" if study.private else "NOT PRIVATE"
    if unit is not None:
        cost += f"; a person has at most {plural(unit.max_records, 'record')}"
    chosen = ", ".join(f"{key} = {value}" for key, value in chosen_keys(study).items() if key != "epsilon")
    return [
        *study.about.given.items(),
        ("strategy", f"{study.strategy}: {study.how.summary}"),
        ("costs", cost),
        ("protects", neighbours(study.adjacency, unit="person" if unit else "record")),
        *([("waits for", _waits(study))] if study.private else []),
        *([("if one is missing", study.when_missing)] if study.private and study.missing != "wait" else []),
        ("schema", f"{schema.name} ({schema.status}), {plural(len(schema), 'attribute')}"),
        *([("chosen", chosen)] if chosen else []),
        ("hash", study.hash),
    ]


def _round_trips(study: Study) -> tuple[int, int]:
    """Return how often holders are waited for at most: whatever their number, and more for every one of them."""
    if not study.private:
        return 0, 0
    one, two = study.plan.round_trips(1), study.plan.round_trips(2)
    return 2 * one - two, two - one


def _waits(study: Study) -> str:
    common, each = _round_trips(study)
    if not each:
        return f"at most {plural(common, 'round trip')}, whatever the number of holders"
    return f"at most {plural(common, 'round trip')}, and {each} more for every holder, which choose in turns"


def _promise(study: Study) -> str:
    if not study.delta or study.epsilon is None:
        return str(study.grant)
    return f"{show_pair(study.epsilon, study.delta)}, through {study.grant},"


def _asks(study: Study) -> list[str]:
    """Say what each holder is asked for, from the study's plan."""
    if not study.private:
        return []
    rows = [("times at most", "asks each holder for", "each at most", "at")]
    for stage in study.plan.stages:
        loss = f"any part of {study.grant}, all together" if stage.loss is None else f"{stage.loss} each time"
        rows.append((str(stage.times), stage.words, stage.most, loss))
    return aligned(rows)
