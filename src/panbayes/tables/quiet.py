"""Keeping a native reader from writing about a damaged file to the terminal, where it may show what is in it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

__all__ = ["quiet"]

_SILENCE: Final = Lock()


@contextmanager
def quiet() -> Iterator[None]:
    """Send what is written to the standard error meanwhile nowhere; one thread at a time."""
    with _SILENCE:
        sys.stderr.flush()
        try:
            terminal = os.dup(2)
        except OSError:  # nobody listens
            yield
            return
        try:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, 2)
            os.close(nowhere)
            yield
        finally:
            os.dup2(terminal, 2)
            os.close(terminal)
