"""What a state file says in public, read without changing anything: also where nothing can be written.

No lock is taken, and the entries are not looked at. The record is whole at every moment (one of its two copies is).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.home import home_of
from panbayes.stream.state.mapped import MappedState, open_state

__all__ = ["Inspection", "inspect_state"]


@dataclass(frozen=True, slots=True)
class Inspection:
    """What is public about a file: its ``setup``, the releases ``left``, and how a copy is told.

    ``period`` is that of the clock in which something was last done by a schedule.
    ``turns`` is how many periods have ended, and ``flipped_left`` how many flipped copies may still be handed over.
    """

    setup: StreamSetup
    left: int
    copies: str
    turns: int
    flipped_left: int
    period: int | None = None


def inspect_state(path: Path) -> Inspection:
    """Look up what is public about a state file."""
    descriptor = open_state(path, reading=True)
    try:
        mapped = MappedState.of(descriptor, path, reading=True)
        record, home = mapped.record(), home_of(descriptor)
    finally:
        os.close(descriptor)
    standing = record.standing
    if standing.home != home:
        copies = "are refused, and this file is one"
    elif standing.arriving:
        copies = "are refused; a move to this file was cut short (run it again)"
    else:
        copies = f"are refused, by {standing.home.describe()}"
    setup, count = mapped.setup, record.count
    flipped_left = setup.calibration.flipped - count.flipped
    return Inspection(setup, count.left, copies, count.turn, flipped_left, count.period)
