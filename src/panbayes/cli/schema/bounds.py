"""``panbayes schema bounds``: where the numbers or dates of a column lie, asked privately."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, LedgerFolder
from panbayes.cli.schema.officers import KeyFile, OfHolder, SignatureFile, Signing, StatementFile
from panbayes.cli.schema.proposing import (
    Again,
    Agreed,
    Blocks,
    ColumnName,
    DatasetName,
    Epsilon,
    MissingWords,
    Snippet,
    Terms,
    ask_dataset,
    blocks_of,
    epsilon_of,
    exact,
    missing_of,
    options_named,
)
from panbayes.cli.text import plural
from panbayes.consortium.holder.proposals.wish import Cells, Edges
from panbayes.errors import InputError
from panbayes.privacy.written import parse_number
from panbayes.schema.grids import calendar, decades, steps

__all__ = ["bounds"]

Low = Annotated[
    str | None,
    typer.Option("--low", metavar="VALUE", help="Where the public grid begins, a number or date.", show_default="none"),
]
High = Annotated[
    str | None, typer.Option("--high", metavar="VALUE", help="Where the public grid ends.", show_default="none")
]


def bounds(
    dataset: DatasetName,
    column: ColumnName,
    epsilon: Epsilon,
    low: Low = None,
    high: High = None,
    step: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="With --low and --high: how far apart edges are.", show_default="none"),
    ] = None,
    bins: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many bins to propose, about equally full.", min=1, max=100)
    ] = 5,
    quantiles: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBERS",
            help="With a step: below which edges these shares of the records lie, such as 0.1,0.5,0.9.",
            show_default="as many as make the bins equally full",
        ),
    ] = None,
    period: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="That the column holds dates, to be put together by year, quarter, month, week or day.",
            show_default="numbers",
        ),
    ] = None,
    date_format: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="How dates are written, beside ISO 8601.", show_default="none"),
    ] = None,
    missing_value: MissingWords = None,
    edition: Again = "",
    blocks: Blocks = None,
    output: Snippet = None,
    state: LedgerFolder = None,
    yes: Agreed = False,
    key: KeyFile = None,
    signature: SignatureFile = None,
    statement: StatementFile = None,
    config: OfHolder = None,
    as_json: AsJson = False,
) -> None:
    """Ask a declared dataset privately where the values of a column lie, and propose bins or dates.

    It is for columns of which nothing is publicly known; what is known costs nothing. The answer is charged to the
    dataset's account: the price is shown first, and nothing is computed before somebody agrees to it. Where
    a holder's officers decide about the account, they sign first: with --key here, or with --statement and --signature.

    Without --low, --high and --step, numbers are counted between 0 and 1, 2, 5 times every power of ten: rough bounds
    for those who know nothing. With them, edges are chosen from that grid so that bins are about equally full.

    Examples:
        panbayes schema bounds clinic age --epsilon 0.1 --yes
        panbayes schema bounds clinic age --epsilon 1 --low 0 --high 90 --step 5 --yes
    """
    with options_named():
        wish, asks = _wish(
            column,
            epsilon_of(epsilon),
            missing_of(missing_value),
            edition,
            blocks_of(blocks),
            Said(low, high, step, quantiles, period, date_format, bins),
        )
    ask_dataset(
        dataset, wish, Terms(state, output, yes, as_json, bins, Signing(key, signature, statement, config)), asks=asks
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody knows of a column, as the options say it."""

    low: str | None
    high: str | None
    step: str | None
    quantiles: str | None
    period: str | None
    date_format: str | None
    bins: int


def _wish(
    column: str, epsilon: Fraction, missing: tuple[str, ...], edition: str, blocks: tuple[str, ...], said: Said
) -> tuple[Cells | Edges, str]:
    """Return what is asked, and how to say it."""
    if said.period is not None:
        _check_absent("--period", {"--step": said.step, "--quantiles": said.quantiles})
        grid = calendar(column, said.period, low=said.low, high=said.high, form=said.date_format)
        asks = f"how many records have {column} in each {said.period} from {grid.between[0]} to {grid.between[1]}"
        return Cells(grid, epsilon, missing, edition, blocks), asks
    _check_absent("--period", {"--format": said.date_format})
    if said.low is not None and said.high is not None and said.step is not None:
        low, high, step = exact(said.low, "--low"), exact(said.high, "--high"), exact(said.step, "--step")
        grid = steps(column, low=low, high=high, step=step)
        shares = _shares(said.quantiles, said.bins)
        listed = ", ".join(f"{float(share):g}" for share in shares)
        asks = f"below which of {plural(grid.regular - 1, 'edge')} the shares {listed} of the records lie"
        return Edges(grid, shares, epsilon, missing, edition, blocks), asks
    given = {"--low": said.low, "--high": said.high, "--step": said.step, "--quantiles": said.quantiles}
    _check_absent("--low, --high and --step together", given)
    asks = f"how many records have {column} between 0 and 1, 2, 5 times each power of ten, with both signs"
    return Cells(decades(column), epsilon, missing, edition, blocks), asks


def _check_absent(wanted: str, given: Mapping[str, str | None]) -> None:
    """Refuse options that say nothing here."""
    for option, value in given.items():
        if value is not None:
            raise InputError(option, found="does not go with the others", remedy=f"give {wanted}, or leave it out")


def _shares(quantiles: str | None, bins: int) -> tuple[Fraction, ...]:
    """Return the shares that are asked for, in order."""
    if quantiles is None:
        if bins < 2:
            raise InputError("--bins", found="found 1, which needs no edges", remedy="give 2 or more")
        return tuple(Fraction(place, bins) for place in range(1, bins))
    texts = [text for text in quantiles.split(",") if text.strip()]
    return tuple(sorted(parse_number(text.strip(), argument="--quantiles") for text in texts))
