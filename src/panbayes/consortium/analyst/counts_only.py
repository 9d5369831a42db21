"""Strategies that ask for counts alone: of every attribute, or of all sets of k+1 attributes."""

from __future__ import annotations

from itertools import combinations

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.analyst.asking import Holders, ask_counts, finish, fixed_degree, learn_structure, step

__all__ = ["learn_independent", "learn_sufficient_statistics"]


def learn_independent(holders: Holders) -> Network:
    """Learn every attribute alone, from its noisy table at ε/N."""
    study = holders.study
    sets = tuple((i,) for i in range(len(study.schema)))
    releases, counts = ask_counts(holders, sets, study.budget, round_number=0)
    steps = (step(f"counts of {len(sets)} attributes", "discrete Laplace", study.budget),)
    return finish(study, Structure.independent(len(sets)), counts, releases, steps)


def learn_sufficient_statistics(holders: Holders) -> Network:
    """Learn from noisy tables of all (k+1)-sets, and reuse them as parameters (``retrieved`` = True).

    Thesis: Algorithm "Sharing the Noisy Sufficient Statistics"; Theorem thm_noisy_ss_priv: every count gets noise of
    scale 2·C(N, k+1)/ε.
    """
    study = holders.study
    degree = fixed_degree(study)
    sets = tuple(combinations(range(len(study.schema)), degree + 1))
    releases, counts = ask_counts(holders, sets, study.budget, round_number=0)
    structure = learn_structure(study, counts)
    what = f"counts of all {len(sets)} sets of {degree + 1} attributes"
    return finish(study, structure, counts, releases, (step(what, "discrete Laplace", study.budget),))
