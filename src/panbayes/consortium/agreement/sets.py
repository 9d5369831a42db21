"""Sets of attributes whose tables a study may ask for."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from math import comb

from panbayes.consortium.agreement.limits import MAX_CELLS, cells_text
from panbayes.consortium.agreement.plan import Fixed, Stage
from panbayes.consortium.agreement.terms import Terms
from panbayes.consortium.protocol.queries import TablesQuery, ratio
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.composition import Step
from panbayes.privacy.loss import Loss

__all__ = ["all_sets", "tables_stage", "tables_step"]


def all_sets(attributes: int, size: int) -> Callable[[tuple[tuple[int, ...], ...]], bool]:
    """Return the test whether sets are all of ``size`` among so many ``attributes``, once each."""

    def test(sets: tuple[tuple[int, ...], ...]) -> bool:
        if len(sets) != comb(attributes, size):
            return False
        return {tuple(sorted(found)) for found in sets} == set(combinations(range(attributes), size))

    return test


def tables_step(terms: Terms, loss: Loss, *, tables: int, what: str) -> Step:
    """Describe noisy tables, ``tables`` of them together at ``loss``."""
    moved = TableSensitivity.of(adjacency=terms.adjacency, max_records=terms.max_records, tables=tables)
    return Step.of(what, loss.tables_event(moved), loss=loss)


def tables_stage(
    terms: Terms,
    loss: Pure,
    *,
    tables: int,
    cells: int,
    what: str,
    rule: Callable[[TablesQuery], str | None],
) -> Stage[TablesQuery]:
    """Return the stage that asks once for noisy ``tables`` at ``loss`` for all together; ``rule`` judges their sets.

    They have at most ``cells`` together.

    Thesis: Theorem thm_noisy_ss_priv.
    """
    return Stage(
        TablesQuery,
        times=1,
        words=what,
        most=cells_text(cells),
        loss=loss,
        fixed={
            "clip": Fixed("counts are clipped by the", terms.holder_clips, terms.clip),
            # Compared as text, so that one ε has one spelling and one question one id.
            "epsilon": Fixed("ε of the counts:", ratio(loss.amount)),
        },
        rule=rule,
        steps=(tables_step(terms, loss, tables=tables, what=what),),
        numbers=min(cells, MAX_CELLS),
    )
