"""What a test may change in a child, before anything of panbayes is loaded there: its clock, its memory, its honesty.

A folder with a ``sitecustomize.py`` that runs this file goes in front of the child's ``PYTHONPATH`` (:func:`faulty`).
Product code has no hooks for tests; everything happens from outside.

===================== =========================================================================================
variable              what it does
===================== =========================================================================================
``TEST_CLOCK``        a file with seconds that are added to the time of day, read anew each time; may change
``TEST_MEMORY``       bytes of address space that the process and its children may have
``TEST_FILE_SIZE``    bytes that any file may grow to: a full disk for those who may not mount one
``TEST_SABOTAGE``     ``fresh noise``: the gate forgets what it has answered, and draws anew
                      ``early``: a reply leaves before its charge is on disk, which is then lost
===================== =========================================================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["faulty"]

GATE = "panbayes.consortium.holder.gate"


def faulty(folder: Path, **variables: str) -> dict[str, str]:
    """Return the environment of a child with these faults; ``folder`` is made for what makes it so."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(
        f"import runpy\nrunpy.run_path({str(Path(__file__))!r}, run_name='child')\n"
    )
    return {"PYTHONPATH": str(folder), **{f"TEST_{name.upper()}": value for name, value in variables.items()}}


def _jump(file: str) -> None:
    """Let the time of day jump; the monotonic clock, which the system does not let anybody set, stays."""
    import datetime as dt
    import time

    real, real_ns = time.time, time.time_ns

    def offset() -> float:
        try:
            return float(Path(file).read_text() or 0)
        except (OSError, ValueError):
            return 0.0

    class Likewise(type):
        """Takes what is made elsewhere, in C, for its own."""

        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, cls.__mro__[1])

    class Shifted(dt.datetime, metaclass=Likewise):
        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            return cls.fromtimestamp(real() + offset(), tz)

    class ShiftedDay(dt.date, metaclass=Likewise):
        @classmethod
        def today(cls) -> Any:
            return cls.fromtimestamp(real() + offset())

    vars(time).update(time=lambda: real() + offset(), time_ns=lambda: real_ns() + int(offset() * 1e9))
    vars(dt).update(datetime=Shifted, date=ShiftedDay)


def _limit(resource_name: str, amount: str) -> None:
    import resource
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    kind = {"memory": resource.RLIMIT_AS, "file": resource.RLIMIT_FSIZE}[resource_name]
    resource.setrlimit(kind, (int(amount), int(amount)))


class _Afterwards(MetaPathFinder, Loader):
    """Changes a module right after it was loaded."""

    def __init__(self, name: str, change: Callable[[ModuleType], None]) -> None:
        self._name, self._change = name, change

    def find_spec(self, fullname: str, path: Any, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        found = PathFinder.find_spec(fullname, path, target)
        if found is not None and found.loader is not None:
            self._inner = found.loader
            found.loader = self
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._change(module)


def _fresh_noise(module: ModuleType) -> None:
    """Forget what was answered: whoever asks again gets fresh noise, and nothing is written down of it."""

    def forget(_self: object, transaction: Any, question: Any) -> None:
        if transaction.stored(question.id) is not None:
            # As if it had not been answered: what is drawn now leaves, and what was charged before stays.
            vars(transaction).update(record=_nothing, stored=_nothing)

    _put(module.Gate, _answered_before=forget, _check_course=_nothing, _check_budget=_nothing)


def _early(_module: ModuleType) -> None:
    """Give replies whose charge is never written."""
    _put(sys.modules["panbayes.consortium.holder.ledger.transaction"].Transaction, record=_nothing)


def _nothing(*_: object, **__: object) -> None:
    """Do nothing."""


def _put(where: object, **what: object) -> None:
    for name, value in what.items():
        setattr(where, name, value)


SABOTAGE = {"fresh noise": _fresh_noise, "early": _early}


def _begin() -> None:
    if "TEST_CLOCK" in os.environ:
        _jump(os.environ["TEST_CLOCK"])
    if "TEST_MEMORY" in os.environ:
        _limit("memory", os.environ["TEST_MEMORY"])
    if "TEST_FILE_SIZE" in os.environ:
        _limit("file", os.environ["TEST_FILE_SIZE"])
    if "TEST_SABOTAGE" in os.environ:
        sys.meta_path.insert(0, _Afterwards(GATE, SABOTAGE[os.environ["TEST_SABOTAGE"]]))


if __name__ == "child":
    _begin()
