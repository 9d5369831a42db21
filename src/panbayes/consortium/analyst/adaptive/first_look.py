"""The first look: whether any attributes hang together, before a single one is measured.

Every holder looks at all pairs of attributes, their values in at most :data:`GROUPS` groups, by how far each is from
independence as its own margins have it. So nothing needs to be known about single attributes, and if nothing hangs
together they get all that is left, measured once. A pair is worth its distance less what chance makes of independent
attributes: at most 0.8·√(k·n) + 1.2·√n for k cells and n records (:mod:`panbayes.consortium.analyst.adaptive.offers`).

Looked at is the T-th best pair of a forest of the best, T = 1 + ⌊N/16⌋ for N attributes. If it is above
:data:`DEVIATIONS` deviations of the look's noise, the holder finds that attributes hang together; the study goes on if
holders with at least half of all records do, of those that answered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import combinations
from typing import Final

from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.offers import MEAN_ABSOLUTE
from panbayes.consortium.analyst.adaptive.session import Session
from panbayes.consortium.protocol.queries import Count, Grouping, TableCandidate
from panbayes.privacy.adjacency import TableSensitivity, dependence_sensitivity
from panbayes.privacy.events import Event

__all__ = ["DEVIATIONS", "GROUPS", "attributes_hang_together", "first_noise"]

GROUPS: Final = 8
DEVIATIONS: Final = 2.0

_EVERY: Final = 16
_SPREAD: Final = 1.2
"""Two standard deviations of what chance makes of a distance, in √n."""


def attributes_hang_together(session: Session, records: Mapping[str, float], fraction: Fraction) -> bool:
    """Let all holders look, at a ``fraction`` of the grant; ``records`` are how many each has, or about so many."""
    sizes = session.sizes
    loss, noise = session.grant.loss.part(fraction), _noise(session, fraction)
    groupings = tuple(_grouped(attribute, size) for attribute, size in enumerate(sizes))
    cells = {
        pair: min(GROUPS, sizes[pair[0]]) * min(GROUPS, sizes[pair[1]]) for pair in combinations(range(len(sizes)), 2)
    }
    found = session.look(
        {
            name: tuple(TableCandidate(pair, _chance(many, number), 0) for pair, many in cells.items())
            for name, number in records.items()
        },
        groupings,
        Count(1 + len(sizes) // _EVERY, 0),
        noise,
        loss,
        least=math.ceil(DEVIATIONS * NoiseLaw.of(noise).deviation),
        round_number=1,
    )
    return 2 * sum(records[name] for name, count in found.items() if count) >= sum(records[name] for name in found)


def first_noise(session: Session, fraction: Fraction) -> float:
    """Return the standard deviation of the noise of a look at a ``fraction`` of the grant, in records."""
    return NoiseLaw.of(_noise(session, fraction)).deviation


def _noise(session: Session, fraction: Fraction) -> Event:
    study = session.holders.study
    moved = dependence_sensitivity(adjacency=study.adjacency, max_records=study.schema.max_records)
    return session.grant.loss.part(fraction).tables_event(TableSensitivity(moved, moved**2))


def _grouped(attribute: int, size: int) -> Grouping:
    """Put neighbouring values together into at most :data:`GROUPS` groups."""
    return Grouping(attribute, () if size <= GROUPS else tuple(value * GROUPS // size for value in range(size)))


def _chance(cells: int, records: float) -> int:
    return math.ceil(MEAN_ABSOLUTE * math.sqrt(cells * records) + _SPREAD * math.sqrt(records))
