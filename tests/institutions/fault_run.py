"""One run of a study in which things break, drawn from a seed: who is killed when, what the line and the disks do.

A run has a *stormy* part, in which faults of a :class:`Storm` happen, and a *calm* one, in which whatever was ended
runs again, the line and the courier are honest, disks have room, and studies that were paused go on. In the calm part
it has to complete. Then ledgers, journal and letters are held against each other
(:mod:`tests.institutions.invariants`), and a fresh analyst, without a journal and with an empty folder, asks everything
again: it gets the same network, and nothing is charged.

Kills happen at random moments and at chosen ones: when the letter of a certain round comes to lie in the folder, or the
answer to it does, and a moment later. ``kill -9`` meets an agent alone, with the process that computes for it, or that
process alone; the analyst's run; the mailbox.
"""

from __future__ import annotations

import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from tests.institutions.child import faulty
from tests.institutions.courier import Courier, Route
from tests.institutions.disks import Disk
from tests.institutions.invariants import ViolationError, check, entries_of, network_of
from tests.institutions.parties import Consortium, Party, Running, Terms, free_port, until
from tests.institutions.proxy import Line

__all__ = ["CARRIERS", "Carrier", "Outcome", "run_with_faults"]

Carrier: TypeAlias = Literal["folder", "mailbox", "plain mailbox"]
CARRIERS: tuple[Carrier, ...] = ("folder", "mailbox", "plain mailbox")
"""Two folders and a courier; the mailbox over TLS; the mailbox without TLS behind a line that sends things again."""

STRATEGIES = ("noisy-majority-voting", "noisy-sufficient-statistics", "adaptive")
STORM = 10.0
"""Seconds that a storm lasts at most."""
CALM = 240.0
"""Seconds in which a run has to complete after it."""

KINDS = (
    "kill agent",
    "kill agent alone",
    "kill worker",
    "kill analyst",
    "kill server",
    "clock",
    "disk",
    "second agent",
    "cut",
    "stop and resume",
)


@dataclass(frozen=True)
class Fault:
    """Something that happens: of which kind, to whom, and when.

    ``when`` is "time", or the kind of letter that has to lie in the folder first, ``number`` of them; ``delay``
    seconds later it happens.
    """

    kind: str
    whom: str
    when: str
    number: int
    delay: float


@dataclass
class Outcome:
    """What came of a run."""

    answers: int
    faults: dict[str, int]
    exits: list[str]
    seconds: float

    def __str__(self) -> str:
        done = ", ".join(f"{count} {kind}" for kind, count in sorted(self.faults.items()))
        return f"{self.answers} answers in {self.seconds:.0f} s; {done}"


@dataclass
class Role:
    """A process that is to run: it is started again when it has ended."""

    name: str
    start: Callable[[], Running]
    running: Running | None = None
    after: float = 0.0
    """Not before this moment."""

    @property
    def alive(self) -> bool:
        return self.running is not None and self.running.alive


@dataclass
class Run:
    """The parties of one run and what happens to them."""

    root: Path
    seed: int
    carrier: Carrier
    sabotage: str | None = None
    stormy: bool = True
    outcome: Outcome = field(default_factory=lambda: Outcome(0, {}, [], 0.0))

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        strategy = STRATEGIES[int(self.rng.integers(len(STRATEGIES)))]
        names = ("north", "south") if self.rng.random() < 0.8 else ("north", "south", "west")
        lines = 'choices = "together"\n' if strategy == "adaptive" else ""
        grid = 0.0 if self.rng.random() < 0.8 else 0.2
        self.terms = Terms(strategy, lines=lines, grid=grid, cap=2.5)
        self.line: Line | None = None
        self.courier: Courier | None = None
        self.stack = ExitStack()
        port = free_port()
        scheme = "http" if self.carrier == "plain mailbox" else "https"
        self.box = Consortium.make(
            self.root, names=names, terms=self.terms, port=port, url=f"{scheme}://localhost:{{port}}"
        )
        self.server_port = free_port()
        self.disks = {name: Disk(party.folder / "state", self.stack) for name, party in self.box.holders.items()}
        self.clocks = {name: self.root / f"{name}.clock" for name in ("analyst", *names)}
        for name, party in (("analyst", self.box.analyst), *self.box.holders.items()):
            variables = {"clock": str(self.clocks[name])}
            if self.sabotage is not None and name != "analyst":
                variables["sabotage"] = self.sabotage
            party.more = faulty(self.root / f"{name}.faults", **variables)

    def drawn(self) -> list[Fault]:
        """Draw the faults of the storm; none in a run that has none."""
        if not self.stormy:
            return []
        kinds = [kind for kind in KINDS if self.carrier != "folder" or kind not in ("kill server", "cut")]
        found = []
        rounds = {"noisy-sufficient-statistics": 1, "noisy-majority-voting": 4}.get(self.terms.strategy, 6)
        for _ in range(int(self.rng.integers(4, 10))):
            when = ("time", "question", "answer")[int(self.rng.integers(3))]
            found.append(
                Fault(
                    kinds[int(self.rng.integers(len(kinds)))],
                    list(self.box.holders)[int(self.rng.integers(len(self.box.holders)))],
                    when,
                    int(self.rng.integers(1, rounds + 1)),
                    float(self.rng.random() * (6.0 if when == "time" else 0.4)),
                )
            )
        return found

    def __call__(self) -> Outcome:
        """Run; raise a :class:`ViolationError` if anything does not hold."""
        begun = time.monotonic()
        try:
            with self.stack:
                self._prepare()
                self._storm(self.drawn())
                self._calm()
                self._look_back()
        finally:
            self.box.end()
            self.outcome.seconds = time.monotonic() - begun
            for one in (self.courier, self.line):
                self.outcome.faults |= {} if one is None else {f"({what})": times for what, times in one.did.items()}
        return self.outcome

    def _prepare(self) -> None:
        stem = self.box.propose()
        self.box.approve(stem)
        roles: dict[str, Role] = {}
        if self.carrier == "folder":
            routes = []
            for name, party in self.box.holders.items():
                (party.folder / "post").mkdir()
                routes.append(Route(self.box.post / f"to-{name}", party.folder / "post" / f"to-{name}"))
                routes.append(Route(party.folder / "post" / f"from-{name}", self.box.post / f"from-{name}"))
            self.courier = self.stack.enter_context(Courier(routes, self.seed))
        else:
            tls = self.carrier == "mailbox"
            if tls:
                self.box.certificate()
            self.line = self.stack.enter_context(Line(self.box.port, self.server_port, self.seed, repeats=not tls))
            words = self.box.serving(self.server_port, tls=tls)
            roles["server"] = Role("server", lambda: self.box.analyst.start(*words, log="server"))
        for name, party in self.box.holders.items():
            roles[name] = Role(name, self._agent(party))
        words_of_learning = self.box.learning("--wait")
        roles["analyst"] = Role("analyst", lambda: self.box.analyst.start(*words_of_learning, log="learn"))
        self.roles = roles
        self.left: dict[str, set[bytes]] = {name: set() for name in self.box.holders}

    def _agent(self, party: Party) -> Callable[[], Running]:
        more = ["--post", "post"] if self.carrier == "folder" else []
        return lambda: party.start("holder", "serve", *more, log="agent")

    def _tend(self, *, again: bool = True) -> bool:
        """Start what is not running; note what ended by itself; tell whether the analyst is done."""
        self._watch()
        for role in self.roles.values():
            if role.running is not None and not role.running.alive:
                code = role.running.process.returncode
                if role.name == "analyst" and code == 0:
                    return True
                if code != -signal.SIGKILL:
                    self.outcome.exits.append(f"{role.name}: {code}: {role.running.said[-300:]}")
                role.running = None
                role.after = time.monotonic() + (0.1 if code == -signal.SIGKILL else 0.5)
            if role.running is None and again and time.monotonic() >= role.after:
                role.running = role.start()
        return False

    def _watch(self) -> None:
        """Remember everything that lies where holders put what leaves them."""
        for name, party in self.box.holders.items():
            for folder in (party.folder / "post" / f"from-{name}", self.box.post / f"from-{name}"):
                for path in folder.glob("*.answer"):
                    with suppress(OSError):
                        self.left[name].add(path.read_bytes())

    def _lying(self, kind: str, name: str) -> int:
        side = "to" if kind == "question" else "from"
        return len(list((self.box.post / f"{side}-{name}").glob(f"*.{kind}")))

    def _storm(self, faults: list[Fault]) -> None:
        begun, waiting = time.monotonic(), list(faults)
        due: list[tuple[float, Fault]] = []
        self.undo: list[tuple[float, Callable[[], None]]] = []
        while time.monotonic() - begun < STORM and (waiting or due or self.undo):
            if self._tend():
                break
            now = time.monotonic()
            for fault in list(waiting):
                if fault.when == "time" or self._lying(fault.when, fault.whom) >= fault.number:
                    waiting.remove(fault)
                    due.append(((begun if fault.when == "time" else now) + fault.delay, fault))
            for moment, fault in list(due):
                if now >= moment:
                    due.remove((moment, fault))
                    self._happen(fault)
            for moment, undo in list(self.undo):
                if now >= moment:
                    self.undo.remove((moment, undo))
                    undo()
            time.sleep(0.01)

    def _happen(self, fault: Fault) -> None:
        agent, now = self.roles[fault.whom].running, time.monotonic()
        holder = self.box.holders[fault.whom]
        match fault.kind:
            case "kill agent" | "kill agent alone" if agent is not None:
                agent.kill(all_of_it=fault.kind == "kill agent")
            case "kill worker" if agent is not None:
                if not agent.kill_children():
                    return
            case "kill analyst" | "kill server":
                running = self.roles[fault.kind.removeprefix("kill ")].running
                if running is None:
                    return
                running.kill()
            case "clock":
                name = fault.whom if fault.delay < 0.3 else "analyst"
                jump = float(self.rng.choice([-3e8, -86_400.0, -3.0, 2.0, 3_600.0, 90_000.0, 3e8]))
                self.clocks[name].write_text(str(jump))
            case "disk":
                disk = self.disks[fault.whom]
                disk.fill()
                self.undo.append((now + 1.5, disk.free))
            case "second agent":
                second = self._agent(holder)()
                self.undo.append((now + 3.0, second.kill))
            case "cut" if self.line is not None:
                self.line.cut()
            case "stop and resume":
                self._decide(holder, "stop")
                self.undo.append((now + 1.0, lambda: self._decide(holder, "resume")))
            case _:
                return
        self.outcome.faults[fault.kind] = self.outcome.faults.get(fault.kind, 0) + 1

    def _decide(self, holder: Party, what: str) -> None:
        done = holder.run("holder", what, "box")
        if done.returncode != 0:
            self.outcome.exits.append(f"{holder.name} {what}: {done.returncode}: {done.stderr[-300:]}")

    def _calm(self) -> None:
        for _, undo in self.undo:
            undo()
        for disk in self.disks.values():
            disk.free()
        if self.line is not None:
            self.line.honest = True
        if self.courier is not None:
            self.courier.honest = True
        end, looked = time.monotonic() + CALM, time.monotonic() + 6.0
        while not self._tend():
            if time.monotonic() > end:
                raise ViolationError(f"not complete after {CALM:.0f} s of calm\n{self._said()}")
            if time.monotonic() > looked:
                looked = time.monotonic() + 10.0
                self._look_after_studies()
            time.sleep(0.02)

    def _look_after_studies(self) -> None:
        """Do what an officer does whose study does not go on: let it, if it was stopped by overruns or by failures."""
        for holder in self.box.holders.values():
            if holder.run("holder", "resume", "box").returncode == 0:
                self.outcome.faults["resumed"] = self.outcome.faults.get("resumed", 0) + 1

    def _look_back(self) -> None:
        """Hold everything against everything else, then let a fresh analyst ask again."""
        self._watch()
        if self.courier is not None:
            for place, contents in self.courier.seen.items():
                side, _, name = place.partition("/")[0].partition("-")
                if side == "from" and place.endswith(".answer"):
                    self.left[name] |= contents
        self.outcome.answers = check(self.box, self.left)
        before = {name: entries_of(self.box.ledger(name)) for name in self.box.holders}
        model = network_of(self.box.analyst.folder / "model.json")
        self._forget()
        self.roles["analyst"].running = None
        words = self.box.learning("--wait", output="again.json")
        self.roles["analyst"].start = lambda: self.box.analyst.start(*words, log="learn")
        until(self._tend, f"a fresh analyst completes\n{self._said()}", limit=CALM)
        self._watch()
        if {name: entries_of(self.box.ledger(name)) for name in self.box.holders} != before:
            raise ViolationError("a fresh analyst was charged for something")
        check(self.box, self.left)
        if network_of(self.box.analyst.folder / "again.json") != model:
            raise ViolationError("a fresh analyst got another network")

    def _forget(self) -> None:
        """Take the analyst's journal away, and all questions and answers from the folders."""
        shutil.rmtree(self.box.analyst.folder / "state")
        folders = [self.box.post, *(party.folder / "post" for party in self.box.holders.values())]
        held = self.courier.pause() if self.courier is not None else _nothing()
        with held:
            for folder in folders:
                for path in [*folder.glob("*/*.question*"), *folder.glob("*/*.answer*")]:
                    with suppress(OSError):
                        path.rmdir() if path.is_dir() else path.unlink()

    def _said(self) -> str:
        logs = (
            sorted(self.root.glob("*.agent")) + sorted(self.root.glob("*.learn")) + sorted(self.root.glob("*.server"))
        )
        return "\n".join(f"--- {path.name}\n{path.read_text(errors='replace')[-1500:]}" for path in logs)


@contextmanager
def _nothing() -> Iterator[None]:
    yield


def run_with_faults(
    root: Path, seed: int, carrier: Carrier, *, sabotage: str | None = None, stormy: bool = True
) -> Outcome:
    """Run a study in which things break; whatever does not hold is told with the seed that shows it again."""
    run = Run(root, seed, carrier, sabotage, stormy)
    try:
        return run()
    except Exception as error:
        again = f"python -m tests.institutions.fault_run {seed} {carrier!r}"
        raise ViolationError(f"{error}\n{run.outcome}\n{chr(10).join(run.outcome.exits)}\nAgain: {again}") from error


def main(arguments: list[str]) -> None:
    """Make one run, or those of several seeds, and say what came of each: ``FIRST [LAST] CARRIER``."""
    first, last, carrier = int(arguments[0]), int(arguments[-2]), arguments[-1]
    (known,) = (one for one in CARRIERS if one == carrier)
    for seed in range(first, last + 1):
        with tempfile.TemporaryDirectory() as folder:
            outcome = run_with_faults(Path(folder) / "run", seed, known)
        sys.stdout.write(f"{seed} {carrier}: {outcome}\n")
        for line in outcome.exits:
            sys.stdout.write(f"    {line!r}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
