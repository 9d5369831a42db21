"""Every score by its name: what the modules of this folder define."""

from __future__ import annotations

from functools import cache

from panbayes.bayesnet.learning.scores.score import Score
from panbayes.discovery import registry
from panbayes.errors import InputError, nearest

__all__ = ["score_named", "scores"]


@cache
def scores() -> dict[str, Score]:
    """Return every score by its name.

    >>> scores()["F"].binary_child
    True
    """
    return registry("panbayes.bayesnet.learning.scores", Score, lambda score: score.name)


def score_named(name: str, *, argument: str = "score") -> Score:
    """Return the score of this name, or complain about ``argument``.

    >>> score_named("J")
    Traceback (most recent call last):
    ...
    panbayes.errors.InputError: score: found "J"; known: ...
    """
    if name not in scores():
        raise InputError(argument, found=f'found "{name}"', remedy=nearest(name, sorted(scores())))
    return scores()[name]
