"""What a strategy ends with: a network that carries the statement of what was spent.

The statement is made here and nowhere else, from the steps that every holder spent. Nothing here sees a record or draws
noise; what is computed from releases is free (Theorem thm_post_proc).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from panbayes._version import __version__
from panbayes.bayesnet.counts import Counts, FloatArray
from panbayes.bayesnet.learning.hill_climbing import hill_climbing
from panbayes.bayesnet.learning.parameters import fit_tables
from panbayes.bayesnet.learning.search import chow_liu, greedy, penalised_greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.consortium.agreement.checks import fixed_degree
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.analyst.attendance import Attendance, attendance_notes
from panbayes.consortium.analyst.holders import Holders
from panbayes.consortium.protocol.envelope import Release
from panbayes.errors import InternalError
from panbayes.privacy.composition import Composition, Parallel, PostProcessed, Sequential, Step
from panbayes.privacy.statement import PrivacyStatement, implied_note

__all__ = ["SMOOTHING", "about", "finish", "fitted", "learn_structure", "state"]

SMOOTHING: Final = 1.0
"""Added to every count, so that no value has probability zero (thesis: section "Evaluation Metric")."""


def learn_structure(terms: Terms, counts: Counts) -> Structure:
    """Search for a structure without noise, by the study's learner."""
    if len(terms.schema) == 1:
        return Structure.independent(len(terms.schema))
    first = terms.first_attribute
    match terms.learner:
        case "chow-liu":
            return chow_liu(counts, root=first)
        case "hill-climbing":
            return hill_climbing(counts, fixed_degree(terms))
        case "penalised":
            return penalised_greedy(counts, fixed_degree(terms), first=first)
        case "greedy":
            return greedy(counts, fixed_degree(terms), first=first)


def fitted(holders: Holders, structure: Structure, counts: Counts, releases: Mapping[str, Release]) -> Network:
    """Fit the tables of a structure to pooled counts; holders have spent what the plan says of their questions.

    Thesis: Algorithm "Distributed BN Parameter Learning", after the counts have been retrieved.
    """
    plan = holders.study.plan
    spent = {name: plan.steps_after(one.query for one in asked) for name, asked in holders.attendance.items() if asked}
    private = all(release.private for release in releases.values())
    return finish(holders, structure, fit_tables(structure, counts, smoothing=SMOOTHING), spent, private=private)


def finish(
    holders: Holders,
    structure: Structure,
    tables: Sequence[FloatArray],
    spent: Mapping[str, Sequence[Step]],
    *,
    private: bool,
    error: Replicates | None = None,
) -> Network:
    """Put a network together with the statement of what each holder's people ``spent``; ``error`` where it is known.

    Whoever was asked anything has spent something, also a holder that dropped out before it answered.
    """
    study, attendance = holders.study, holders.attendance
    unsaid = {name for name, asked in attendance.items() if asked} ^ spent.keys()
    if unsaid:
        raise InternalError(f"{min(unsaid)} was asked and is not said to have spent anything, or the other way round")
    statement = state(study, spent, private=private, attendance=attendance)
    return Network(study.schema, structure, tuple(tables), statement, about(study, spent), error)


def about(study: Study, holders: Mapping[str, object]) -> dict[str, str]:
    """Return the few words that go with a network; who asked and why, as the study says, under ``study purpose``, …"""
    target = {"target": study.target} if study.target is not None and "target" in study.how.reads else {}
    asked = {f"study {name}": text for name, text in study.about.given.items()}
    return {"study": study.name, "strategy": study.strategy, **target, "holders": ", ".join(sorted(holders)), **asked}


def state(
    study: Study, spent: Mapping[str, Sequence[Step]], *, private: bool, attendance: Attendance
) -> PrivacyStatement:
    """Return the statement: every holder protects its own people, at what was spent of theirs."""
    parts = tuple(Sequential(tuple(steps)) for _, steps in sorted(spent.items()))
    whole: Composition = parts[0] if len(parts) == 1 else Parallel(parts, study.adjacency, separate=True)
    unit, grant = study.schema.unit, study.grant
    people = ("the number of persons" if unit else "the number of records",) if study.adjacency == "replace" else ()
    return PrivacyStatement(
        unit="person" if unit else "record",
        adjacency=study.adjacency,
        composition=PostProcessed(whole, "learning, sampling and questions"),
        public=("the schema", "the study", *people),
        notes=(
            *([implied_note(grant, epsilon=study.epsilon, delta=study.delta)] if study.epsilon and study.delta else []),
            *([f"At most {unit.max_records} records of a person were used."] if unit else []),
            *(["A person held by h of the holders is protected at h times this loss."] if len(parts) > 1 else []),
            *attendance_notes(attendance),
        ),
        versions={"panbayes": __version__},
        private=private,
    )
