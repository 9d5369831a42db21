"""What a person at a terminal is told while kernels compile: on the first run, or on every where nothing is kept."""

from __future__ import annotations

import sys
from typing import Final

from panbayes.cli.text import complain
from panbayes.kernel_cache import CHOSEN, is_kept

__all__ = ["announce_compiling"]

TOLD: Final = "Compiling for this machine: a few seconds, once after every installation."
TOLD_ALWAYS: Final = (
    "Compiling for this machine: a few seconds at every run, for nowhere can the result be kept; "
    f"{CHOSEN} can name a folder."
)


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
                complain(TOLD if is_kept() else TOLD_ALWAYS)

        def on_end(self, _event: Event) -> None:
            pass

    register("numba:compile", Announcer())
