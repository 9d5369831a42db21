"""What a mechanism did, by its parameters: the facts from which every loss follows.

An event says how large the noise was and how far one person can move what it was added to. It does not say what that
costs: a class of privacy does (:mod:`panbayes.privacy.classes`), so that the same events can be accounted for under
another one. Events are never removed and never change their meaning; a class that cannot bound one says so.

===================== ============================================== ================================
event                 the noise                                      parameters
===================== ============================================== ================================
DiscreteLaplace       P(z) ∝ exp(−|z|/b) on every cell               b = ``scale``, Δ₁ = ``l1``
DiscreteGaussian      P(z) ∝ exp(−z²/(2σ²)) on every cell            σ² = ``variance``, Δ₂² = ``l2_squared``
OneRadius             evenly in balls of one radius, table by table  b = ``scale``, Δ₁ of any one = ``l1``
Selection             one candidate drawn, at the pure ε = 2Δ/b      ``rule``, ε² = ``epsilon_squared``
Together              several about the same records                 ``events``
===================== ============================================== ================================

Thesis: Theorem defn_laplace_mech; Theorem defn_expo_mech.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from panbayes.errors import InputError
from panbayes.privacy.written import MAX_DIGITS, parse_ratio

__all__ = [
    "MAX_EVENT_DIGITS",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Event",
    "OneRadius",
    "Rule",
    "Selection",
    "Together",
    "event_from_json",
    "event_to_json",
]

Rule: TypeAlias = Literal["permute-and-flip", "exponential"]
"""How a high score is drawn; each spends ε = 2Δ/scale, permute-and-flip chooses better."""

MAX_EVENT_DIGITS: Final = 4 * MAX_DIGITS
"""Digits of a parameter that is read back: that of a loss, divided among tables or picks, and squared."""

_RULES: Final[dict[Rule, str]] = {"permute-and-flip": "permute-and-flip", "exponential": "exponential mechanism"}


def _check_positive(kind: type[Fraction] | type[int], **values: Fraction | int) -> None:
    for name, value in values.items():
        if not isinstance(value, kind):
            raise TypeError(f"{name} must be of type {kind.__name__}, found {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be positive, found {value}")


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Discrete Laplace noise of ``scale`` on counts that one person moves by at most ``l1`` in L1."""

    scale: Fraction
    l1: int

    def __post_init__(self) -> None:
        """Refuse what is no noise."""
        _check_positive(Fraction, scale=self.scale)
        _check_positive(int, l1=self.l1)

    @property
    def mechanism(self) -> str:
        """Its name for people."""
        return "discrete Laplace"


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Discrete Gaussian noise of ``variance`` on counts that one person moves by at most √``l2_squared`` in L2."""

    variance: Fraction
    l2_squared: int

    def __post_init__(self) -> None:
        """Refuse what is no noise."""
        _check_positive(Fraction, variance=self.variance)
        _check_positive(int, l2_squared=self.l2_squared)

    @property
    def mechanism(self) -> str:
        """Its name for people."""
        return "discrete Gaussian"


@dataclass(frozen=True, slots=True)
class OneRadius:
    """Noise of one radius and this ``scale`` on tables of which one person moves none by more than ``l1`` in L1.

    It loses Δ₁/b however many tables share the radius (:mod:`panbayes.dp.one_radius`).
    """

    scale: Fraction
    l1: int

    def __post_init__(self) -> None:
        """Refuse what is no noise."""
        _check_positive(Fraction, scale=self.scale)
        _check_positive(int, l1=self.l1)

    @property
    def mechanism(self) -> str:
        """Its name for people."""
        return "noise of one radius"


@dataclass(frozen=True, slots=True)
class Selection:
    """One draw of a high score by a ``rule`` whose pure ε has the square ``epsilon_squared``."""

    rule: Rule
    epsilon_squared: Fraction

    def __post_init__(self) -> None:
        """Refuse what tells nothing."""
        _check_positive(Fraction, epsilon_squared=self.epsilon_squared)

    @property
    def mechanism(self) -> str:
        """Its name for people."""
        return _RULES[self.rule]


@dataclass(frozen=True, slots=True)
class Together:
    """Several events about the same records, each ``times`` over: their losses add up."""

    events: tuple[Event, ...]
    times: int = 1

    def __post_init__(self) -> None:
        """Refuse nothing at all."""
        if not self.events or self.times < 1:
            raise ValueError("events together are at least one, at least once")

    @property
    def mechanism(self) -> str:
        """The names of all, each once."""
        return ", ".join(dict.fromkeys(event.mechanism for event in self.events))


Event: TypeAlias = DiscreteLaplace | DiscreteGaussian | OneRadius | Selection | Together


def event_to_json(event: Event) -> dict[str, object]:
    """Write an event as plain JSON values with exact ratios."""
    match event:
        case DiscreteLaplace():
            return {"laplace": str(event.scale), "l1": event.l1}
        case DiscreteGaussian():
            return {"gaussian": str(event.variance), "l2_squared": event.l2_squared}
        case OneRadius():
            return {"one_radius": str(event.scale), "l1": event.l1}
        case Selection():
            return {"selection": event.rule, "epsilon_squared": str(event.epsilon_squared)}
        case Together():
            return {"together": [event_to_json(part) for part in event.events], "times": event.times}


def event_from_json(data: object, *, argument: str) -> Event:
    """Read what :func:`event_to_json` wrote; refuse an unknown event rather than guess."""
    match data:
        case {"laplace": scale, "l1": int(l1), **rest} if not rest and l1 > 0:
            return DiscreteLaplace(_ratio(scale, argument=argument), l1)
        case {"gaussian": variance, "l2_squared": int(square), **rest} if not rest and square > 0:
            return DiscreteGaussian(_ratio(variance, argument=argument), square)
        case {"one_radius": scale, "l1": int(l1), **rest} if not rest and l1 > 0:
            return OneRadius(_ratio(scale, argument=argument), l1)
        case {"selection": named, "epsilon_squared": square, **rest} if not rest:
            for rule in _RULES:
                if rule == named:
                    return Selection(rule, _ratio(square, argument=argument))
        case {"together": [_, *_] as parts, "times": int(times), **rest} if not rest and times > 0:
            if not any(isinstance(part, dict) and "together" in part for part in parts):
                return Together(tuple(event_from_json(part, argument=argument) for part in parts), times)
    raise InputError(
        argument,
        found="found an event of an unknown kind, or a damaged one",
        remedy="use the file as panbayes wrote it, or a newer version of panbayes",
    )


def _ratio(value: object, *, argument: str) -> Fraction:
    found = parse_ratio(value, digits=MAX_EVENT_DIGITS)
    if not found:
        raise InputError(argument, found="found a damaged event", remedy="use the file as panbayes wrote it")
    return found
