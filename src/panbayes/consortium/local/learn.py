"""Learning in one process: both sides of the boundary, with the boundary kept.

The holders' tables go behind gates, the analyst's strategy gets a federation that can only ask them, and what comes
back is a network with its privacy statement. The only exception is the strategy ``non-private``, a bound for
comparison: it counts all records together, and its network says that it is not private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.asking import SMOOTHING, learn_structure
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.strategies import learn_from
from panbayes.consortium.local.gates import open_gates
from panbayes.errors import InputError
from panbayes.tables.table import Table

__all__ = ["NOT_PRIVATE", "learn"]

NOT_PRIVATE = "NOT PRIVATE: learned without noise, for comparison only. Do not release this."


def learn(
    study: Study,
    holders: object,
    *,
    state: str | Path | None = None,
    simulate: int | None = None,
) -> Network:
    """Learn a network as the study says.

    ``holders`` is a mapping from holder names to their data (files, data frames or tables), or the data of one holder.
    Each holder's spending is kept in a ledger under ``state`` (by default the user's state directory): the same study
    on the same data again gives the same network for free. With ``simulate``, noise comes from that seed, no ledger is
    kept, and the network is stamped not private.
    """
    study.schema.require_approved()
    named = dict(holders) if isinstance(holders, Mapping) else {"holder": holders}
    if not named:
        raise InputError("--holder", found="found none", remedy="give at least one NAME=FILE")
    tables = {name: _table(data, study, name) for name, data in named.items()}
    if not study.private:
        return _without_noise(study, tables)
    with open_gates(study, tables, state=state, simulate=simulate) as gates:
        federation = Federation(study, gates, simulated=simulate is not None)
        network = learn_from(federation)
    if simulate is not None:
        return network
    # The newest head of each ledger commits to all before it: who has the model can ask for the chain that leads there.
    heads = {f"ledger head of {name}": list(found.values())[-1] for name, found in federation.heads.items()}
    return replace(network, about={**network.about, **heads})


def _table(data: object, study: Study, name: str) -> Table:
    if isinstance(data, Table):
        if data.schema.hash != study.schema.hash:
            raise InputError(
                f"--holder {name}", found="is encoded by another schema", remedy="encode it by the study's schema"
            )
        if study.private and study.schema.unit is not None and data.persons is None:
            raise InputError(
                f"--holder {name}",
                found="is a table that does not know whose its records are, and the schema has a [unit]",
                remedy="read it with Table.read, which keeps each person's first records",
            )
        return data
    return Table.read(data, study.schema, argument=f"--holder {name}")


def _without_noise(study: Study, tables: Mapping[str, Table]) -> Network:
    """Learn from all records together, exactly: what privacy is compared with."""
    pooled = Table(study.schema, np.concatenate([table.codes for table in tables.values()], axis=1))
    counts = ExactCounts(pooled)
    network = fit(study.schema, learn_structure(study, counts), counts, smoothing=SMOOTHING)
    about = {"study": study.name, "strategy": study.strategy, "holders": ", ".join(sorted(tables))}
    return replace(network, about={**about, "warning": NOT_PRIVATE})
