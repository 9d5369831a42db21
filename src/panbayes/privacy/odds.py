"""What a loss means to a person: how far the odds of a guess about them can move.

Under pure ε the odds of any two stories about one person change by a factor of at most e^ε, whatever is released and
whatever else is known: a guess that was 50 : 50 becomes at most e^ε/(1 + e^ε).

Under ρ-zero-concentrated privacy the factor has no bound, but its logarithm L, the privacy loss of what was released,
is above t = ρ + 2·√(ρ·ln(1/δ)) with probability δ at most: for every α > 1, E[e^((α−1)·L)] ≤ e^((α−1)·αρ), the
definition, so by Markov's inequality P[L > t] ≤ e^((α−1)(αρ−t)), which at α = (t + ρ)/(2ρ) is e^(−(t−ρ)²/(4ρ)) = δ.
That t is a little more than the ε of the (ε, δ) that a study names, which bounds an average over all releases and not
what somebody may conclude from the one there is.

Everything is rounded up, in decimal arithmetic, so that "at most" is true of the number that is shown.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal, localcontext
from fractions import Fraction
from typing import Final

from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss

__all__ = ["even_odds", "log_factor"]

_CONTEXT: Final = Context(prec=50, rounding=ROUND_CEILING)
_CERTAIN: Final = Decimal("99.9")
_UP: Final = Decimal("1e-40")


def log_factor(loss: Loss, *, delta: Fraction = Fraction(0)) -> Decimal:
    """Return the logarithm of the factor that odds change by at most, except with probability ``delta``.

    >>> log_factor(Pure(Fraction(1, 2))).quantize(Decimal("0.001"))
    Decimal('0.500')
    >>> log_factor(ZeroConcentrated(Fraction(14973, 10**6)), delta=Fraction(1, 10**9)).quantize(Decimal("0.001"))
    Decimal('1.129')
    """
    with localcontext(_CONTEXT):
        amount = Decimal(loss.amount.numerator) / Decimal(loss.amount.denominator)
        if isinstance(loss, Pure):
            return amount
        if not isinstance(loss, ZeroConcentrated) or not 0 < delta < 1:
            raise ValueError("odds under this class of privacy are bounded except with some probability")
        tail = (Decimal(delta.denominator) / Decimal(delta.numerator)).ln()
        # Logarithm and root are rounded to the nearest; this is far above their error.
        return amount + 2 * (amount * tail).sqrt() * (1 + _UP)


def even_odds(loss: Loss, *, delta: Fraction = Fraction(0)) -> str:
    """Say what a guess that was 50 : 50 can become at most.

    >>> [even_odds(Pure(Fraction(epsilon))) for epsilon in ("0.1", "0.5", "1", "2", "3")]
    ['52.5 : 47.5', '62.3 : 37.7', '73.2 : 26.8', '88.1 : 11.9', '95.3 : 4.7']
    >>> even_odds(Pure(Fraction(20)))
    'as good as certain'
    """
    with localcontext(_CONTEXT):
        factor = log_factor(loss, delta=delta).exp()
        share = (100 * factor / (1 + factor) + _UP).quantize(Decimal("0.1"), rounding=ROUND_CEILING)
    return "as good as certain" if share > _CERTAIN else f"{share} : {100 - share}"
