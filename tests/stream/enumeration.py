"""The joint loss by brute force: every history of one user, every value of the state, every output."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from panbayes.stream.laws.state_law import COIN, StateLaw

Array = NDArray[np.float64]

KEEP, INSERT, DELETE = 0, 1, 2
LOOK = None
"""An observation: a look at the state (None) or an output with this noise scale."""


def likelihoods(law: StateLaw, history: Sequence[int], seen: Sequence[float | None]) -> Array:
    """Return the joint likelihood of all observations, up to a factor that no history changes.

    ``history[i]`` is what last happened to the user before observation i. Outputs range over 0 … the largest score:
    beyond, the likelihood ratio stays the same.
    """
    init, update = (np.array(weights) / COIN for weights in (law.init, law.update))
    scores = np.array(law.scores)
    outputs = np.arange(scores[-1] + 1)
    joint: Array = init.copy()
    for event, scale in zip(history, seen, strict=True):
        if event != KEEP:
            joint = joint.sum(axis=-1, keepdims=True) * (update if event == INSERT else init)
        if scale is None:
            seen_given_entry: Array = np.eye(law.levels)
        else:
            seen_given_entry = np.exp(-np.abs(outputs[:, None] - scores[None, :]) / scale)
        joint = joint[..., None, :] * seen_given_entry
    return np.asarray(joint.sum(axis=-1))


def loss_between(law: StateLaw, histories: Iterable[Sequence[int]], seen: Sequence[float | None]) -> float:
    """Return the largest log likelihood ratio between any two of the histories."""
    with np.errstate(divide="ignore"):
        tables = [np.log(likelihoods(law, history, seen)) for history in histories]
    high, low = np.maximum.reduce(tables), np.minimum.reduce(tables)
    possible = high > -math.inf
    return float(np.max(high[possible] - low[possible]))


def exact_loss(law: StateLaw, scales: Sequence[float], *, events: Sequence[int] = (KEEP, INSERT, DELETE)) -> float:
    """Return the exact joint loss of one look, at the worst time, and all outputs."""
    worst = 0.0
    for place in range(len(scales) + 1):
        seen: list[float | None] = [*scales[:place], LOOK, *scales[place:]]
        histories = itertools.product(events, repeat=len(seen))
        worst = max(worst, loss_between(law, histories, seen))
    return worst
