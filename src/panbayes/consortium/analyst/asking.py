"""What strategies have in common: whom they ask, what they make of answers, and the statement they end with.

Nothing here sees a record or draws noise; what is computed from releases is free (Theorem thm_post_proc). Whatever is
drawn at random (ties, pooled samples) derives from the study's hash and the releases (:func:`digest`), so that a run
that is resumed asks the same questions and gets the same network.

Tables are smoothed by adding one to each count, as in the thesis's experiments, so that no value has probability zero.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Final, Protocol, TypeVar

from panbayes._version import __version__
from panbayes.bayesnet.counts import Counts
from panbayes.bayesnet.learning.hill_climbing import hill_climbing
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.learning.search import chow_liu, greedy, penalised_greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.pooled_counts import PooledCounts, pool
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.protocol.messages import (
    GroupedTablesAnswer,
    ModelAnswer,
    ParentChoiceAnswer,
    Query,
    Release,
    TableChoiceAnswer,
    TablesAnswer,
    TablesQuery,
    ratio,
)
from panbayes.errors import InternalError
from panbayes.privacy import composition
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.statement import PrivacyStatement

__all__ = [
    "SMOOTHING",
    "Holders",
    "ask_counts",
    "digest",
    "expect",
    "finish",
    "fixed_degree",
    "learn_structure",
    "step",
]

SMOOTHING: Final = 1.0
"""Added to every count (thesis: section "Evaluation Metric")."""

AnswerType = TypeVar(
    "AnswerType", TablesAnswer, ParentChoiceAnswer, ModelAnswer, GroupedTablesAnswer, TableChoiceAnswer
)


class Holders(Protocol):
    """Holders that can be asked, and nothing else; see :class:`panbayes.consortium.analyst.federation.Federation`."""

    @property
    def study(self) -> Study:
        """The study they take part in."""

    @property
    def names(self) -> tuple[str, ...]:
        """The holders' names."""

    def ask(self, query: Query, *, round_number: int, only: Collection[str] | None = None) -> Mapping[str, Release]:
        """Put one query to all of them, or to some ``only``, and return every holder's release, by name."""


def learn_structure(study: Study, counts: Counts) -> Structure:
    """Search for a structure without noise, by the study's learner."""
    if len(study.schema) == 1:
        return Structure.independent(len(study.schema))
    match study.learner:
        case "chow-liu":
            return chow_liu(counts, root=study.first_attribute)
        case "hill-climbing":
            return hill_climbing(counts, fixed_degree(study))
        case "penalised":
            return penalised_greedy(counts, fixed_degree(study), first=study.first_attribute)
        case "greedy":
            return greedy(counts, fixed_degree(study), first=study.first_attribute)


def fixed_degree(study: Study) -> int:
    """Return the study's degree where it must be a number; studies are checked for that."""
    if study.degree == "auto":
        raise InternalError('degree "auto" reached a strategy that needs a number')
    return study.degree


def ask_counts(
    holders: Holders, sets: tuple[tuple[int, ...], ...], epsilon: Fraction, *, round_number: int
) -> tuple[Mapping[str, Release], PooledCounts]:
    """Ask for the tables of ``sets`` at ``epsilon`` for all together, and add them up over the holders."""
    study = holders.study
    query = TablesQuery(sets=sets, epsilon=ratio(epsilon), clip=study.clip == "holder")
    releases = holders.ask(query, round_number=round_number)
    cells = [expect(release, TablesAnswer).cells for release in releases.values()]
    total = sum(public_size(release) for release in releases.values())
    return releases, pool(cells, sets, sizes=study.schema.sizes, total=total)


def expect(release: Release, kind: type[AnswerType]) -> AnswerType:
    """Return the answer of a release, which the federation has checked to be of the kind asked for."""
    if not isinstance(release.answer, kind):
        raise InternalError(f"a release of another kind than asked for passed the federation: {kind.__name__}")
    return release.answer


def digest(*parts: str) -> str:
    """Hash public texts into the only randomness a strategy uses."""
    return hashlib.sha256("\0".join(("panbayes analyst 1", *parts)).encode()).hexdigest()


def step(what: str, mechanism: str, epsilon: Fraction) -> composition.Step:
    """Describe one step of what every holder spent."""
    return composition.Step(what, mechanism, Pure(epsilon))


def finish(
    study: Study,
    structure: Structure,
    counts: Counts,
    releases: Mapping[str, Release],
    steps: tuple[composition.Step, ...],
) -> Network:
    """Fit the tables and attach the statement of what was spent, for each holder's people.

    Thesis: Algorithm "Distributed BN Parameter Learning", after the counts have been retrieved.
    """
    spent = composition.Sequential(steps)
    each: composition.Composition = spent
    if len(releases) > 1:
        each = composition.Parallel((spent,) * len(releases), study.adjacency, separate=True)
    unit = study.schema.unit
    statement = PrivacyStatement(
        unit="person" if unit else "record",
        adjacency=study.adjacency,
        composition=composition.PostProcessed(each, "learning, sampling and questions"),
        public=("the schema", "the study", "the number of persons" if unit else "the number of records"),
        notes=(
            *([f"At most {unit.max_records} records of a person were used."] if unit else []),
            *(["A person held by h of the holders is protected at h times this loss."] if len(releases) > 1 else []),
        ),
        versions={"panbayes": __version__},
        private=all(release.private for release in releases.values()),
    )
    network = fit(study.schema, structure, counts, smoothing=SMOOTHING, privacy=statement)
    about = {"study": study.name, "strategy": study.strategy, "holders": ", ".join(sorted(releases))}
    return replace(network, about=about)
