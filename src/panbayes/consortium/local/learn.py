"""Learning in one process: both sides of the boundary, with the boundary kept.

The holders' tables go behind gates, the analyst's strategy gets a federation that can only ask them, and what comes
back is a network with its privacy statement. The only exception is the strategy ``non-private``, a bound for
comparison: it counts all records together, and its network says that it is not private.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.analyst.result import SMOOTHING, about, learn_structure
from panbayes.consortium.holder.misfits import show_misfits
from panbayes.consortium.holder.records import Records, read_for
from panbayes.consortium.local.gates import check_own, open_gates, read_declared, write_down_look
from panbayes.display import shortened
from panbayes.errors import InputError, visible
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.written import Written
from panbayes.schema.schema import Schema
from panbayes.tables.counter import Counter, SumCounter
from panbayes.tables.table import Table

__all__ = ["NOT_PRIVATE", "learn"]

NOT_PRIVATE = "NOT PRIVATE: learned without noise, for comparison only. Do not release this."


@overload
def learn(
    study: Study | str | Path,
    holders: object,
    *,
    holder: str = ...,
    state: str | Path | None = ...,
    simulate: int | None = ...,
) -> Network: ...
@overload
def learn(
    study: object,
    holders: Schema | str | Path,
    *,
    epsilon: Written,
    delta: Written = ...,
    adjacency: Adjacency = ...,
    strategy: str = ...,
    target: str | None = ...,
    holder: str = ...,
    state: str | Path | None = ...,
    simulate: int | None = ...,
) -> Network: ...
def learn(
    study: object,
    holders: object,
    *,
    epsilon: Written | None = None,
    delta: Written | None = None,
    adjacency: Adjacency | None = None,
    strategy: str | None = None,
    target: str | None = None,
    holder: str = "holder",
    state: str | Path | None = None,
    simulate: int | None = None,
) -> Network:
    """Learn a network: by a study from its holders, or from one table and its schema.

    ``learn(study, holders)``: ``study`` is a :class:`Study` or the path of a study file; ``holders`` is a mapping from
    holder names to their data (files, data frames or tables), or the data of one holder, known as ``holder``.

    ``learn(data, schema, epsilon=1)``: a file, data frame or table, and the public schema or its path; a study is made
    up from ``epsilon``, ``delta``, ``adjacency``, ``strategy`` and ``target``, with the defaults of :class:`Study`.

    Each holder's spending is kept in a ledger under ``state`` (by default the user's state directory): the same study
    on the same data again gives the same network for free, other studies add up, and other data under the same name
    are refused. With ``simulate``, noise comes from that seed, no ledger is kept, and the network is stamped not
    private.

    >>> import polars as pl
    >>> from panbayes.schema.attribute import Attribute
    >>> frame = pl.DataFrame({"smokes": ["no", "yes", "no", "no"] * 500})
    >>> schema = Schema("clinic", (Attribute("smokes", categories=("no", "yes")),))
    >>> network = learn(frame, schema, epsilon=1, holder="north", simulate=7)
    >>> 0.2 < network.posterior("smokes")["yes"] < 0.3
    True
    """
    if simulate is not None and (not hasattr(simulate, "__index__") or simulate < 0):
        raise InputError("simulate", found=f"found {simulate!r}", remedy="give a seed of 0 or more, or leave it out")
    options: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": adjacency,
        "strategy": strategy,
        "target": target,
    }
    chosen = {name: value for name, value in options.items() if value is not None}
    if isinstance(study, Study) and chosen:
        raise InputError(
            ", ".join(chosen),
            found="found beside a study, which says it already",
            remedy="leave it out, or change the study",
        )
    agreed, data = study, holders
    if epsilon is not None or isinstance(holders, Schema):
        schema = holders if isinstance(holders, Schema) else _schema(holders)
        agreed, data = Study("study", schema, **chosen), study
    elif chosen:
        raise InputError(", ".join(chosen), found="found without epsilon", remedy="give a schema and epsilon=… too")
    if not isinstance(agreed, Study):
        agreed = _study(agreed)
    agreed.schema.require_approved()
    _warn_of_drafted(agreed.schema)
    named = dict(data) if isinstance(data, Mapping) else {holder: data}
    if not named:
        raise InputError("holders", found="found none", remedy="give at least one, by name")
    for name in named:
        _check_name(name)
    return _learn(agreed, named, state=state, simulate=simulate)


def _warn_of_drafted(schema: Schema) -> None:
    """Say that an approved schema is a draft in part: what it names may be known from the records alone."""
    names = schema.drafted
    if names:
        line = (
            f"warning: {schema.source}: {len(names)} of {len(schema)} attributes are as a draft read them off the data,"
            f" and every model names their values ({shortened(names, width=60)}); check them against what is publicly "
            "known, then remove their lines drafted = true"
        )
        sys.stderr.write(f"{visible(line)}\n")


def _check_name(given: object) -> None:
    """Refuse a holder's name that is no text, or that no file could hold."""
    try:
        named = isinstance(given, str) and bool(given.encode().strip())
    except UnicodeEncodeError:
        named = False
    if not named:
        raise InputError("holders", found=f"found the name {given!r}", remedy="give every holder a text as its name")


def _schema(given: object) -> Schema:
    if not isinstance(given, str | Path):
        raise InputError(
            "schema", found=f"found a {type(given).__name__}", remedy="give a Schema or the path of a schema file"
        )
    return Schema.load(given)


def _study(given: object) -> Study:
    if not isinstance(given, str | Path):
        raise InputError(
            "study",
            found=f"found a {type(given).__name__} and no epsilon",
            remedy="give a Study or the path of a study file; or data, a schema and epsilon=…",
        )
    return Study.load(given)


def _learn(study: Study, named: Mapping[str, object], *, state: str | Path | None, simulate: int | None) -> Network:
    if study.private and simulate is None:
        check_own(named)
    if study.chosen_blocks is not None and (simulate is not None or not study.private):
        raise InputError("blocks", found="found some", remedy="leave them out: only a ledger knows who is in a block")
    with ExitStack() as stack:
        found = read_declared(study, named, state=state, stack=stack) if simulate is None else {}
        declared = {name: account for name, (_, account) in found.items()}
        tables = {
            name: found[name][0] if name in found else _records(data, study, name, stack)
            for name, data in named.items()
        }
        for name, table in tables.items():
            if table.origin is not None:
                show_misfits(name, table.origin.fit)
        kind = next(iter(tables.values())).kind
        if not study.private:
            write_down_look(study, tables, state=state, declared=declared)
            return replace(_without_noise(study, tables), frame_kind=kind)
        with open_gates(study, tables, state=state, simulate=simulate, declared=declared) as gates:
            federation = Federation(study, gates, simulated=simulate is not None)
            network = replace(learn_from(federation), frame_kind=kind)
    if simulate is not None:
        return network
    # The newest head of each ledger commits to all before it: who has the model can ask for the chain that leads there.
    heads = {f"ledger head of {name}": list(found.values())[-1] for name, found in federation.heads.items()}
    return replace(network, about={**network.about, **heads})


def _records(data: object, study: Study, name: str, stack: ExitStack) -> Records:
    """Return a holder's records, in memory or, where they are many, in a file that is gone when the stack ends."""
    if isinstance(data, Table):
        if data.schema.hash != study.schema.hash:
            raise InputError(
                f"holder {name}", found="is encoded by another schema", remedy="encode it by the study's schema"
            )
        if study.private and study.schema.unit is not None and data.persons is None:
            raise InputError(
                f"holder {name}",
                found="is a table that does not know whose its records are, and the schema has a [unit]",
                remedy="read it with Table.read, which keeps each person's first records",
            )
        return data
    return read_for(study, data, argument=f"holder {name}", stack=stack)


def _without_noise(study: Study, tables: Mapping[str, Records]) -> Network:
    """Learn from all records together, exactly: what privacy is compared with."""
    counts = ExactCounts(_together(list(tables.values())))
    network = fit(study.schema, learn_structure(study, counts), counts, smoothing=SMOOTHING)
    return replace(network, about={**about(study, tables), "warning": NOT_PRIVATE})


def _together(tables: Sequence[Records]) -> Counter:
    """Return the records of all holders as one."""
    at_hand = [table for table in tables if isinstance(table, Table)]
    if len(at_hand) < len(tables):
        return SumCounter(tuple(tables))
    return Table(at_hand[0].schema, np.concatenate([table.codes for table in at_hand], axis=1))
