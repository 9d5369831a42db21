"""Kill a holder's process at any moment and look at what is left. Run as ``python -m tests.consortium.holder.killing``.

Children are forked from a parent that has everything loaded and compiled. A child opens the real ledger, writes down an
event of its own, asks its gate one study's questions in order and writes every reply into a pipe the moment it has it;
it is killed with SIGKILL after a random time, or at one exact line of the gate's, the ledger's or the chain's code.
What the parent reads from the pipe is what an analyst would have received. After every kill it checks:

* every reply received is the one in the ledger, byte for byte, and the one received before for the same question;
* the ledger verifies, with every head received, and tells of exactly the answers it holds;
* the study has spent its share for each entry and never more than its ε, the total never more than the cap;
* at most one answer is written down as having failed: the one that was being drawn, and not charged.

Then the parent looks at what failed, as a holder does, the next child resumes, and in the end every study has spent
exactly its ε.

With ``sabotage`` the children hand out replies before they are committed, as a careless holder would: the checks must
notice.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import numpy as np

import panbayes.consortium.holder
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger import ledger as ledger_module
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Agreed, Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.dp.secure import SecureNoise
from panbayes.dp.simulated import SimulatedNoise
from panbayes.privacy.classes.pure import Pure
from tests.consortium.holder.examples import asked, pure, released, script, study, table

if TYPE_CHECKING:
    from _typeshed import TraceFunction

ROOM = str(Path(panbayes.consortium.holder.__file__).parent)
EPSILON = "7/3"
POINTS_PER_LEDGER = 40


@dataclass
class World:
    """One ledger, the studies on it, and everything that ever came out of it."""

    path: Path
    strategy: str
    sabotage: bool
    received: dict[str, bytes] = field(default_factory=dict)
    finished: int = 0
    outcomes: dict[str, int] = field(default_factory=dict)

    @property
    def study(self) -> Study:
        return study(self.strategy, EPSILON, split="3/7", name=f"study {self.finished}")

    def count(self, outcome: str) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1


class HastyTransaction(Transaction):
    """Hands the reply out when it is written, not when it is committed."""

    pipe = -1

    def record(self, entry: Entry, *, study: Agreed, asked: bytes, replied: bytes, asker: str = "") -> None:
        super().record(entry, study=study, asked=asked, replied=replied, asker=asker)
        send(self.pipe, replied)


def send(pipe: int, reply: bytes) -> None:
    os.write(pipe, struct.pack("<I", len(reply)) + reply)


def child(world: World, pipe: int, before: Callable[[], None]) -> None:
    """Ask everything the current study asks; hand out each reply as soon as the gate has given it."""
    if world.sabotage:
        HastyTransaction.pipe = pipe
        vars(ledger_module)["Transaction"] = HastyTransaction
    with Ledger.open(world.path) as ledger:
        agreed = world.study
        before()
        ledger.write_event("overrun", {"promised": 1, "needed": 2}, study=agreed.hash)
        door = Gate(table(), agreed, ledger, SecureNoise())
        for number, query in enumerate(script(agreed)):
            reply = door.ask(asked(query, agreed, number))
            if not world.sabotage:
                send(pipe, reply)


def attempt(world: World, *, delay: float | None = None, line: int | None = None) -> bool:
    """Fork a child, kill it after ``delay`` seconds or at a ``line``, check everything; tell whether it was killed."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        try:
            child(world, write, lambda: None if line is None else die_at(line))
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    if delay is not None:
        time.sleep(delay)
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    with os.fdopen(read, "rb") as stream:
        data = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    check(world, replies(data))
    return code != 0


def die_at(line: int) -> None:
    """Kill this process when the given number of lines of the holder's room has been run from here on."""
    left = line

    def trace(frame: FrameType, event: str, _argument: object) -> TraceFunction | None:
        nonlocal left
        if not frame.f_code.co_filename.startswith(ROOM):
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    running = inspect.currentframe()
    while running is not None:
        running.f_trace = trace if running.f_code.co_filename.startswith(ROOM) else None
        running = running.f_back


def replies(data: bytes) -> list[bytes]:
    """Cut the pipe's bytes into whole replies; a child killed while writing leaves half a one, which nobody read."""
    found, at = [], 0
    while at + 4 <= len(data):
        (size,) = struct.unpack_from("<I", data, at)
        if at + 4 + size > len(data):
            break
        found.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def check(world: World, new: list[bytes]) -> None:
    """Check what came out against what is in the ledger and against all that came out before."""
    agreed = world.study
    cap_total = Fraction(EPSILON) * (world.finished + 1)
    for reply in new:
        release = released(reply)
        assert world.received.setdefault(release.id, reply) == reply, "two answers to one question"
    with Ledger.open(world.path) as ledger:
        ledger.write_cut_off()
        failed = ledger.resume(agreed.hash)
        with ledger.transaction(write=False) as transaction:
            entries = list(transaction.entries())
            told = [event.question for event in transaction.events.all() if event.what == "answered"]
            stored = {entry.question: transaction.stored(entry.question) for entry in entries}
        faults = verify(ledger, heads=[released(reply).ledger for reply in world.received.values()])
        summary = ledger.summary()
    assert faults == [], faults
    assert told == [entry.question for entry in entries], "an answer without its event, or an event without its answer"
    for question, reply in world.received.items():
        kept = stored.get(question)
        assert kept is not None, "a release without a charge"
        assert kept[1] == reply, "the ledger holds another reply than was released"
    assert len(failed) <= 1, "one kill is counted as several failures"
    assert not any(failure.question in stored for failure in failed), "what was charged is counted as a failure"
    if failed:
        world.count("cut off")
    mine = [entry for entry in entries if entry.study == agreed.hash]
    spent = sum((pure(entry.loss) for entry in mine), Fraction(0))
    assert len(mine) <= len(script(agreed))
    assert spent <= agreed.grant.amount
    assert pure(summary.spent) == Fraction(EPSILON) * world.finished + spent <= cap_total
    received = sum(entry.question in world.received for entry in mine)
    world.count("charged, not received" if len(mine) > received else "nothing" if not mine else "all received")
    if received == len(script(agreed)):
        assert spent == agreed.grant.amount
        world.finished += 1


def new_world(folder: Path, number: int, strategy: str, studies: int) -> World:
    world = World(folder / f"{number}.ledger", strategy, sabotage=sys.argv[-1] == "sabotage")
    with Ledger.open(world.path, create=True) as ledger:
        ledger.set_cap(Pure(Fraction(EPSILON) * studies))
    return world


def warm() -> None:
    agreed = study(epsilon=EPSILON, split="3/7")
    with Ledger.in_memory() as ledger:
        door = Gate(table(), agreed, ledger, SimulatedNoise(0))
        for number, query in enumerate(script(agreed)):
            released(door.ask(asked(query, agreed, number)))
    SecureNoise().discrete_laplace(10, scale=Fraction(2))
    SecureNoise().select(np.zeros(3), scale=Fraction(1), mechanism="permute-and-flip")


def finish(world: World) -> None:
    """Resume without a kill: what was answered is free, the rest is answered, and all of ε is spent."""
    before = world.finished
    assert not attempt(world)
    assert world.finished == before + 1


def at_random_times(folder: Path, count: int, seed: int) -> dict[str, object]:
    """Kill at ``count`` random times between the fork and somewhat after the usual end."""
    generator = np.random.default_rng(seed)
    outcomes: dict[str, int] = {}
    kills = studies = 0
    number = 0
    while kills < count:
        world = new_world(folder, number, "noisy-majority-voting", POINTS_PER_LEDGER)
        number += 1
        start = time.monotonic()
        finish(world)
        usual = time.monotonic() - start
        for _ in range(POINTS_PER_LEDGER):
            if world.finished == POINTS_PER_LEDGER - 1 or kills == count:
                break
            kills += attempt(world, delay=float(generator.uniform(0, usual)))
        finish(world)
        studies += world.finished
        for outcome, times in world.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + times
    return {"kills": kills, "studies": studies, **outcomes}


def at_every_line(folder: Path, step: int, offset: int) -> dict[str, object]:
    """Kill at every ``step``-th line of the holder's room that runs for one question, from ``offset`` to the last.

    Every kill is on a new ledger, so that the same lines run each time, and every study is then resumed.
    """
    outcomes: dict[str, int] = {}
    kills, line = 0, offset
    killed = True
    while killed:
        world = new_world(folder, line, "independent", 2)
        killed = attempt(world, line=line)
        for outcome, times in world.outcomes.items():
            outcomes[outcome] = outcomes.get(outcome, 0) + times
        kills += killed
        line += step
        finish(world)
    return {"kills": kills, "lines": line, **outcomes}


def main() -> None:
    mode, folder, first, second = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    warm()
    run = at_random_times if mode == "random" else at_every_line
    sys.stdout.write(json.dumps(run(folder, first, second)))


if __name__ == "__main__":
    main()
