"""Kernels compile on the first run: where the machine code is kept, and what a person at a terminal is told.

Numba keeps what it has compiled beside the source, in ``__pycache__``; where that cannot be written (an installation of
the administrator's), in the user's cache folder; and it refuses to work where neither can be. A service without a home
on a read-only system is such a place: there a folder of this process alone is used, and nothing is kept.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

from panbayes.cli.text import complain

__all__ = ["announce_compiling", "ensure_cache", "remove_cache"]

CHOSEN: Final = "NUMBA_CACHE_DIR"
TOLD: Final = "Compiling for this machine: a few seconds, once after every installation."
TOLD_ALWAYS: Final = (
    "Compiling for this machine: a few seconds at every run, for nowhere can the result be kept; "
    f"{CHOSEN} can name a folder."
)

_OWN: list[str] = []


def ensure_cache() -> None:
    """See to it that compiled kernels have a place, before any of them is loaded."""
    if os.environ.get(CHOSEN) or _is_writable(Path(__file__).parents[1] / "tables" / "counting" / "__pycache__"):
        return
    # Imported here: most installations never get as far.
    from platformdirs import user_cache_path

    if not _is_writable(user_cache_path("numba", appauthor=False)):
        _OWN.append(tempfile.mkdtemp(prefix="panbayes-"))
        os.environ[CHOSEN] = _OWN[-1]
        atexit.register(remove_cache)


def remove_cache() -> None:
    """Remove the folder of this process, if it has one."""
    while _OWN:
        shutil.rmtree(_OWN.pop(), ignore_errors=True)


def announce_compiling() -> None:
    """On a terminal, say once that kernels are being compiled, if any are; a run that finds them ready is silent."""
    if sys.stderr is None or not sys.stderr.isatty() or "numba" not in sys.modules:
        return
    from numba.core.event import Event, Listener, register

    class Announcer(Listener):
        told = False

        def on_start(self, _event: Event) -> None:
            if not self.told:
                self.told = True
                complain(TOLD_ALWAYS if _OWN else TOLD)

        def on_end(self, _event: Event) -> None:
            pass

    register("numba:compile", Announcer())


def _is_writable(folder: Path) -> bool:
    """Tell whether a folder can be written to, or made where it is not there yet."""
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)
