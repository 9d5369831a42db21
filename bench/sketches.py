"""Noisy tables against noisy sketches of the same bytes and ε: ``python -m bench.sketches [--runs 5] [--draw]``.

A holder has a table of d cells. It releases at ε, in so many bytes:

==================== =================================================================================================
``whole table``      every cell with discrete Laplace noise of scale 2/ε, two bytes each
``largest cells``    of the same noisy table those that fit, with their places, six bytes each; the others are taken for
                     equal shares of what is left of the public number of records
``count sketch``     w sums of cells with public random signs, each cell in one of them, and the same noise on each:
                     replacing a record moves two of them by 1
``three sketches``   three of a third the width, at a third of ε each; a cell is the median of what they say
``projection``       w sums of all cells with public random signs: replacing a record may move all of them by 2
==================== =================================================================================================

Of every estimate of the table three things are measured: how far it is from the table (total variation distance); the
bits of the child given its parents in test records; and how well a score tells this table from one of the same size in
which nothing depends on anything: the mutual information of the table less that of one with the child's values dealt
out anew, and how far this is from what it is without noise, in bits. Printed is a Markdown table; the rows are kept in
docs/figures/sketches.json, the figure in docs/figures/sketches.svg. With ``--draw`` nothing is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter
from numpy.typing import NDArray

from bench.methods import FIGURES, INK, QUIET, Style, named
from panbayes.bayesnet.learning.parameters import conditional
from panbayes.bayesnet.learning.scores.mutual_information import mutual_information
from panbayes.dp.simulated import SimulatedNoise

__all__ = ["COUNT_BYTES", "estimates", "main"]

TABLES: Final = {"pair of 12,000 cells": (0, 1), "triple of 72,000 cells": (0, 1, 2)}
"""Attributes of ``highcard``: one of 2,000 values, and properties of six values that follow from it."""

EPSILONS: Final = ("0.1", "1", "10")
PARTS: Final = (1, 2, 4, 8, 16, 32, 64)
"""A sketch has one part in so many of the bytes of the whole table."""

COUNT_BYTES: Final = 2
PLACE_BYTES: Final = 4
ROWS: Final = 3
PROJECTED: Final = 2**26
"""Signs of a projection that are drawn at most."""

STYLES: Final = {
    "whole table": Style(INK, "*", ":"),
    "largest cells": Style("#2f7d4f", "D"),
    "count sketch": Style("#c05a1c", "o"),
    "three sketches": Style("#7a5aa8", "v"),
    "projection": Style("#2a7f9e", "^"),
}
MEASURES: Final = {
    "distance": "distance of the table",
    "score": "error of the score's lead, bits",
    "bits": "bits of child given parents",
}

Values = NDArray[np.float64]
Counts = NDArray[np.int64]


def _noisy(values: Values | Counts, scale: Fraction, noise: SimulatedNoise) -> Values:
    return np.asarray(values + noise.discrete_laplace(values.size, scale=scale), dtype=np.float64)


def _sketch(counts: Counts, width: int, scale: Fraction, rng: np.random.Generator, noise: SimulatedNoise) -> Values:
    """Return what one sketch says of every cell."""
    bucket, sign = rng.integers(0, width, counts.size), rng.choice((-1, 1), counts.size)
    sums = np.zeros(width, dtype=np.int64)
    np.add.at(sums, bucket, sign * counts)
    return np.asarray(sign * _noisy(sums, scale, noise)[bucket])


def _projection(
    counts: Counts, width: int, epsilon: Fraction, rng: np.random.Generator, noise: SimulatedNoise
) -> Values:
    held, found = np.flatnonzero(counts), np.zeros(counts.size)
    signs = 2 * rng.integers(0, 2, (width, counts.size), dtype=np.int8) - 1
    sums = signs[:, held].astype(np.int64) @ counts[held]
    noisy = _noisy(sums, 2 * width / epsilon, noise)
    for row in range(width):
        found += signs[row] * noisy[row]
    return found / width


def estimates(counts: Counts, epsilon: Fraction, part: int, seed: int) -> Iterator[tuple[str, Values]]:
    """Yield every method's estimate of a table, of one ``part`` in so many of the bytes of the whole."""
    rng, noise = np.random.default_rng(seed), SimulatedNoise(seed)
    whole = _noisy(counts, 2 / epsilon, noise)
    width = counts.size // part
    if part == 1:
        yield "whole table", whole
    largest = np.argsort(-whole)[: width * COUNT_BYTES // (COUNT_BYTES + PLACE_BYTES)]
    kept = np.zeros(counts.size)
    kept[largest] = np.maximum(whole[largest], 0)
    rest = max(float(counts.sum()) - kept.sum(), 0.0) / max(counts.size - largest.size, 1)
    yield "largest cells", np.where(np.isin(np.arange(counts.size), largest), kept, rest)
    yield "count sketch", _sketch(counts, width, 2 / epsilon, rng, noise)
    several = [_sketch(counts, max(width // ROWS, 1), 2 * ROWS / epsilon, rng, noise) for _ in range(ROWS)]
    yield "three sketches", np.median(several, axis=0)
    if width * counts.size <= PROJECTED:
        yield "projection", _projection(counts, width, epsilon, rng, noise)


def _lead(table: Values | Counts, dealt_out: Values | Counts, shape: tuple[int, ...]) -> float:
    """Return by how many bits the child, the last attribute, depends more on the others than where it was dealt out."""
    child_first = (-1, *range(len(shape) - 1))
    scores = [
        mutual_information(np.maximum(found, 0).reshape(shape).transpose(child_first)) for found in (table, dealt_out)
    ]
    return (scores[0] - scores[1]) / math.log(2)


def _measured(estimate: Values, counts: Counts, shape: tuple[int, ...], test: NDArray[np.int64]) -> dict[str, float]:
    """Return the measures of an estimate but that of its score."""
    clipped = np.maximum(estimate, 0)
    table = conditional(clipped.reshape(shape), smoothing=1.0)
    return {
        "distance": float(np.abs(clipped / max(clipped.sum(), 1e-9) - counts / counts.sum()).sum()) / 2,
        "bits": float(-np.log2(table[tuple(test)]).mean()),
    }


def _counted(codes: NDArray[np.int64], shape: tuple[int, ...]) -> Counts:
    return np.bincount(np.ravel_multi_index(tuple(codes), shape), minlength=math.prod(shape)).astype(np.int64)


def _rows(runs: int) -> Iterator[dict[str, Any]]:
    held = named("highcard")
    sizes = held.schema.sizes
    for name, attributes in TABLES.items():
        shape = tuple(sizes[a] for a in attributes)
        codes, test = (table.codes[list(attributes)].astype(np.int64) for table in (held.training, held.test))
        counts = _counted(codes, shape)
        codes[-1] = np.random.default_rng(0).permutation(codes[-1])
        dealt_out = _counted(codes, shape)
        lead = _lead(counts, dealt_out, shape)
        for epsilon in EPSILONS:
            for part in PARTS:
                for seed in range(runs):
                    others = dict(estimates(dealt_out, Fraction(epsilon), part, runs + seed))
                    for method, estimate in estimates(counts, Fraction(epsilon), part, seed):
                        found = _measured(estimate, counts, shape, test)
                        found["score"] = abs(_lead(estimate, others[method], shape) - lead)
                        yield {"table": name, "epsilon": epsilon, "part": part, "method": method, "seed": seed, **found}


def _mean(rows: list[dict[str, Any]], measure: str, **wanted: object) -> float | None:
    found = [row[measure] for row in rows if all(row[key] == value for key, value in wanted.items())]
    return float(np.mean(found)) if found else None


def _tabulated(rows: list[dict[str, Any]], measure: str) -> Iterator[str]:
    yield f"| {MEASURES[measure]} | ε | method | {' | '.join('all' if part == 1 else f'1/{part}' for part in PARTS)} |"
    yield "|---|---|---|" + "---|" * len(PARTS)
    for table in TABLES:
        for epsilon in EPSILONS:
            for method in STYLES:
                wanted = {"table": table, "epsilon": epsilon, "method": method}
                means = [_mean(rows, measure, part=part, **wanted) for part in PARTS]
                if any(mean is not None for mean in means):
                    cells = " | ".join("" if mean is None else f"{mean:.3f}" for mean in means)
                    yield f"| {table} | {epsilon} | {method} | {cells} |"


def _draw(rows: list[dict[str, Any]], table: str) -> None:
    with mpl.rc_context({"svg.hashsalt": "panbayes", "font.size": 9, "legend.frameon": False, "text.color": INK}):
        figure = Figure(figsize=(9.6, 7.6), dpi=110, layout="constrained")
        grid = figure.subplots(len(MEASURES), len(EPSILONS), sharex=True)
        for row, (measure, words) in enumerate(MEASURES.items()):
            for column, epsilon in enumerate(EPSILONS):
                axes = grid[row, column]
                for method, style in STYLES.items():
                    means = [_mean(rows, measure, table=table, epsilon=epsilon, method=method, part=p) for p in PARTS]
                    at = [(1 / part, mean) for part, mean in zip(PARTS, means, strict=True) if mean is not None]
                    if method == "whole table":
                        axes.axhline(at[0][1], color=style.colour, linestyle=":", linewidth=1.2, label=method)
                    elif at:
                        axes.plot(*zip(*at, strict=True), color=style.colour, marker=style.marker, ms=4, label=method)
                axes.set_xscale("log", base=2)
                axes.set_xticks([1 / part for part in PARTS], ["all", *(f"1/{part}" for part in PARTS[1:])])
                axes.xaxis.set_minor_formatter(NullFormatter())
                axes.spines[["top", "right"]].set_visible(False)
                axes.spines[["left", "bottom"]].set_color(QUIET)
                axes.grid(color="#e6eaee", linewidth=0.8)
                if not row:
                    axes.set_title(f"{table}, ε = {epsilon}", loc="left", fontsize=10)
                if not column:
                    axes.set_ylabel(words)
                if row == len(MEASURES) - 1:
                    axes.set_xlabel("bytes, as part of the whole table's")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels))
        figure.savefig(FIGURES / "sketches.svg", metadata={"Date": None})


def main(arguments: list[str]) -> int:
    """Measure, print and draw."""
    parser = argparse.ArgumentParser(prog="bench.sketches", description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args(arguments)
    path = FIGURES / "sketches.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if given.draw else list(_rows(given.runs))
    path.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n", encoding="utf-8")
    for measure in MEASURES:
        print("\n".join(_tabulated(rows, measure)), end="\n\n")
    _draw(rows, next(iter(TABLES)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
