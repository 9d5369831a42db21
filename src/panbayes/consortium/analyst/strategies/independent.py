"""Every attribute alone, from its noisy table."""

from __future__ import annotations

from typing import Final

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.strategies import independent
from panbayes.consortium.analyst.holders import Holders
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.analyst.result import fitted

__all__ = ["INDEPENDENT"]


def _learn(holders: Holders) -> Network:
    study = holders.study
    sets = tuple((attribute,) for attribute in range(len(study.schema)))
    releases, counts = ask_tables(holders, independent.tables(study), sets, round_number=0)
    return fitted(study, Structure.independent(len(sets)), counts, releases)


INDEPENDENT: Final = Method(independent.INDEPENDENT.name, _learn)
