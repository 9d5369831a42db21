"""Ask holders one after the other, in a process that is going to be forked.

A federation asks its holders in threads. A thread that ends gives back what OpenSSL keeps for it under a lock of
OpenSSL's, after Python has let go of the thread. A child that is forked in that moment has the lock taken for ever, and
waits for it at its first hash. So the parent starts no threads, and its children, which do, are forked from one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from panbayes.consortium.analyst import federation

__all__ = ["asking_one_by_one"]


class _OneByOne(ThreadPoolExecutor):
    """Does everything where it is called."""

    def map(self, fn: Callable[..., Any], *iterables: Iterable[Any], **_: object) -> Iterator[Any]:
        return iter([fn(*arguments) for arguments in zip(*iterables, strict=True)])


def asking_one_by_one() -> pytest.MonkeyPatch:
    """Let federations of this process start no threads, until what is returned is undone."""
    patch = pytest.MonkeyPatch()
    patch.setattr(federation, "ThreadPoolExecutor", _OneByOne)
    return patch
