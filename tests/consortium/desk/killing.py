"""Kill the analyst at every step of a run, and run it again: ``python -m tests.consortium.desk.killing FOLDER``.

A step is a file written into the folder (a letter or its signature), or something kept in the journal. A child runs
until its first step and is killed there with SIGKILL, before or after it; the next child until its second step; and so
on, until one comes to its end. Then the holders answer, and it begins again with the first step.

In the end the network must be the one of a run that nobody killed; every holder was asked every question once, under
one number.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.desk.journal import Journal
from panbayes.consortium.desk.learning import AwaitedError
from panbayes.consortium.local.learn import learn
from panbayes.consortium.post import folder as folder_module
from tests.consortium.desk.desks import ANALYST, VOTING, Desk, bare
from tests.consortium.desk.holders import SEED, letter_holders
from tests.consortium.one_by_one import asking_one_by_one
from tests.consortium.studies import SCHEMA, tables_for

STUDIES = (VOTING, Study("together", SCHEMA, "adaptive", 8, choices="together"))
STEPS = ((folder_module, "_write"), (Journal, "take"), (Journal, "settle"), (Journal, "begin"))


def die_at_step(number: int, *, after: bool) -> None:
    """Kill this process at its step of this ``number``."""
    lock, left = threading.Lock(), number

    def come_to_a_step() -> None:
        nonlocal left
        with lock:
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    def around(step: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if not after:
                come_to_a_step()
            result = step(*arguments, **named)
            if after:
                come_to_a_step()
            return result

        return call

    for owner, name in STEPS:
        setattr(owner, name, around(getattr(owner, name)))


def attempt(desk: Desk, number: int, alone: pytest.MonkeyPatch, *, after: bool) -> bool:
    """Fork a child that runs until a step; tell whether it was killed there, or came to an end.

    What keeps this process ``alone``, without threads, is undone in the child.
    """
    process = os.fork()
    if process == 0:
        try:
            alone.undo()
            die_at_step(number, after=after)
            try:
                desk.run()
            except AwaitedError:
                os._exit(6)
            os._exit(0)
        finally:
            os._exit(1)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert code in (0, 6, -signal.SIGKILL), code
    return code < 0


def kill_and_resume(study: Study, place: Path, alone: pytest.MonkeyPatch) -> dict[str, int]:
    """Learn one study to its end, killed at every step."""
    place.mkdir()
    kills = rounds = 0
    with letter_holders(study, tables_for(study), place / "letters", ANALYST.public) as holders:
        desk = Desk(study, place, holders)
        network = None
        while network is None:
            rounds += 1
            for number, after in ((n, when) for n in count(1) for when in (False, True)):
                if not attempt(desk, number, alone, after=after):
                    break
                kills += 1
            try:
                network = desk.run()
            except AwaitedError as error:
                for name in error.holders:
                    holders[name].answer()
        assert bare(network) == learn(study, tables_for(study), simulate=SEED)
        for name, holder in holders.items():
            assert len(holder.answered) == len(set(holder.answered)), "a question was asked twice"
            numbers = [int(stem[13:]) for stem in holder.folder.stems("to", name, "question")]
            assert numbers == list(range(1, len(holder.answered) + 1)), "a number was left out, or used twice"
    return {"kills": kills, "rounds": rounds}


def main() -> None:
    found, alone = {}, asking_one_by_one()
    for number, study in enumerate(STUDIES):
        # Once beforehand, so that no child compiles anything.
        learn(study, tables_for(study), simulate=SEED)
        found[study.name] = kill_and_resume(study, Path(sys.argv[1]) / str(number), alone)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
