"""A state belongs to the one process that opened it.

A fork copies a state: each copy would have the releases of one, and be one more look. So whatever a store is asked in
another process than its own is refused, and a store cannot be pickled or copied.
"""

from __future__ import annotations

import os
from typing import NoReturn

from panbayes.errors import InputError

__all__ = ["OneProcess", "refuse_copies"]


class OneProcess:
    """Something that only the process that made it may use."""

    def __init__(self) -> None:
        """Remember this process."""
        self._process = os.getpid()

    def in_its_process(self) -> bool:
        """Say whether this is the process that made it."""
        return os.getpid() == self._process

    def require_its_process(self) -> None:
        """Refuse another process, before any lock is taken: a fork may have copied it locked."""
        # Spelled out: ids may come one by one.
        if os.getpid() != self._process:
            raise InputError(
                "state",
                found="it was opened by another process, of which this one is a copy",
                remedy="open a state file in the process that uses it; a state in memory stays with its process",
            )

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled or copied."""
        refuse_copies()


def refuse_copies() -> NoReturn:
    """Refuse to pickle or copy a state."""
    raise InputError(
        "state",
        found="it cannot be copied or sent to another process: every copy is a look",
        remedy="send the path of a state file, and open it there",
    )
