"""Noisy sufficient statistics: search in noisy tables of all sets of k+1 attributes, and reuse them as parameters.

Thesis: Algorithm "Sharing the Noisy Sufficient Statistics" (``retrieved`` = True); Theorem thm_noisy_ss_priv: every
count gets noise of scale 2·C(N, k+1)/ε.
"""

from __future__ import annotations

from itertools import combinations
from typing import Final

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.checks import fixed_degree
from panbayes.consortium.agreement.strategies import sufficient_statistics
from panbayes.consortium.analyst.holders import Holders
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.analyst.result import fitted, learn_structure

__all__ = ["SUFFICIENT_STATISTICS"]


def _learn(holders: Holders) -> Network:
    study = holders.study
    sets = tuple(combinations(range(len(study.schema)), fixed_degree(study) + 1))
    releases, counts = ask_tables(holders, sufficient_statistics.tables(study), sets, round_number=0)
    return fitted(holders, learn_structure(study, counts), counts, releases)


SUFFICIENT_STATISTICS: Final = Method(sufficient_statistics.SUFFICIENT_STATISTICS.name, _learn)
