"""Kill a holder that asks about its own records. Run as ``python -m tests.consortium.holder.killing_proposals``.

As in :mod:`tests.consortium.holder.killing`: a child opens the real ledger, asks one wish after the other and writes
every answer into a pipe the moment it has it; it is killed at one exact line of the holder's room, counted from the
question (``asked``) or from the writing of its answer (``written``: what is drawn takes another number of lines every
time). After every kill:

* every answer received is the one in the ledger, byte for byte, and the one received before for the same wish;
* the ledger verifies, and has spent exactly ε and δ for each of its entries, never more than its cap and its δ;
* at most one answer is written down as having failed: the one that was being drawn, and not charged.

Then the wishes are asked again without a kill, and all of them have cost what they cost once. With ``sabotage`` answers
are handed out before they are committed, and the checks must notice.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from panbayes.consortium.holder.ledger import ledger as ledger_module
from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Agreed, Transaction
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.holder.proposals.asking import offer, take
from panbayes.consortium.holder.proposals.wish import Values, Wish
from panbayes.dp.secure import SecureNoise
from panbayes.privacy.classes.pure import Pure
from tests.consortium.holder.datasets import declare
from tests.consortium.holder.killing import die_at, replies, send

EPSILON, DELTA = Fraction(1, 3), Fraction(1, 10**7)
WISHES: tuple[Wish, ...] = (Values("job", EPSILON, DELTA),)

TABLE = "patient,job\n" + "".join(f"{person},nurse\n" for person in range(50))
"""As a text: a process that has started the threads of a library of tables cannot be forked any more."""


@dataclass
class World:
    """One account, and everything that ever came out of it, by the place of the wish."""

    path: Path
    sabotage: bool
    received: dict[int, bytes] = field(default_factory=dict)
    outcomes: dict[str, int] = field(default_factory=dict)

    def count(self, outcome: str, times: int) -> None:
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + times


class WatchedTransaction(Transaction):
    """Begins to count lines when an answer is written; a hasty one hands it out then, not when it is committed."""

    pipe = -1
    place = 0
    hasty = False
    count: Callable[[], None]

    def record(self, entry: Entry, *, study: Agreed, asked: bytes, replied: bytes, asker: str = "") -> None:
        WatchedTransaction.count()
        super().record(entry, study=study, asked=asked, replied=replied, asker=asker)
        if self.hasty:
            send(self.pipe, bytes([self.place]) + replied)


def child(world: World, pipe: int, before: Callable[[], None], since: str) -> None:
    """Ask every wish; hand out each answer as soon as it is there, as it stands in the ledger."""
    WatchedTransaction.pipe, WatchedTransaction.hasty = pipe, world.sabotage
    WatchedTransaction.count = staticmethod(before if since == "written" else lambda: None)
    vars(ledger_module)["Transaction"] = WatchedTransaction
    with Ledger.open(world.path) as ledger:
        if since == "asked":
            before()
        for place, wish in enumerate(WISHES):
            WatchedTransaction.place = place
            answer = take(ledger, offer(ledger, wish), noise=SecureNoise())
            if not world.sabotage:
                send(pipe, bytes([place]) + json.dumps(answer, separators=(",", ":")).encode())


def attempt(world: World, line: int | None = None, since: str = "asked") -> bool:
    """Fork a child, kill it at a ``line``, check everything; tell whether it was killed."""
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(read)
        try:
            child(world, write, lambda: None if line is None else die_at(line), since)
            os._exit(0)
        finally:
            os._exit(1)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        data = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, -signal.SIGKILL), code
    check(world, replies(data))
    return code != 0


def check(world: World, new: list[bytes]) -> None:
    """Check what came out against what is in the account and against all that came out before."""
    for reply in new:
        assert world.received.setdefault(reply[0], reply[1:]) == reply[1:], "two answers to one wish"
    with Ledger.open(world.path) as ledger:
        ledger.write_cut_off()
        stored = {place: offer(ledger, wish).stored for place, wish in enumerate(WISHES)}
        failed = [one for wish in WISHES for one in ledger.resume(offer(ledger, wish).proposal.hash)]
        faults = verify(ledger)
        summary = ledger.summary()
    assert faults == [], faults
    assert len(failed) <= 1, "one kill is counted as several failures"
    for place, reply in world.received.items():
        assert stored[place] is not None, "an answer without a charge"
        assert stored[place] == reply, "the ledger holds another answer than was given"
    charged = [wish for place, wish in enumerate(WISHES) if stored[place] is not None]
    assert summary.entries == len(charged)
    assert summary.spent == Pure(EPSILON * len(charged))
    assert summary.delta == sum((wish.delta for wish in charged), Fraction(0))
    world.count("cut off", len(failed))
    world.count("charged, not received", len(charged) - len(world.received))


def at_lines(folder: Path, step: int, since: str, *, sabotage: bool) -> dict[str, int]:
    """Kill at every ``step``-th line of the holder's room since a moment, each time with a new account."""
    kills, line, outcomes = 0, 0, dict[str, int]()
    killed = True
    while killed:
        state = folder / str(line)
        state.mkdir()
        world = World(declare(state, delta=DELTA, table=TABLE), sabotage, outcomes=outcomes)
        killed = attempt(world, line, since)
        kills += killed
        line += step
        attempt(world)
        with Ledger.open(world.path) as ledger:
            assert ledger.summary().spent == Pure(EPSILON * len(WISHES))
    return {"kills": kills, **outcomes}


def main() -> None:
    folder, step, since = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    SecureNoise().discrete_laplace(10, scale=Fraction(2))
    found = at_lines(folder, step, since, sabotage=sys.argv[-1] == "sabotage")
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
