"""Losses read back: which class a tag names, and what a file or a message says.

>>> loss_from_json(Pure(Fraction(1, 3)).json(), argument="model.json")
Pure(epsilon=Fraction(1, 3))
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated, rho_for
from panbayes.privacy.loss import Loss
from panbayes.privacy.written import parse_epsilon, parse_ratio

__all__ = ["CLASSES", "grant", "loss_from_json", "parse_loss"]

CLASSES: Final[dict[str, Loss]] = {loss.tag: loss for loss in (Pure(Fraction(0)), ZeroConcentrated(Fraction(0)))}
"""Every class of privacy by its tag: the loss of nothing, from which others are made by ``with_amount``."""


def loss_from_json(data: object, *, argument: str) -> Loss:
    """Read what :meth:`panbayes.privacy.loss.Loss.json` wrote; refuse an unknown class rather than guess."""
    tag = data.get("class") if isinstance(data, dict) else None
    known = CLASSES.get(tag) if isinstance(tag, str) else None
    if known is None or not isinstance(data, dict) or set(data) != {"class", known.key}:
        raise InputError(
            argument,
            found="found a privacy loss of an unknown class",
            remedy=f"use a version of panbayes that knows it; this one knows: {', '.join(CLASSES)}",
        )
    amount = parse_ratio(data[known.key])
    if amount is None:
        raise InputError(argument, found=f"found a damaged {known.key}", remedy="use the file as panbayes wrote it")
    return known.with_amount(amount)


def grant(epsilon: Fraction, *, delta: Fraction) -> Loss:
    """Return what (``epsilon``, ``delta``) allows to spend: the pure ε, or with a δ the ρ that implies (ε, δ).

    >>> grant(Fraction(1), delta=Fraction(0)), grant(Fraction(1), delta=Fraction(1, 10**9))
    (Pure(epsilon=Fraction(1, 1)), ZeroConcentrated(rho=Fraction(14973, 1000000)))
    """
    return ZeroConcentrated(rho_for(epsilon, delta)) if delta else Pure(epsilon)


def parse_loss(text: str, *, argument: str) -> Loss:
    """Read a loss as people write it: a number is ε, and KEY=NUMBER the amount of the class that has this key.

    >>> parse_loss("2.5", argument="cap"), parse_loss("rho=0.05", argument="cap")
    (Pure(epsilon=Fraction(5, 2)), ZeroConcentrated(rho=Fraction(1, 20)))
    """
    key, _, amount = text.rpartition("=")
    nothing = next((nothing for nothing in CLASSES.values() if nothing.key == key.strip()), None)
    if nothing is None:
        return Pure(parse_epsilon(text, argument=argument))
    return nothing.with_amount(parse_epsilon(amount, argument=argument))
