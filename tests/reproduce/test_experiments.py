"""Every experiment runs, every figure of the chapter is drawn, and every verdict can come out either way."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

import panbayes.reproduce.experiments
from panbayes.reproduce.drawing import draw
from panbayes.reproduce.experiment import Cell, Experiment, Verdict, cell_seed, experiments
from panbayes.reproduce.results import Results, Row, Value, csv_text, parse_csv

FIGURES = {
    "FIG_sample_size_bound_dwork",
    "FIG_dwork_privacy_budget",
    "FIG_actual_privacy_budget",
    "FIG_opt_bern_privacy_budget",
    "FIG_sample_size_bound",
    "laplace_distributions_illustration",
    "FIG_qLap_privacy_budget",
    "FIG_MSE_uniform",
    "FIG_MSE_zipf",
    "FIG_prob_error_uniform",
    "FIG_prob_error_zipf",
}
"""The eleven figures of Chapter 4."""

SYNTHETIC = {"FIG_synthetic_graph_structure", "FIG_exp1", "FIG_exp1b", "FIG_exp2", "FIG_exp5"}
"""The figures of Chapter 3 about synthetic data."""

REPETITIONS = {
    "stream-error": 100,
    "stream-failure": 30,
}


def chosen(experiment: Experiment) -> list[Cell]:
    """Some cells of a quick run: enough for every claim and every figure."""
    cells = list(experiment.cells(True))
    if experiment.name == "stream-error":
        return [cell for cell in cells if cell["sample"] == 1000]
    if experiment.name == "sample-size":
        return [cell for cell in cells if float(cell["epsilon"]) in (0.05, 0.1, 0.5)]
    return cells


def made_up(cell: Cell) -> Row:
    """What learning the synthetic network could come to if all that the thesis says of it were true."""
    epsilon, degree, holders = float(cell["epsilon"]), int(cell["degree"]), int(cell["holders"])
    bits = {
        "naive": 7.53,
        "non-private": 5.176 if degree == 1 else 5.121,
        "adaptive": 5.2,
        "noisy-sufficient-statistics": 5.13 + 0.005 * degree * holders / max(epsilon, 0.01),
        "noisy-majority-voting": 5.16 + 0.01 / max(epsilon, 0.01) - 0.01 * degree,
        "noisy-model": 5.16 + 0.01 / max(epsilon, 0.01) - 0.01 * degree + 0.02 * holders,
    }[str(cell["strategy"])]
    return {**cell, "repetitions": 100, "bits": bits, "deviation": 0.02, "entropy": 5.1201}


@cache
def found(name: str) -> Results:
    experiment = experiments()[name]
    if name.startswith("synthetic-"):
        return Results(tuple(made_up(cell) for cell in experiment.cells(True)))
    repetitions = REPETITIONS.get(name, 0)
    rows = [row for cell in chosen(experiment) for row in experiment.run(cell, repetitions, cell_seed(0, name, cell))]
    return parse_csv(csv_text(rows))


def changed(name: str, change: Callable[[dict[str, Value]], Row]) -> Results:
    return Results(tuple(change(dict(row)) for row in found(name).rows))


def scaled(column: str, factor: float, **where: Value) -> Callable[[dict[str, Value]], Row]:
    """Return what multiplies a column in the rows with these values."""

    def change(row: dict[str, Value]) -> Row:
        if all(row[key] == value for key, value in where.items()):
            row[column] = float(row[column]) * factor
        return row

    return change


def put(column: str, value: Value, **where: Value) -> Callable[[dict[str, Value]], Row]:
    """Return what puts a value into a column of the rows with these values."""

    def change(row: dict[str, Value]) -> Row:
        return {**row, column: value} if all(row[key] == one for key, one in where.items()) else row

    return change


def keep_claims(row: dict[str, Value]) -> Row:
    return {**row, "true_loss": row["claimed"]}


# Experiment, number of the claim, whether it is confirmed, and a change of the results that turns it round.
CASES: list[tuple[str, int, bool, Callable[[dict[str, Value]], Row]]] = [
    ("dwork-budget", 0, True, scaled("state_loss", 2.0)),
    ("dwork-budget", 1, True, scaled("ratio_zero", 1.001)),
    ("dwork-budget", 2, True, scaled("state_loss", 1.75)),
    ("actual-budget", 0, True, scaled("state_loss", 1.01, estimator="dwork")),
    ("actual-budget", 1, True, scaled("error_at_same_loss", 2.5)),
    ("bernoulli-budget", 0, True, scaled("state_loss", 0.99)),
    ("bernoulli-budget", 1, False, lambda row: {**row, "state_loss": row["epsilon"]}),
    ("bernoulli-budget", 2, False, put("entry_variance", 1.0)),
    ("quantized-budget", 0, True, scaled("measured_init", 1.01)),
    ("quantized-budget", 1, True, scaled("measured_point", 1.01)),
    ("quantized-budget", 2, True, scaled("state_loss", 2.0, estimator="dwork")),
    ("laplace-pair", 0, True, scaled("update", 1.01, part="density")),
    ("laplace-pair", 1, True, scaled("update", 1.01, part="density")),
    ("laplace-pair", 2, True, scaled("init", 1.01, part="moments")),
    ("laplace-pair", 3, True, scaled("init", 0.6, part="truncated")),
    ("sample-size", 0, False, scaled("roth", 1.3)),
    ("sample-size", 1, True, scaled("needed", 2.0)),
    ("sample-size", 2, True, scaled("proposed", 0.5, epsilon=0.05)),
    ("sample-size", 3, True, scaled("proposed", 2.0, estimator="optimal-bernoulli")),
    ("sample-size", 4, True, scaled("proposed", 1.01, estimator="laplace")),
    ("sample-size", 5, True, scaled("needed", 2.1, estimator="laplace")),
    ("true-loss", 0, False, keep_claims),
    ("true-loss", 1, False, keep_claims),
    ("true-loss", 2, False, keep_claims),
    ("true-loss", 3, False, keep_claims),
    ("true-loss", 4, True, scaled("rmse_published", 0.5, estimator="laplace")),
    ("stream-error", 0, True, put("density", 0.26, stream="zipf")),
    ("stream-error", 1, True, scaled("mse", 8.0, estimator="laplace", epsilon=0.5)),
    ("stream-error", 2, True, put("bias", 0.5, epsilon=0.3)),
    ("stream-error", 3, True, scaled("theory", 1.1, estimator="optimal-bernoulli")),
    ("stream-error", 4, True, scaled("mse", 2.0, estimator="truncated-gaussian")),
    ("stream-error", 5, True, scaled("mse", 0.4, estimator="laplace")),
    ("stream-error", 6, True, scaled("mse", 6.0, stream="zipf", estimator="quantized-laplace")),
    ("stream-error", 7, True, scaled("mse", 8.0, kind="sound", epsilon=0.5)),
    ("synthetic-budget", 0, True, scaled("entropy", 1.002)),
    ("synthetic-budget", 1, True, scaled("bits", 1.2, epsilon=0.02, strategy="noisy-sufficient-statistics")),
    ("synthetic-budget", 2, True, scaled("bits", 1.1, strategy="noisy-model", epsilon=2.0)),
    ("synthetic-budget", 3, True, scaled("bits", 1.1, strategy="noisy-sufficient-statistics", epsilon=2.0)),
    ("synthetic-budget", 4, True, scaled("bits", 1.01, strategy="non-private")),
    ("synthetic-holders", 0, True, scaled("bits", 1.3, strategy="noisy-majority-voting", holders=20)),
    ("synthetic-holders", 1, True, scaled("bits", 0.8, strategy="noisy-model", holders=20)),
    ("synthetic-degree", 0, True, scaled("bits", 0.8, strategy="noisy-sufficient-statistics", degree=3)),
    ("synthetic-degree", 1, True, scaled("bits", 1.3, strategy="noisy-majority-voting", degree=3)),
    ("stream-failure", 0, True, put("failures", 30, estimator="optimal-bernoulli")),
    ("stream-failure", 1, True, put("failures", 30, epsilon=0.5)),
    ("stream-failure", 2, True, put("failures", 30, kind="sound", epsilon=0.5)),
]


def test_every_claim_is_turned_round() -> None:
    assert [(name, number) for name, number, _, _ in sorted(CASES, key=lambda case: case[:2])] == [
        (name, number) for name, one in sorted(experiments().items()) for number in range(len(one.claims))
    ]


@pytest.mark.parametrize(("name", "number", "confirmed", "change"), CASES, ids=[f"{c[0]}-{c[1]}" for c in CASES])
def test_a_verdict_follows_from_the_results(
    name: str, number: int, confirmed: bool, change: Callable[[dict[str, Value]], Row]
) -> None:
    judge = experiments()[name].claims[number].judge
    told = judge(found(name))
    assert told.confirmed is confirmed, told
    assert re.search(r"\d", told.numbers)
    assert confirmed or told.reason
    assert isinstance(told.confirmed, bool)
    other: Verdict = judge(changed(name, change))
    assert other.confirmed is not confirmed, other


@pytest.mark.parametrize("name", list(experiments()))
def test_pictures_are_drawn(name: str, tmp_path: Path) -> None:
    for picture in experiments()[name].pictures:
        picture_file, drawing = (tmp_path / file for file in draw(picture, found(name), tmp_path))
        assert picture_file.read_bytes().startswith(b"\x89PNG")
        assert drawing.read_text(encoding="utf-8").rstrip().endswith("</svg>")


def test_a_picture_is_the_same_again(tmp_path: Path) -> None:
    (picture,) = experiments()["dwork-budget"].pictures
    drawn = [[(tmp_path / file).read_bytes() for file in draw(picture, found("dwork-budget"), tmp_path)] for _ in "ab"]
    assert drawn[0] == drawn[1]


def test_all_figures_of_the_chapter_are_repeated() -> None:
    labels = [picture.label for one in experiments().values() for picture in one.pictures]
    assert sorted(labels) == sorted({*FIGURES, *SYNTHETIC, "claimed against true loss"})
    source = Path(__file__).resolve().parents[3] / "shared" / "thesis.tex"
    if source.is_file():
        chapter = source.read_text(encoding="utf-8").partition(r"\chapter{Pan-Private")[2]
        assert set(re.findall(r"\\label\{(FIG\w+|laplace_distributions_illustration)\}", chapter)) == FIGURES


def test_every_file_of_the_folder_is_one_experiment() -> None:
    modules = {found.name for found in pkgutil.iter_modules(panbayes.reproduce.experiments.__path__)}
    assert {name.replace("-", "_") for name in experiments()} == modules


def test_the_page_has_every_sentence_and_every_figure() -> None:
    """``python -m bench.reproduction_page FOLDER`` writes them again."""
    docs = Path(__file__).resolve().parents[2] / "docs"
    page = (docs / "reproduction.md").read_text(encoding="utf-8")
    for experiment in experiments().values():
        assert f"`{experiment.name}`" in page
        assert all(claim.sentence.replace("|", "\\|") in page for claim in experiment.claims)
        for picture in experiment.pictures:
            assert f"![{picture.label}](figures/reproduction/{picture.name}.png)" in page
            assert (docs / "figures" / "reproduction" / f"{picture.name}.png").is_file()


def test_repetitions_are_the_thesiss() -> None:
    repeated = {name: one.repetitions for name, one in experiments().items() if one.repetitions}
    drawn = {"synthetic-budget": 100, "synthetic-holders": 100, "synthetic-degree": 100}
    assert repeated == {"stream-error": 300, "stream-failure": 1000, **drawn}


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    experiment = experiments()["stream-failure"]
    cell: Cell = {"stream": "uniform", "epsilon": 0.05}
    first, again, other = (experiment.run(cell, 8, seed) for seed in (1, 1, 2))
    assert list(first) == list(again) != list(other)
