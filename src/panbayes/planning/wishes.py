"""The other way round: what it takes for errors to be as small as somebody wants them.

A wish is "marginals within 1 %" or "pairs within 2 %": the expected distance from the records (as a share) of single
attributes, or of the pairs that the network links, is at most that. Of ε, the number of records and the number of
holders two are given; the third is looked for, by halving, to two digits:

* the least **ε**, for so many records and holders;
* the least number of **records**, at the study's ε;
* the number of **holders**: if all records together are given, at most so many, because dividing them further adds the
  noise of every holder; if each holder's are, at least so many.

More is not always better: with more ε or records votes may prefer larger tables. Whether a larger number is not enough
again is looked for on the way to the largest there can be.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.planning.forecast import MOST_HOLDERS, Setting, forecaster

__all__ = [
    "MOST_EPSILON",
    "Wish",
    "epsilon_for",
    "holders_among",
    "holders_for",
    "most_holders",
    "parse_wish",
    "records_for",
    "worse_epsilon",
    "worse_records",
]

Of: TypeAlias = Literal["marginals", "pairs"]

MOST_EPSILON: Final = 1000.0
_LEAST_EPSILON: Final = 1e-4
_LOOKED_AT: Final = 30
_FORM: Final = re.compile(r"\s*(\w+)\s+within\s+([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*%\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Wish:
    """Errors ``of`` marginals or of pairs that are at most a ``share``."""

    of: Of
    share: float

    def met(self, setting: Setting) -> bool:
        """Tell whether errors in a ``setting`` are expected to be as small."""
        found = self.error(setting)
        return found is not None and found <= self.share

    def error(self, setting: Setting) -> float | None:
        """Return the error that is wished for, as it is expected; None where the network links no pairs."""
        errors = forecaster(setting.study).errors(setting)
        return errors.marginals if self.of == "marginals" else errors.pairs

    def __str__(self) -> str:
        """Write it as people do."""
        return f"{self.of} within {100 * self.share:g} %"


def parse_wish(text: str, *, argument: str) -> Wish:
    """Read a wish.

    >>> parse_wish("marginals within 1 %", argument="--want")
    Wish(of='marginals', share=0.01)
    """
    found = _FORM.fullmatch(text)
    share = float(found[2]) / 100 if found else 0.0
    if found and 0 < share < 1:
        match found[1]:
            case "marginals":
                return Wish("marginals", share)
            case "pairs":
                return Wish("pairs", share)
    raise InputError(
        argument,
        found=f'found "{text}"',
        remedy='give "marginals within 1 %" or "pairs within 2 %", with any number above 0 and below 100',
    )


def epsilon_for(wish: Wish, setting: Setting) -> float | None:
    """Return the least ε, to two digits; None if none up to :data:`MOST_EPSILON` is enough."""

    def good(logarithm: float) -> bool:
        try:
            return wish.met(_at(setting, math.exp(logarithm)))
        except InputError:
            return False  # With a δ there is an ε below which nothing may be spent.

    low, high = math.log(_LEAST_EPSILON), math.log(MOST_EPSILON)
    if not good(high):
        return None
    found = math.exp(_halved(low, high, good, precision=0.01))
    return next((value for value in _rounded_up(found) if wish.met(_at(setting, value))), None)


def worse_epsilon(wish: Wish, setting: Setting, epsilon: float) -> float | None:
    """Return an ε above one that is enough that is not; None if there seems to be none.

    With more ε votes may prefer larger tables, and the adaptive strategy may come to a further round.
    """
    return _first_unmet(epsilon, MOST_EPSILON, lambda value: wish.met(_at(setting, value)))


def worse_records(wish: Wish, setting: Setting, records: int, *, each: bool = False) -> int | None:
    """Return a number of records above one that is enough that is not; None if there seems to be none."""
    per = setting.holders if each else 1
    most = MAX_RECORDS // per
    found = _first_unmet(records, most, lambda value: wish.met(replace(setting, records=min(round(value), most) * per)))
    return None if found is None else round(found)


def _first_unmet(low: float, high: float, met: Callable[[float], bool]) -> float | None:
    """Return the first of some values, evenly spread by their logarithms, that is not ``met``."""
    steps = [low * (high / low) ** (step / _LOOKED_AT) for step in range(1, _LOOKED_AT + 1)]
    return next((float(f"{value:.2g}") for value in steps if not met(float(f"{value:.2g}"))), None)


def _at(setting: Setting, epsilon: float) -> Setting:
    return replace(setting, study=replace(setting.study, epsilon=Fraction(f"{epsilon:.6g}")))


def records_for(wish: Wish, setting: Setting, *, each: bool = False) -> int | None:
    """Return the least number of records of all holders together (or of ``each``), to two digits; None if none is."""
    per = setting.holders if each else 1

    def met(records: float) -> bool:
        return wish.met(replace(setting, records=max(setting.holders, min(round(records) * per, MAX_RECORDS))))

    high = math.log(MAX_RECORDS / per)
    if not met(math.exp(high)):
        return None
    low = math.log(1 if each else setting.holders)
    found = math.exp(_halved(low, high, lambda logarithm: met(math.exp(logarithm)), precision=0.01))
    return next((math.ceil(value) for value in _rounded_up(found) if met(math.ceil(value))), None)


def holders_among(wish: Wish, setting: Setting) -> int | None:
    """Return among how many holders the records may be divided at most; None if one is too many."""

    def met(holders: int) -> bool:
        return wish.met(replace(setting, holders=holders))

    if not met(1):
        return None
    low, high, most = 1, 2, min(MOST_HOLDERS, setting.records) if setting.study.how.several else 1
    while high <= most and met(high):
        low, high = high, 2 * high
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if met(middle) else (low, middle)
    return low


def most_holders(study: Study, *, each: int) -> int:
    """Return how many holders of ``each`` so many records are looked at."""
    return max(1, min(MOST_HOLDERS, MAX_RECORDS // each)) if study.how.several else 1


def holders_for(wish: Wish, setting: Setting, *, each: int) -> int | None:
    """Return the least number of holders with ``each`` so many records; None if no number is enough."""
    most = most_holders(setting.study, each=each)

    def met(holders: int) -> bool:
        return wish.met(replace(setting, holders=holders, records=holders * each))

    low, high = 0, 1
    while not met(high):
        if high == most:
            return None
        low, high = high, min(2 * high, most)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if met(middle) else (middle, high)
    return high


def _halved(low: float, high: float, good: Callable[[float], bool], *, precision: float) -> float:
    """Return about the least good number, where ``high`` is good."""
    while high - low > precision:
        middle = (low + high) / 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high


def _rounded_up(value: float) -> list[float]:
    """Return numbers of two digits from a value on: the first that is enough is taken."""
    step = 10.0 ** (math.floor(math.log10(value)) - 1)
    first = math.ceil(value / step - 1e-9)
    return [float(f"{(first + more) * step:.6g}") for more in range(8)]
