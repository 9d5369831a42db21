"""Checks of terms that several strategies share."""

from __future__ import annotations

from typing import Final

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.consortium.agreement.plan import Plan
from panbayes.consortium.agreement.terms import Terms
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.written import MAX_DIGITS

__all__ = ["MAX_DEGREE", "check_degree", "check_digits", "check_plain", "check_score", "fixed_degree", "pure_grant"]

MAX_DEGREE: Final = 8


def check_plain(terms: Terms) -> None:
    """Refuse adjacency and δ of a strategy that knows replacing one record and pure ε only."""
    terms.check_choice("adjacency", ("replace",))
    if terms.delta:
        raise terms.error("delta", f"found {float(terms.delta):g}", 'give 0, or use strategy "adaptive"')


def check_digits(terms: Terms, plan: Plan) -> None:
    """Refuse numbers that messages and model files could not write exactly: ε, θ, and the losses of the ``plan``."""
    losses = [plan.grant, *(stage.loss for stage in plan.stages if stage.loss), *(step.loss for step in plan.steps)]
    numbers = [terms.theta, *(loss.amount for loss in losses)]
    if any(max(number.numerator, number.denominator) >= 10**MAX_DIGITS for number in numbers):
        raise terms.error(
            "split", "too many digits in split, epsilon and theta together", "give numbers of fewer digits"
        )


def check_degree(terms: Terms, *, automatic: bool = False) -> None:
    """Refuse a degree that the schema has no room for; "auto" is for strategies that allow it."""
    if len(terms.schema) == 1:
        raise terms.error(
            "strategy", f'found "{terms.strategy}", and the schema has one attribute', 'give "independent"'
        )
    if terms.degree == "auto":
        if not automatic:
            raise terms.error("degree", f'found "auto" with strategy "{terms.strategy}"', "give a whole number")
        return
    if not 1 <= terms.degree <= MAX_DEGREE:
        raise terms.error(
            "degree", f"found {terms.degree}", f'give 1 to {MAX_DEGREE}; for no parents use strategy "independent"'
        )
    if terms.degree >= len(terms.schema):
        raise terms.error(
            "degree",
            f"found {terms.degree}, and the schema has {len(terms.schema)} attributes",
            f"give at most {len(terms.schema) - 1}",
        )


def check_score(terms: Terms) -> None:
    """Refuse a score that is not defined for the schema, or not of a table alone."""
    known = scores()
    terms.check_choice("score", known)
    if known[terms.score].binary_child and max(terms.schema.sizes) > 2:
        others = " or ".join(f'"{name}"' for name, score in known.items() if not score.binary_child)
        raise terms.error(
            "score",
            f'"{terms.score}" needs binary attributes, and the schema has larger ones',
            f"give {others} instead",
        )


def fixed_degree(terms: Terms) -> int:
    """Return the degree where it must be a number; :func:`check_degree` has seen to that."""
    if terms.degree == "auto":
        raise ValueError('degree "auto" reached a strategy that needs a number')
    return terms.degree


def pure_grant(terms: Terms) -> Pure:
    """Return the grant where queries carry a bare ε; :func:`check_plain` has seen to that."""
    if not isinstance(terms.grant, Pure):
        raise ValueError(f"a grant of {terms.grant} reached a strategy that asks at a pure ε")
    return terms.grant
