"""What a study sees of a dataset that changes: an edition, pinned by the first answer and never another one.

What it is pinned *to* is a :class:`~panbayes.consortium.holder.ledger.declaration.Pin` in the ledger. Where the source
keeps no past, the codes themselves are kept beside it (:mod:`panbayes.tables.kept`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from panbayes.consortium.holder.ledger.declaration import Pin
from panbayes.errors import LedgerError

__all__ = ["Edition"]


def _nothing() -> None:
    """Keep nothing: the source does."""


@dataclass(frozen=True, slots=True)
class Edition:
    """What a study sees, and how that is kept: ``keep`` puts it on disk, durably, before the first charge.

    Where it is ``gone``, nothing new is answered, and that error is told to the holder; what was answered is free.
    """

    pin: Pin
    keep: Callable[[], None] = field(default=_nothing, repr=False, compare=False)
    gone: LedgerError | None = None
