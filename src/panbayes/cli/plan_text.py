"""What ``panbayes plan`` prints: numbers as people read them, and always whether they are expected or at most."""

from __future__ import annotations

import math
from collections.abc import Mapping

from panbayes.cli.study_facts import costs, protects
from panbayes.cli.text import aligned, plural
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.planning.advice import Advice, Threshold
from panbayes.planning.forecast import Amount, Errors, Forecast, Scores
from panbayes.privacy.written import show_fraction

__all__ = ["advice_lines", "as_data", "comparison", "forecast_lines", "percent", "size_text", "threshold_line"]


def percent(share: float) -> str:
    """Write a share to two digits.

    >>> percent(0.01234), percent(0.5), percent(0.000012)
    ('1.2 %', '50 %', '0.0012 %')
    """
    return f"{_digits(100 * share)} %"


def _digits(value: float) -> str:
    """Write a number to two digits, with all digits before the point."""
    if value <= 0:
        return "0"
    shown = float(f"{value:.2g}")
    places = max(0, 1 - math.floor(math.log10(shown)))
    return f"{shown:,.{places}f}".rstrip("0").rstrip(".") if places else f"{shown:,.0f}"


def size_text(amount: float) -> str:
    """Write bytes.

    >>> size_text(714), size_text(467_478), size_text(2.5e9)
    ('710 bytes', '470 kB', '2.5 GB')
    """
    for unit, word in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if amount >= unit:
            return f"{_digits(amount / unit)} {word}"
    return f"{_digits(amount)} bytes"


def _seconds(value: float) -> str:
    return f"{_digits(value)} s" if value < 120 else f"{_digits(value / 60)} min"


def forecast_lines(found: Forecast) -> list[str]:
    """Say what is foreseen of a study."""
    study, setting = found.setting.study, found.setting
    together = f"{plural(setting.records, 'record')} in all"
    return [
        f"{study.source}: {study.name}, with {plural(setting.holders, 'holder')} and {together}. "
        "Nothing is read and nothing is spent.",
        *aligned(
            [
                ("strategy", f"{study.strategy}: {study.how.summary}"),
                ("costs", costs(study)),
                ("protects", protects(study)),
            ]
        ),
        "",
        "What each holder spends, and the noise of a cell of all holders together (standard deviation)",
        *aligned(_spending(found)),
        "",
        "Expected error, as the distance from what the records say",
        *aligned(_errors(found.errors)),
        "",
        "What it takes",
        *aligned(_costs(found)),
    ]


def _spending(found: Forecast) -> list[tuple[str, str, str, str]]:
    grant = found.setting.study.grant.amount
    rows = [("part", "on", "noise", "records in an average cell")]
    for spent in found.spends:
        noise = "" if spent.noise is None else f"± {_digits(spent.noise)}"
        cell = "" if spent.cell is None else _digits(spent.cell)
        rows.append((percent(float(spent.loss.amount / grant)), spent.what, noise, cell))
    return rows


def _errors(errors: Errors) -> list[tuple[str, str]]:
    pairs = "none: the network links no attributes"
    if errors.pairs is not None:
        of = (
            "at most, of attributes with all their parents"
            if errors.families
            else "of attributes that the network links"
        )
        pairs = f"{percent(errors.pairs)} {of}"
    rows = [("marginals", f"{percent(errors.marginals)} of a single attribute"), ("pairs", pairs)]
    return [*rows, *([("scores", _scores(errors.scores))] if errors.scores else [])]


def _scores(scores: Scores) -> str:
    if scores.expected is not None:
        return f"{_digits(scores.expected)} bits of mutual information"
    if scores.most is None:
        return "unknown"
    shown = percent(scores.most) if scores.unit == "of its records" else _digits(scores.most)
    return f"19 of 20 choices miss the best by at most {shown} {scores.unit}"


def _amount(amount: Amount, noun: str) -> str:
    if amount.most == amount.expected:
        return plural(round(amount.most), noun)
    return f"expected {amount.expected:,.0f}, at most {plural(round(amount.most), noun)}"


def _costs(found: Forecast) -> list[tuple[str, str]]:
    return [
        (
            "tables",
            f"{_amount(found.tables, 'table')} of several attributes" if found.tables.most else "none of several",
        ),
        ("round trips", _amount(found.trips, "round trip")),
        ("messages", f"{_amount(found.messages, 'question')} to each holder, each with its answer"),
        ("bytes", f"about {size_text(found.bytes.expected)} to and from each holder"),
        ("time", f"about {_seconds(found.seconds)} of computing, beside the waiting"),
        ("memory", f"about {size_text(found.memory)}, where it takes the most"),
    ]


def threshold_line(threshold: Threshold | None, study: Study) -> str:
    """Say from which ε noisy sufficient statistics is worth choosing."""
    if threshold is None:
        return "Noisy sufficient statistics: its tables have too many cells, or too few attributes, for the threshold."
    above = study.epsilon is not None and float(study.epsilon) >= threshold.epsilon
    if threshold.fails:
        return (
            f"Noisy sufficient statistics: of the {plural(threshold.cells, 'cell')} of a typical table the smallest "
            "hold less than one record, and no ε makes its scores as good as the thesis has them."
        )
    return (
        f"Noisy sufficient statistics is worth choosing from ε = {_digits(threshold.epsilon)} on (the thesis's "
        f"threshold: noise adds less than chance to the entropy of a table of {plural(threshold.cells, 'cell')}); "
        f"the study's {show_fraction(study.epsilon) if study.epsilon else 0} is {'above' if above else 'below'} it."
    )


def advice_lines(advice: Advice, study: Study) -> list[str]:
    """Say which strategy to pick, and why."""
    keep = "Keep" if advice.strategy == study.strategy else "Pick"
    plain = (study.delta or study.adjacency != "replace") and "delta" not in strategies()[advice.strategy].reads
    known = " It knows pure ε and replacing one record alone: set delta and adjacency so." if plain else ""
    lines = [f"{keep} {advice.strategy}: {advice.why}.{known}"]
    return [*lines, *([f"And {advice.purely}."] if advice.purely else [])]


def comparison(found: Mapping[str, Forecast], study: Study) -> list[str]:
    """Put strategies side by side."""
    rows = [("strategy", "marginals", "pairs", "scores", "tables", "round trips", "bytes each", "time")]
    plain = False
    for name, one in found.items():
        errors = one.errors
        marked = "*" if (one.setting.study.delta, one.setting.study.adjacency) != (study.delta, study.adjacency) else ""
        plain = plain or bool(marked)
        scores = errors.scores
        of = "–" if scores is None or scores.unit != "bits" else ""
        if not of and scores is not None:
            exact = scores.expected is not None
            of = f"{_digits(scores.expected or 0)} bits" if exact else f"≤ {_digits(scores.most or 0)} bits"
        rows.append(
            (
                f"{name}{marked}",
                percent(errors.marginals),
                "none" if errors.pairs is None else f"{'≤ ' if errors.families else ''}{percent(errors.pairs)}",
                of,
                f"{one.tables.expected:.0f}",
                f"{one.trips.expected:.0f}",
                size_text(one.bytes.expected),
                _seconds(one.seconds),
            )
        )
    lines = ["Expected, side by side (≤: at most, scores in 19 of 20 choices)", *aligned(rows)]
    return [*lines, *(["  * pure ε and replacing one record: the strategy knows nothing else"] if plain else [])]


def as_data(found: Forecast) -> dict[str, object]:
    """Return a forecast for programs: shares and bytes as numbers."""
    errors, scores = found.errors, found.errors.scores
    return {
        "strategy": found.setting.study.strategy,
        "holders": found.setting.holders,
        "records": found.setting.records,
        "grant": found.setting.study.grant.json(),
        "spends": [
            {"what": one.what, "loss": one.loss.json(), "noise": one.noise, "average_cell": one.cell}
            for one in found.spends
        ],
        "expected_error": {
            "marginals": errors.marginals,
            "pairs": errors.pairs,
            "pairs_at_most": errors.families,
            "scores": None
            if scores is None
            else {"expected": scores.expected, "at_most_in_19_of_20": scores.most, "unit": scores.unit},
        },
        **{
            name: {"expected": amount.expected, "at_most": amount.most}
            for name, amount in (
                ("tables", found.tables),
                ("round_trips", found.trips),
                ("messages", found.messages),
                ("bytes", found.bytes),
            )
        },
        "seconds": found.seconds,
        "memory_bytes": found.memory,
    }
