"""``panbayes omop``: features of people in an OMOP database, their schema, and the SELECT that makes their records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson, data_file, input_paths
from panbayes.cli.feature_facts import cohort_lines, feature_rows
from panbayes.cli.help import add_command, new_group
from panbayes.cli.text import aligned, emit, emit_exactly, plural
from panbayes.errors import InputError
from panbayes.files import write_text
from panbayes.schema.omop.features import Features, dump_features
from panbayes.schema.schema import dump_schema

__all__ = ["register"]

HELP = """Describe people in an OMOP database by public features, and write their schema.

A feature file says who is learned about and what is known of each, in concepts that are public. It becomes one SELECT
with a row a person, which a holder's database answers, and one schema, which a study names.

Examples:
    panbayes omop schema features.toml -o people.toml
    panbayes omop show features.toml
"""

DIALECTS: Final = ("duckdb", "postgres")

FeatureFile = Annotated[Path, typer.Argument(metavar="FEATURES", help="A feature file (TOML).")]


def register(app: typer.Typer) -> None:
    """Add the group ``omop``."""
    group = new_group(HELP)
    add_command(group, schema)
    add_command(group, show)
    add_command(group, expand)
    app.add_typer(group, name="omop")


def schema(
    features: FeatureFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The schema file to write (TOML); it must not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write the schema of the records that features make.

    It follows from the feature file alone, and no data is looked at. Its status is that of the feature file.

    Examples:
        panbayes omop schema features.toml -o people.toml
    """
    _check_new(output)
    found = Features.load(features)
    header = [f"The records that {features.name} makes of an OMOP database. Written from that file alone."]
    write_text(output, dump_schema(found.schema, header=header), inputs=(features,))
    emit(
        {
            "schema": str(output),
            "status": found.status,
            "attributes": len(found.schema),
            "features": found.hash,
            "hash": found.schema.hash,
        },
        [
            f"{output}: {found.status}, {plural(len(found.schema), 'attribute')}, from {features} alone.",
            *(
                [f'Approve the features, and write it again: set status = "approved" in {features}.']
                if found.status == "draft"
                else []
            ),
        ],
        as_json=as_json,
    )


def show(
    features: FeatureFile,
    sql: Annotated[
        str | None,
        typer.Option(
            metavar="DIALECT",
            help=f"Print the SELECT that makes the records, in a dialect: {', '.join(DIALECTS)}.",
            show_default="the features in words",
        ),
    ] = None,
    cdm_schema: Annotated[
        str, typer.Option("--schema", metavar="NAME", help="With --sql: where the tables of the data model lie.")
    ] = "cdm",
    as_json: AsJson = False,
) -> None:
    """Show who is learned about and what is known of each, or the SELECT that makes the records.

    Touches no data. Parties that see the same hash have the same features.

    Examples:
        panbayes omop show features.toml
        panbayes omop show features.toml --sql postgres --schema cdm
    """
    found = Features.load(features)
    if sql is not None:
        text = _select(found, sql, cdm_schema)
        if as_json:
            emit({"features": str(features), "dialect": sql, "sql": text}, [], as_json=True)
        else:
            emit_exactly(f"{text}\n")
        return
    emit(
        {
            "features": str(features),
            "name": found.name,
            "status": found.status,
            "hash": found.hash,
            "attributes": [feature.name for feature in found.features],
            "concept_sets": {one.name: list(one.ids) for one in found.concept_sets},
        },
        [
            f"{features}: {found.name}, {found.status}.",
            *cohort_lines(found.cohort),
            *aligned([("attribute", "what it tells"), *feature_rows(found)]),
            f"Hash: {found.hash}",
        ],
        as_json=as_json,
    )


def expand(
    features: FeatureFile,
    vocabulary: Annotated[
        str,
        typer.Option(
            metavar="TABLE",
            help="The table concept_ancestor of a public vocabulary, such as CONCEPT_ANCESTOR.csv: a file or an "
            "address.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The feature file to write; it must not exist.")
    ],
    as_json: AsJson = False,
) -> None:
    """Write out the concept sets that have descendants = true, so that they mean the same everywhere.

    The vocabulary must be a public one, as anybody can download it. A site's own copy may hold what is in its records
    alone: then the lists would tell which concepts occur there. So the file that is written is a draft, whatever the
    features were, until a person has read the lists.

    Examples:
        panbayes omop expand features.toml -o listed.toml \\
            --vocabulary CONCEPT_ANCESTOR.csv
    """
    from panbayes.tables.omop.vocabulary import expanded

    _check_new(output)
    before = Features.load(features)
    table = data_file(vocabulary, argument="--vocabulary")
    after = expanded(before, table, argument="--vocabulary")
    written = [
        f"{old.name}: {plural(len(new.ids), 'concept')}, from {', '.join(map(str, old.ids[:8]))}"
        + (" …" if len(old.ids) > 8 else "")
        for old, new in zip(before.concept_sets, after.concept_sets, strict=True)
        if old.descendants
    ]
    header = [
        f"Concept sets of {features.name}, written out by {Path(str(table)).name}:",
        *(f"  {line}" for line in written),
        'See that the vocabulary is a public one, and read the lists; then set status = "approved".',
    ]
    write_text(output, dump_features(after, header=header if written else ()), inputs=[features, *input_paths([table])])
    emit(
        {"features": str(output), "status": after.status, "written_out": written, "hash": after.hash},
        [
            f"{output}: {plural(len(written), 'concept set')} written out, {after.status}.",
            *(f"  {line}" for line in written),
            *(['Read the lists, then set status = "approved".'] if after.status == "draft" else []),
        ],
        as_json=as_json,
    )


def _check_new(output: Path) -> None:
    if output.exists():
        raise InputError("--output", found=f"{output} exists", remedy="give another name, or remove it first")


def _select(features: Features, dialect: str, cdm_schema: str) -> str:
    if dialect not in DIALECTS:
        raise InputError("--sql", found=f'found "{dialect}"', remedy=f"give one of: {', '.join(DIALECTS)}")
    try:
        from panbayes.tables.omop.select import one_row_a_person
    except ModuleNotFoundError as error:
        raise InputError(
            "--sql", found=f"{error.name} is not installed", remedy="run: pip install 'panbayes[databases]'"
        ) from None
    return one_row_a_person(features, schema=cdm_schema).sql(dialect, pretty=True)
