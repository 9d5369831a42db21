"""PrivBayes inside each holder: one model of the one holder, or one of each.

The structure gets sε, the tables (1−s)ε, s the study's ``split``. With ``degree = "auto"`` the query names the study's
θ and the most parents to consider, up to :data:`AUTO_DEGREE`, which is the asker's choice: ε does not depend on it.

Thesis: section "PrivBayes"; Theorem thm_privbayes_overall; Algorithm "Sharing the Noisy Model"; see errata 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agreement.checks import check_degree, check_plain, check_score, pure_grant
from panbayes.consortium.agreement.limits import MAX_CELLS, cells_of_largest, cells_text
from panbayes.consortium.agreement.plan import Fixed, Plan, Stage
from panbayes.consortium.agreement.sets import tables_step
from panbayes.consortium.agreement.strategy import Strategy, read_options
from panbayes.consortium.agreement.terms import Clip, Degree, Learner, Terms
from panbayes.consortium.protocol.queries import ModelQuery, ratio
from panbayes.privacy.composition import Step
from panbayes.privacy.events import Rule, Selection, Together

__all__ = ["AUTO_DEGREE", "NOISY_MODEL", "PRIVBAYES", "NoisyModelOptions", "PrivBayesOptions", "model"]

AUTO_DEGREE: Final = 4
"""The most parents that degree = "auto" considers."""


@dataclass(frozen=True, slots=True)
class PrivBayesOptions:
    """What "privbayes" reads of a study."""

    degree: Degree
    split: Fraction
    score: str
    mechanism: Rule
    clip: Clip
    first: str | None
    theta: Fraction


@dataclass(frozen=True, slots=True)
class NoisyModelOptions(PrivBayesOptions):
    """What "noisy-model" reads of a study."""

    learner: Learner


def model(terms: Terms) -> Stage[ModelQuery]:
    """Return the one stage: a whole model; where the degree is "auto" the asker gives the most to consider."""
    options, attributes = read_options(PrivBayesOptions, terms), len(terms.schema)
    grant = pure_grant(terms)
    structure, tables = grant.part(options.split), grant.part(1 - options.split)
    automatic = options.degree == "auto"
    theta = ratio(options.theta) if automatic else None
    fixed = {
        "score": Fixed("score", options.score),
        "mechanism": Fixed("mechanism", options.mechanism),
        "theta": Fixed("theta", theta),
        "first": Fixed("first attribute", terms.first_attribute),
        "clip": Fixed("counts are clipped by the", terms.holder_clips, options.clip),
        "structure_epsilon": Fixed("ε of the structure:", ratio(structure.amount)),
        "tables_epsilon": Fixed("ε of the tables:", ratio(tables.amount)),
    }
    if options.degree != "auto":
        fixed = {"degree": Fixed("degree", options.degree), **fixed}
    degree = AUTO_DEGREE if options.degree == "auto" else options.degree
    choices, cells = attributes - 1, attributes * cells_of_largest(terms.schema.sizes, degree + 1)
    one = Selection(options.mechanism, (structure.amount / choices) ** 2)
    return Stage(
        ModelQuery,
        times=1,
        words="a whole model, learned inside the holder",
        most=cells_text(cells),
        loss=grant,
        fixed=fixed,
        rule=lambda query: None if query.degree <= degree else f"the study says degree: at most {degree}",
        steps=(
            Step.of(f"{choices} choices of an attribute and its parents", Together((one,), choices), loss=structure),
            tables_step(terms, tables, tables=attributes, what=f"counts of {attributes} tables"),
        ),
        numbers=attributes * (degree + 1) + min(cells, MAX_CELLS),
    )


def _check(terms: Terms) -> None:
    check_plain(terms)
    check_degree(terms, automatic=True)
    check_score(terms)


def _plan(terms: Terms) -> Plan:
    return Plan((model(terms),), terms.grant, "the study asks for one model and nothing else")


PRIVBAYES: Final = Strategy(
    name="privbayes",
    summary="PrivBayes inside the one holder",
    asks="a private structure and its noisy tables",
    options=PrivBayesOptions,
    check=_check,
    plan=_plan,
    several=False,
)
NOISY_MODEL: Final = Strategy(
    name="noisy-model",
    summary="pools synthetic records of every holder's own model",
    asks="a whole private model of each holder",
    options=NoisyModelOptions,
    check=_check,
    plan=_plan,
)
