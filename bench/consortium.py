"""The consortium on Diabetes at k = 1, ε = 1, with secure noise: CPU time, messages and bytes, linearity, the peers.

Each run is a whole study: new ledgers on disk, gates, every question and answer across the boundary, the network. Times
are CPU time of this process with all its threads, after one run to warm the kernels; medians where there are several
runs. The peers (dpart, DataSynthesizer) run once each, in ``.venv-peers`` (``make peers``). They get the same values as
text. Ours is timed from a data frame of text as well as from an encoded table, since dpart starts from a data frame.

DataSynthesizer gets the first 14 attributes only: its time grows with the square of the attributes, times the size of
the table that it copies to a worker for every single score, and all 43 would take it hours.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl

from bench.data import diabetes
from bench.peer_privbayes import PeerError, environment, peer_seconds
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.federation import Federation, Traffic
from panbayes.consortium.analyst.method import learn_from
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.local.learn import learn
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.table import Table

__all__ = ["run"]

RUNS = 5
FEW_ATTRIBUTES = 14
PEER_LIMIT = 900.0
"""Seconds on the clock after which a peer is given up."""

TARGETS: Mapping[str, str] = {"noisy-majority-voting": "under 3", "noisy-sufficient-statistics": "under 6"}
STRATEGIES: Sequence[str] = [name for name, strategy in strategies().items() if strategy.private and strategy.several]
HOLDER_RECORDS = 2_000
HOLDERS = (1, 3, 10, 30, 100)
SIZES = (0.5, 1.0, 2.0, 4.0)


def run() -> None:
    """Print every figure."""
    table = diabetes()
    print(f"Diabetes: {table.records:,} records, {len(table.schema)} attributes; k = 1, ε = 1, secure noise; CPU-s")
    _strategies(table)
    _records(table)
    _holders(table)
    _peers(table)


def _study(schema: Schema, strategy: str) -> Study:
    return Study("bench", schema, strategy, epsilon=Fraction(1))


def _seconds(task: Callable[[Path], object]) -> float:
    """Return the CPU time of a task that gets a new state directory."""
    with tempfile.TemporaryDirectory() as state:
        start = time.process_time()
        task(Path(state))
        return time.process_time() - start


def _learning(study: Study, data: object, runs: int = 1) -> float:
    """Return the median CPU time of ``runs`` whole studies."""
    return statistics.median(_seconds(lambda state: learn(study, data, state=state)) for _ in range(runs))


def _round_robin(table: Table, holders: int) -> dict[str, Table]:
    return {f"holder {j}": table.select(slice(j, None, holders)) for j in range(holders)}


def _traffic(study: Study, tables: Mapping[str, Table], state: Path) -> Mapping[str, Traffic]:
    """Run a study; return what went to and fro."""
    with open_gates(study, tables, state=state) as gates:
        federation = Federation(study, gates)
        learn_from(federation)
    return federation.traffic


def _strategies(table: Table) -> None:
    print("three holders (round robin):")
    tables = _round_robin(table, 3)
    for strategy in STRATEGIES:
        study = _study(table.schema, strategy)
        with tempfile.TemporaryDirectory() as state:
            each = _traffic(study, tables, Path(state))["holder 0"]
        middle = _learning(study, tables, RUNS)
        target = f" (target: {TARGETS[strategy]})" if strategy in TARGETS else ""
        print(
            f"  {strategy:<28} {middle:.2f} s{target}; messages per holder: {each.messages} "
            f"({each.bytes_sent:,} bytes to it, {each.bytes_received:,} from it)"
        )


def _resample(table: Table, records: int, seed: int) -> Table:
    return table.select(np.random.default_rng(seed).integers(table.records, size=records))


def _records(table: Table) -> None:
    print("records resampled, in CPU-s, and in brackets the cost of a record relative to 1x: above 1x, linear or less")
    print("gives at most 1; below 1x, the cost that does not depend on the records shows:")
    cases: tuple[tuple[str, int], ...] = (
        ("privbayes", 1),
        ("noisy-majority-voting", 3),
        ("noisy-sufficient-statistics", 3),
    )
    for strategy, holders in cases:
        study = _study(table.schema, strategy)
        found: dict[float, float] = {}
        for factor in SIZES:
            tables = _round_robin(_resample(table, round(factor * table.records), 1), holders)
            found[factor] = _learning(study, tables, 3)
        listed = ", ".join(
            f"{factor:g}x {seconds:.2f} ({seconds / factor / found[1.0]:.2f})" for factor, seconds in found.items()
        )
        print(f"  {strategy:<28} {listed}")


def _holders(table: Table) -> None:
    print(f"holders of {HOLDER_RECORDS:,} resampled records, CPU-ms per holder:")
    everyone = {f"holder {j}": _resample(table, HOLDER_RECORDS, j) for j in range(max(HOLDERS))}
    for strategy in STRATEGIES:
        study = _study(table.schema, strategy)
        listed = []
        for holders in HOLDERS:
            tables = dict(list(everyone.items())[:holders])
            seconds = _learning(study, tables)
            listed.append(f"M = {holders}: {1e3 * seconds / holders:.0f}")
        print(f"  {strategy:<28} {', '.join(listed)}")


def _first(table: Table, attributes: int) -> Table:
    schema = replace(table.schema, attributes=table.schema.attributes[:attributes])
    return Table(schema, table.codes[:attributes].astype(code_type(schema)))


def _peers(table: Table) -> None:
    cases = (("dpart", table), ("DataSynthesizer", _first(table, FEW_ATTRIBUTES)))
    print("privbayes with one holder, against PrivBayes of the peers (target: at least 50 times faster):")
    for peer, data in cases:
        study = _study(data.schema, "privbayes")
        frame = data.frame()
        _learning(study, frame)
        ours, encoding = _learning(study, data, RUNS), _learning(study, frame, RUNS)
        print(
            f"  {len(data.schema)} attributes: panbayes {ours:.2f} s from a table, {encoding:.2f} s from a data frame "
            f"of text; {_against(peer, data, ours, encoding)}"
        )


def _against(peer: str, data: Table, ours: float, encoding: float) -> str:
    if not environment().exists():
        return f"{peer} is not installed: run `make peers` first, which puts it into .venv-peers"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "peer.csv"
        _as_text(data).write_csv(file)
        try:
            theirs = peer_seconds(peer, file, limit=PEER_LIMIT)
        except PeerError as error:
            return f"{peer} {error}"
    return f"{peer} {theirs:.1f} s, {theirs / ours:.0f} and {theirs / encoding:.0f} times as long"


def _as_text(data: Table) -> pl.DataFrame:
    """Write every code c as the text ``vc``: the values that mean "missing" to us would be guessed at by the peers."""
    columns = {
        name: pl.Series(codes).cast(pl.String) for name, codes in zip(data.schema.names, data.codes, strict=True)
    }
    return pl.DataFrame(columns).select(("v" + pl.all()).name.keep())
