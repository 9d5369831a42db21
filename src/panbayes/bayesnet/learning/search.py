"""Structure search: the greedy algorithm of PrivBayes, Chow–Liu as its first degree, and a penalised variant.

One attribute is placed first. Then, until all are placed, one family (child, parents) is chosen among all children
not placed and all parent sets inside what is placed, and the child is placed. Who chooses is an argument: ``choose``
takes the candidates and their scores and returns the index of one, so the best candidate (the default), the
exponential mechanism and a majority vote are the same search.

Every (child, parents) is scored once. In each round the candidates are all pairs of a remaining child and a known
parent set, and the only parent sets that were not known before contain the attribute placed last.

Thesis: Algorithm "Greedy BN Structure Learning"; Algorithm "Chow-Liu Algorithm"; see errata 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from panbayes.bayesnet.counts import Counts, FloatArray
from panbayes.bayesnet.learning.bic import bic_gains
from panbayes.bayesnet.learning.families import Choose, Families, best
from panbayes.bayesnet.learning.scores.mutual_information import INFORMATION
from panbayes.bayesnet.learning.scores.score import Scorer
from panbayes.bayesnet.structure import Family, Structure
from panbayes.errors import InputError

__all__ = ["GreedySearch", "chow_liu", "greedy", "penalised_greedy", "run"]


@dataclass(slots=True)
class GreedySearch:
    """The rounds of a greedy search: which candidates there are, and which pairs have been placed.

    Knows no data and no scores, so that an analyst and a holder can walk through the same rounds. ``exact`` parent
    sets have min(degree, placed) attributes, as in PrivBayes; otherwise they have 0 to ``degree``. With ``cap``, given
    the domain ``sizes``, a candidate is allowed only if its table has at most that many cells, or has no parents.
    """

    attributes: int
    degree: int
    first: int = 0
    exact: bool = True
    sizes: tuple[int, ...] = ()
    cap: int | None = None
    pairs: list[Family] = field(default_factory=list, init=False)
    parent_sets: list[tuple[int, ...]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        """Check the degree and place the first attribute."""
        if not 0 <= self.first < self.attributes:
            raise InputError("first", found=f"found {self.first}", remedy=f"give 0 to {self.attributes - 1}")
        lowest = 1 if self.exact else 0
        if not lowest <= self.degree < max(self.attributes, lowest + 1):
            raise InputError(
                "degree",
                found=f"found {self.degree} with {self.attributes} attributes",
                remedy=f"give {lowest} to {max(self.attributes - 1, lowest)}",
            )
        if self.cap is not None and (self.exact or len(self.sizes) != self.attributes):
            raise ValueError("a cap needs the domain sizes and parent sets of any length")
        if not self.exact:
            self.parent_sets.append(())
        self.place(self.first, ())

    @property
    def placed(self) -> tuple[int, ...]:
        """The attributes placed so far, in order."""
        return tuple(child for child, _ in self.pairs)

    @property
    def remaining(self) -> tuple[int, ...]:
        """The attributes not yet placed, ascending."""
        return tuple(sorted(set(range(self.attributes)).difference(self.placed)))

    @property
    def done(self) -> bool:
        """Whether every attribute is placed."""
        return len(self.pairs) == self.attributes

    @property
    def candidates(self) -> Families:
        """The candidates of this round."""
        return Families(tuple(self.parent_sets), self.remaining)

    def place(self, child: int, parents: tuple[int, ...]) -> None:
        """Place a child; makes the parent sets of the next round. Known sets keep their positions."""
        before = self.placed
        self.pairs.append((child, parents))
        if self.exact and len(before) < self.degree:
            # Fewer attributes than parents wanted: the one set is all of them.
            self.parent_sets[:] = [tuple(sorted((*before, child)))]
            return
        if self.cap is not None:
            # Sets too large for every child are dropped, and so are all that contain them.
            room = self.cap // min(self.sizes)
            known = [parents for parents in self.parent_sets if len(parents) < self.degree]
            made = (tuple(sorted((*parents, child))) for parents in known)
            self.parent_sets.extend(parents for parents in made if self._combinations(parents) <= room)
            return
        lengths = (self.degree,) if self.exact else range(1, self.degree + 1)
        self.parent_sets.extend(
            tuple(sorted((*others, child))) for size in lengths for others in combinations(sorted(before), size - 1)
        )

    def _combinations(self, parents: tuple[int, ...]) -> int:
        return math.prod(self.sizes[parent] for parent in parents)

    def allowed(self, parents: tuple[int, ...], children: Sequence[int]) -> tuple[int, ...]:
        """Return those of the children that may get these parents."""
        if self.cap is None or not parents:
            return tuple(children)
        room = self.cap // self._combinations(parents)
        return tuple(child for child in children if self.sizes[child] <= room)

    @property
    def structure(self) -> Structure:
        """The finished structure."""
        return Structure(tuple(self.pairs))


def _rounds(search: GreedySearch, counts: Counts, score: Scorer) -> Iterator[tuple[Families, FloatArray]]:
    """Yield each round's candidates and scores; the caller places one before the next."""
    known = np.empty((0, search.attributes))
    while not search.done:
        candidates = search.candidates
        children = list(candidates.children)
        if search.exact and len(candidates.parent_sets) <= len(known):
            known = known[:0]
        fresh = candidates.parent_sets[len(known) :]
        rows = np.full((len(fresh), search.attributes), -np.inf)
        for group, allowed in _by_children(search, fresh, candidates.children):
            rows[np.ix_(group, allowed)] = score(counts, [fresh[row] for row in group], allowed)
        known = np.concatenate([known, rows])
        yield candidates, known[:, children].ravel()


def _by_children(
    search: GreedySearch, parent_sets: Sequence[tuple[int, ...]], children: tuple[int, ...]
) -> list[tuple[list[int], tuple[int, ...]]]:
    """Group the parent sets by the children that may get them; without a cap there is one group."""
    groups: dict[tuple[int, ...], list[int]] = {}
    for row, parents in enumerate(parent_sets):
        groups.setdefault(search.allowed(parents, children), []).append(row)
    return [(rows, allowed) for allowed, rows in groups.items() if allowed]


def run(search: GreedySearch, counts: Counts, *, score: Scorer, choose: Choose = best) -> Structure:
    """Run a search to its end and return the structure."""
    for candidates, scores in _rounds(search, counts, score):
        search.place(*candidates[choose(candidates, scores)])
    return search.structure


def greedy(
    counts: Counts, degree: int, *, first: int = 0, score: Scorer = INFORMATION, choose: Choose = best
) -> Structure:
    """Learn a structure in which each attribute has min(``degree``, attributes placed before it) parents.

    ``first`` is the attribute placed first, a public choice. ``score`` gives the scores of all pairs of some parent
    sets and children (see :mod:`panbayes.bayesnet.learning.scores.score`).
    """
    return run(GreedySearch(len(counts.sizes), degree, first), counts, score=score, choose=choose)


def chow_liu(counts: Counts, *, root: int = 0) -> Structure:
    """Return the tree of greatest likelihood: the maximum spanning tree under mutual information.

    Growing a tree from its root by the heaviest edge that leaves it is Prim's algorithm, and is the greedy search of
    degree one.
    """
    if len(counts.sizes) == 1:
        return Structure.independent(1)
    return greedy(counts, 1, first=root)


def penalised_greedy(counts: Counts, degree: int, *, first: int = 0, choose: Choose = best) -> Structure:
    """Learn a structure with 0 to ``degree`` parents each, by the gain in the Bayesian information criterion.

    Raw mutual information always prefers more parents, however few records speak for them.
    """
    search = GreedySearch(len(counts.sizes), degree, first, exact=False)
    return run(search, counts, score=bic_gains, choose=choose)
