"""The statement in plain words: ε in decimals, (ε, δ) first where they are promised, holders by their names."""

from __future__ import annotations

from fractions import Fraction

import pytest

from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated, rho_for
from panbayes.privacy.composition import Composition, Parallel, PostProcessed, Sequential, Step
from panbayes.privacy.loss import Loss
from panbayes.privacy.statement import PrivacyStatement, implied_note

DELTA = Fraction(1, 10**9)


def step(loss: Loss) -> Step:
    return Step("tables", "discrete Gaussian", loss)


def statement(composition: Composition, *notes: str) -> PrivacyStatement:
    return PrivacyStatement("record", "replace", composition, notes=notes, versions={"panbayes": "0"})


@pytest.mark.parametrize(
    ("epsilon", "shown"), [(Fraction(1), "1"), (Fraction(1, 3), "0.333333 (1/3)"), (Fraction(5, 2), "2.5")]
)
def test_epsilon_and_delta_come_first_and_rho_below(epsilon: Fraction, shown: str) -> None:
    rho = ZeroConcentrated(rho_for(epsilon, DELTA))
    note = implied_note(rho, epsilon=epsilon, delta=DELTA)
    made = statement(step(rho), note, "another note")
    assert made.headline == f"(ε, δ) = ({shown}, 1e-09)"
    assert made.lines()[0] == f"Guarantee: (ε, δ) = ({shown}, 1e-09)"
    assert made.lines()[1] == f"Through: {rho} (zero-concentrated differential privacy), which implies it"
    assert note not in made.lines()
    assert "another note" in made.lines()


def test_the_note_of_earlier_files_is_read() -> None:
    made = statement(step(ZeroConcentrated(Fraction(14973, 10**6))), "ρ = 0.014973 implies (ε, δ) = (1, 1e-09).")
    assert made.headline == "(ε, δ) = (1, 1e-09)"


@pytest.mark.parametrize(
    "note",
    [
        "ρ = 0.014973 implies (ε, δ) = (0.99, 1e-09).",
        "ρ = 0.014973 implies (ε, δ) = (1, 1e-10).",
        "ρ = 0.014973 implies (ε, δ) = (1, 2).",
        "ρ = 0.014973 implies (ε, δ) = (1 (1/0), 1e-09).",
        "ρ = 0.014973 implies (ε, δ) = (e, 1e-09).",
        "ρ = 0.014973 implies (ε, δ) = (1, 1e-09). Really.",
    ],
)
def test_a_note_that_the_loss_does_not_imply_is_no_headline(note: str) -> None:
    made = statement(step(ZeroConcentrated(Fraction(14973, 10**6))), note)
    assert made.headline == "ρ = 0.014973"
    assert made.lines()[0] == "Guarantee: ρ = 0.014973 (zero-concentrated differential privacy)"
    assert note in made.lines()


def test_holders_are_named_with_what_was_spent_of_theirs() -> None:
    half, third = step(Pure(Fraction(1, 2))), step(Pure(Fraction(1, 3)))
    parts = (Sequential((half,)), Sequential((half, third)), Sequential((half,)))
    made = statement(PostProcessed(Parallel(parts, "replace", separate=True), "learning"))
    assert made.lines(holders=("north", "south", "west"))[3:9] == [
        "  by north, west: ε = 0.5 each",
        "    tables: ε = 0.5, discrete Gaussian",
        "  by south: ε = 0.833333 (5/6)",
        "    tables: ε = 0.5, discrete Gaussian",
        "    tables: ε = 0.333333 (1/3), discrete Gaussian",
        "  learning: computed from the above, free",
    ]
    for holders in ((), ("north",), ("north", "south", "west", "east")):
        assert "  each of 3 separate tables, at most ε = 0.833333 (5/6) each:" in made.lines(holders=holders)
