"""Run a command of the holder's that is killed at one point: ``DYING=POINT python -m tests.consortium.agent.dying …``.

The points of the agent are patched into its process. Those of the process that computes are patched into that one: the
agent starts this module again in its place.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

import pytest

AGENT: Final = (
    "before a study is kept",
    "after a study is kept",
    "before a question is computed",
    "after a question is computed",
    "before the answer's signature",
    "between signature and letter",
    "after the answer's letter",
)
COMPUTING: Final = (
    "while records are read",
    "when an answer is begun",
    "before the commit",
    "after the commit",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(where: object, name: str, *, before: bool, when: Callable[..., bool] = lambda *_: True) -> None:
    """Die where something is called, before or after it has done its work."""
    found = getattr(where, name)

    def dying(*arguments: Any, **options: Any) -> Any:
        if before and when(*arguments):
            die()
        result = found(*arguments, **options)
        if when(*arguments):
            die()
        return result

    pytest.MonkeyPatch().setattr(where, name, dying)


def arm_agent(point: str) -> None:
    from panbayes.consortium.agent import worker
    from panbayes.consortium.agent.answering import Agent
    from panbayes.consortium.agent.studies import Studies
    from panbayes.consortium.post import folder

    match point:
        case "before a study is kept" | "after a study is kept":
            arm(Studies, "keep", before=point.startswith("before"))
        case "before a question is computed" | "after a question is computed":
            arm(Agent, "_compute", before=point.startswith("before"))
        case "before the answer's signature":
            arm(folder, "_write", before=True, when=lambda _, name, __: name.endswith(".answer.sig"))
        case "between signature and letter":
            arm(folder, "_write", before=True, when=lambda _, name, __: name.endswith(".answer"))
        case "after the answer's letter":
            arm(folder, "_write", before=False, when=lambda _, name, __: name.endswith(".answer"))
        case _:
            pytest.MonkeyPatch().setattr(worker, "_MODULE", "tests.consortium.agent.dying")


def arm_computing(point: str) -> None:
    from panbayes.consortium.agent import working
    from panbayes.consortium.holder.gate import Gate
    from panbayes.consortium.holder.ledger.transaction import Transaction

    match point:
        case "while records are read":
            arm(working, "read_for", before=True)
        case "when an answer is begun":
            arm(Transaction, "begin", before=False)
        case "before the commit":
            arm(Transaction, "record", before=False)
        case "after the commit":
            arm(Gate, "settle", before=False)
        case "by itself":
            pytest.MonkeyPatch().setattr(working, "IDLE_SECONDS", 0.2)


if __name__ == "__main__":
    if sys.argv[1] == "holder":
        from panbayes.cli.main import run

        arm_agent(os.environ["DYING"])
        run()
    else:
        from panbayes.consortium.agent.working import main

        arm_computing(os.environ["DYING"])
        main(sys.argv[1:])
