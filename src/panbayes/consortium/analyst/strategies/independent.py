"""Every attribute alone, from its noisy table.

The network knows the error of single attributes: replicates are drawn as the noise and the chance in the records would
have them. Nobody looked at dependencies, so of several attributes together it says that no error is known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.consortium.agreement.strategies import independent
from panbayes.consortium.analyst.adaptive.noise_law import NoiseLaw
from panbayes.consortium.analyst.adaptive.replicates import single_replicates
from panbayes.consortium.analyst.holders import Holders, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import ask_tables
from panbayes.consortium.analyst.result import fitted
from panbayes.errors import InternalError

__all__ = ["INDEPENDENT"]


def _learn(holders: Holders) -> Network:
    study = holders.study
    sets = tuple((attribute,) for attribute in range(len(study.schema)))
    stage = independent.tables(study)
    releases, counts = ask_tables(holders, stage, sets, round_number=0)
    network = fitted(holders, Structure.independent(len(sets)), counts, releases)
    (event,) = (step.event for step in stage.steps)
    if event is None:
        raise InternalError("the study does not say by what its tables are made noisy")
    rng = np.random.default_rng(int(digest(study.hash, "replicates")[:32], 16))
    variance = NoiseLaw.of(event, holders=len(releases)).deviation ** 2
    return replace(network, error=single_replicates(network.tables, variance, counts.total, rng))


INDEPENDENT: Final = Method(independent.INDEPENDENT.name, _learn)
