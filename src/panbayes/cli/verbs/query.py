"""``panbayes query``: posterior probabilities, answered by a model."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.questions import Evidence
from panbayes.bayesnet.results import INTERVAL, Expectation, Posterior
from panbayes.bayesnet.uncertainty.intervals import LEVEL
from panbayes.cli.arguments import AsJson, ModelFile
from panbayes.cli.help import add_command
from panbayes.cli.models import is_private
from panbayes.cli.question import parse_question
from panbayes.cli.text import aligned, emit

__all__ = ["register"]

MOST_ROWS: Final = 40


def register(app: typer.Typer) -> None:
    """Add the command ``query``."""
    add_command(app, query)


def query(
    model: ModelFile,
    question: Annotated[
        str,
        typer.Argument(
            metavar="QUESTION",
            help="What is asked for, a bar, and what is given; names and values with commas or spaces at their ends "
            "stand in double quotes.",
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Ask a model for the probability of attributes, given others, and how wrong it may be.

    The true probability of the population lies in nine of ten 90 % intervals. They allow for the noise, for the chance
    in the records and for dependence that was not measured. Of a numeric attribute the mean is told too; bins count as
    their middle. Models of some strategies and of BIF files know no error, and say so.

    Examples:
        panbayes query model.json readmitted
        panbayes query model.json 'readmitted, sex | insulin=Up, a1c=">8"'
    """
    network = Network.load(model)
    targets, evidence = parse_question(question)
    posterior = network.posterior(targets, evidence)
    places = [(network.schema.attributes[place], code) for place, code in network.evidence(evidence).items()]
    counted = {attribute.name: attribute.labels[code] for attribute, code in places}
    rows = posterior.rows()
    intervals = posterior.interval_texts()
    mean = _mean(network, posterior, evidence)
    data = {
        "targets": list(targets),
        "given": evidence,
        "counted": counted,
        "private": is_private(network),
        "posterior": _json_rows(posterior),
        "expectation": None if mean is None else _json_mean(mean),
        "interval": LEVEL if intervals else None,
        "remarks": list(posterior.remarks),
    }
    columns = [(*labels, f"{p:.4f}") for labels, p in rows]
    if intervals:
        columns = [(*row, interval) for row, interval in zip(columns, intervals, strict=True)]
    order = sorted(range(len(rows)), key=lambda place: -rows[place][1])[:MOST_ROWS]
    shown = [columns[place] for place in order] if len(rows) > MOST_ROWS else columns
    table = aligned([(*targets, "probability", *([INTERVAL] if intervals else [])), *shown])
    given = ", ".join(
        f"{name} = {value}" + ("" if str(value) == counted[name] else f", counted as {counted[name]}")
        for name, value in evidence.items()
    )
    heading = f"{', '.join(targets)} given {given}:" if given else f"{', '.join(targets)}:"
    more = [f"  and {len(rows) - MOST_ROWS:,} less probable (all of them with --json)"]
    below = [*(more if len(rows) > MOST_ROWS else []), *([] if mean is None else [repr(mean)]), *posterior.remarks]
    emit(data, [heading, *table, *below], as_json=as_json)


def _mean(network: Network, posterior: Posterior, evidence: Evidence) -> Expectation | None:
    """Return the mean where there is one: of one attribute that is numeric and may have a number."""
    attribute = posterior.attributes[0]
    if len(posterior.attributes) > 1 or not posterior.probabilities[: len(attribute.numbers)].any():
        return None
    return network.expectation(attribute.name, evidence)


def _json_mean(mean: Expectation) -> dict[str, float]:
    low, high = mean.interval or (None, None)
    return {"mean": mean.mean, **({} if low is None or high is None else {"low": low, "high": high})}


def _json_rows(posterior: Posterior) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = [{"values": list(labels), "probability": p} for labels, p in posterior.rows()]
    if posterior.low is not None and posterior.high is not None:
        for row, low, high in zip(rows, posterior.low.ravel().tolist(), posterior.high.ravel().tolist(), strict=True):
            row |= {"low": low, "high": high}
    return rows
