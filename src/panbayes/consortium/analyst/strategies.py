"""How the analyst learns: each strategy is a small function over ``ask``.

================================= ============================================== ======================================
strategy                          asks                                           then
================================= ============================================== ======================================
``adaptive``                      tables and choices in turns, see its module     estimates with the noise in mind
``privbayes``                     one local model of the one holder              normalises its tables
``independent``                   counts of every attribute, ε/N each            adds up, normalises
``noisy-sufficient-statistics``   counts of all (k+1)-sets, all of ε             adds up, searches, reuses the tables
``noisy-majority-voting``         N−1 votes, then counts of N sets               the most-voted pair each round
``noisy-model``                   one local model of each holder                 pools n_j synthetic records of each
================================= ============================================== ======================================

What they have in common is in :mod:`panbayes.consortium.analyst.asking`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from panbayes.bayesnet.network import Network
from panbayes.consortium.analyst.adaptive.strategy import learn_adaptive
from panbayes.consortium.analyst.asking import Holders
from panbayes.consortium.analyst.counts_only import learn_independent, learn_sufficient_statistics
from panbayes.consortium.analyst.local_models import learn_noisy_model, learn_privbayes
from panbayes.consortium.analyst.majority_voting import learn_majority_voting

__all__ = ["STRATEGIES", "learn_from"]

STRATEGIES: Final[dict[str, Callable[[Holders], Network]]] = {
    "adaptive": learn_adaptive,
    "privbayes": learn_privbayes,
    "independent": learn_independent,
    "noisy-sufficient-statistics": learn_sufficient_statistics,
    "noisy-majority-voting": learn_majority_voting,
    "noisy-model": learn_noisy_model,
}


def learn_from(holders: Holders) -> Network:
    """Learn a network by the study's strategy."""
    return STRATEGIES[holders.study.strategy](holders)
