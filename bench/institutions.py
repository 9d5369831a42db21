"""Between institutions, on loopback: TLS, signatures, ledgers on disk, secure noise, no grid; real processes.

* a vote round beyond computing: the median time between two questions of a study on small tables, where there is next
  to nothing to compute;
* voting on Diabetes: three holders, 42 rounds, from the start of the analyst's command to the model;
* a round of 5 MB: three holders answer with so many counts; asked again, from the ledger, so that nothing is computed;
* an agent that has nothing to do: its memory, its share of a processor;
* fifty holders in one run.

The agents run already and have not computed anything yet: what a first question costs, loading and reading, is in the
total of a run and not in its median round.
"""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
from tests.institutions.parties import SCHEMA, Consortium, Running, Terms

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.letters import Letter
from panbayes.dp.simulated import SimulatedNoise
from panbayes.tables.table import Table

__all__ = ["run"]

NAMES = ("north", "south", "west")
SHARED = Path(__file__).resolve().parents[2] / "shared" / "data" / "dataset_diabetes.zip"
MANY = 50
IDLE_SECONDS = 20.0


def run() -> None:
    """Print every figure."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        _vote_round(base / "votes")
        _diabetes(base / "diabetes")
        _large_round(base / "large")
        _idle(base / "idle")
        _many(base / "many")


@contextmanager
def _serving(box: Consortium) -> Iterator[list[Running]]:
    """Have a study approved, the mailbox served and every agent waiting; yield the agents."""
    box.certificate()
    box.approve(box.propose())
    try:
        server = box.analyst.start(*box.serving(), log="server")
        server.until_said("serving")
        agents = [party.start("holder", "serve") for party in box.holders.values()]
        _until_connected(box, server, agents)
        yield agents
    finally:
        box.end()


def _until_connected(box: Consortium, server: Running, agents: Sequence[Running]) -> None:
    """Wait until every agent has brought its approval: then it is there."""
    end = time.monotonic() + 300
    while len(list(box.post.glob("from-*/*.approval"))) < len(agents):
        assert time.monotonic() < end, server.said
        time.sleep(0.05)


def _learn(box: Consortium, *, output: str = "model.json") -> float:
    """Run the analyst's command to its end; return its seconds."""
    start = time.perf_counter()
    done = box.analyst.run(*box.learning("--wait", output=output), limit=900)
    assert done.returncode == 0, done.stderr
    return time.perf_counter() - start


def _rounds(box: Consortium, name: str) -> list[float]:
    """Return the seconds between the questions that a holder was asked."""
    moments = [path.stat().st_mtime_ns for path in sorted((box.post / f"to-{name}").glob("*.question"))]
    return [(after - before) / 1e9 for before, after in pairwise(moments)]


def _schema(attributes: int, values: int) -> str:
    lines = ['version = 1\nname = "bench"\nstatus = "approved"\n']
    listed = ", ".join(f'"{value}"' for value in range(values))
    lines += [f'[[attributes]]\nname = "a{place}"\ncategories = [{listed}]\n' for place in range(attributes)]
    return "\n".join(lines)


def _table(seed: int, attributes: int, values: int, records: int) -> str:
    codes = np.random.default_rng(seed).integers(values, size=(records, attributes))
    head = ",".join(f"a{place}" for place in range(attributes))
    return "\n".join((head, *(",".join(map(str, row)) for row in codes.tolist()), ""))


def _vote_round(root: Path) -> None:
    tables = {name: _table(seed, 12, 2, 500) for seed, name in enumerate(NAMES)}
    terms = Terms("noisy-majority-voting", schema=_schema(12, 2))
    box = Consortium.make(root, names=NAMES, terms=terms, tables=tables)
    with _serving(box):
        total = _learn(box)
    # The first question waits until records are read and everything is loaded.
    rounds = _rounds(box, "north")[1:]
    print(
        f"a vote round, 3 holders, beyond computing: median {statistics.median(rounds):.3f} s of {len(rounds)} "
        f"(target: 0.15), the slowest {max(rounds):.3f} s; the whole run {total:.1f} s"
    )


def _diabetes(root: Path) -> None:
    given = os.environ.get("PANBAYES_DIABETES", str(SHARED))
    if not Path(given).is_file():
        print("voting on Diabetes: the data is not here: set PANBAYES_DIABETES")
        return
    terms = Terms("noisy-majority-voting", epsilon=1.0)
    box = Consortium.make(root, names=NAMES, terms=terms)
    box.analyst.more = {"PANBAYES_DIABETES": given}
    box.analyst.done("dataset", "diabetes", "-o", "diabetes")
    (table,), (schema,) = ((box.analyst.folder / "diabetes").glob(f"*.{end}") for end in ("csv", "toml"))
    head, *records = table.read_text().splitlines()
    shutil.copy(schema, box.analyst.folder / "clinic.toml")
    for place, party in enumerate(box.holders.values()):
        (party.folder / "patients.csv").write_text("\n".join((head, *records[place::3], "")))
    with _serving(box):
        total = _learn(box)
    rounds = _rounds(box, "north")
    print(
        f"voting on Diabetes, 3 holders, {len(rounds)} vote rounds and the counts: {total:.1f} s (target: 15); "
        f"median round {statistics.median(rounds[1:]):.3f} s, the first, which reads the records, {rounds[0]:.1f} s"
    )


def _large_round(root: Path) -> None:
    attributes, values = 100, 16
    terms = Terms("noisy-sufficient-statistics", schema=_schema(attributes, values))
    tables = {name: _table(seed, attributes, values, 300) for seed, name in enumerate(NAMES)}
    box = Consortium.make(root, names=NAMES, terms=terms, tables=tables)
    with _serving(box):
        first = _learn(box)
        size = max(path.stat().st_size for path in box.post.glob("from-*/*.answer"))
        shutil.rmtree(box.analyst.folder / "state")
        for path in [*box.post.glob("*/*.question*"), *box.post.glob("*/*.answer*")]:
            path.unlink()
        again = _learn(box, output="again.json")
        asked = min(path.stat().st_mtime_ns for path in box.post.glob("to-*/*.question"))
        answered = max(path.stat().st_mtime_ns for path in box.post.glob("from-*/*.answer"))
    checked = _checking(box)
    print(
        f"a round of {size / 1e6:.1f} MB from each of 3 holders, given again: {(answered - asked) / 1e9:.2f} s, "
        f"of which gates check the question for {checked:.2f} s (target beyond computing: 1); the whole command "
        f"{again:.1f} s, and {first:.1f} s when noise was drawn"
    )


def _checking(box: Consortium) -> float:
    """Return how long one gate looks at the question of a study that it has answered, where nothing else runs."""
    asked = Letter.decode(next(iter(box.post.glob("to-north/*.question"))).read_bytes()).body
    study = Study.load(box.analyst.folder / "study.toml")
    table = Table.read(box.holders["north"].folder / "patients.csv", study.schema)
    with Ledger.in_memory() as ledger:
        gate = Gate(table, study, ledger, SimulatedNoise(1))
        gate.ask(asked)
        start = time.perf_counter()
        gate.ask(asked)
        return time.perf_counter() - start


def _cpu(process: int) -> float:
    """Return the CPU seconds of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident(process: int) -> float:
    """Return what a process holds of memory now, in MB."""
    text = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) / 1000 for line in text.splitlines() if line.startswith("VmRSS"))


def _at_work(agent: Running) -> int:
    """Count the processes beside an agent that have not ended."""
    states = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] for number in agent.children()]
    return sum(state != "Z" for state in states)


def _idle(root: Path) -> None:
    box = Consortium.make(root, names=("north",), terms=Terms(schema=SCHEMA))
    with _serving(box) as (agent,):
        _learn(box)
        # The process that computes ends by itself when it is not needed.
        end = time.monotonic() + 120
        while _at_work(agent) and time.monotonic() < end:
            time.sleep(0.5)
        before, start = _cpu(agent.process.pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        share = (_cpu(agent.process.pid) - before) / (time.monotonic() - start)
        print(
            f"an agent that waits: {_resident(agent.process.pid):.0f} MB (target: 200), {100 * share:.2f} % of a "
            f"processor (target: about 0), {_at_work(agent)} processes beside it"
        )


def _many(root: Path) -> None:
    names = [f"holder-{place}" for place in range(MANY)]
    terms = Terms("noisy-majority-voting", records=200)
    box = Consortium.make(root, names=names, terms=terms)
    with _serving(box) as agents:
        total = _learn(box)
        alive = sum(agent.alive for agent in agents)
    troubles = sum("error" in agent.said for agent in agents)
    rounds = _rounds(box, names[0])
    print(
        f"{MANY} holders in one run: {total:.0f} s, {alive} agents alive, {troubles} with errors (target: none); "
        f"median round after the first {statistics.median(rounds[1:] or rounds):.2f} s"
    )
