"""Who is let in when a dataset with blocks is read: each person by the block in which the id was first read.

An id is an exact text without blanks around it, as everywhere (:mod:`panbayes.tables.units`); who has none is nobody,
and left out; what a schema says is missing is left out later, and somebody to the register. An id is known to the
register by BLAKE2b of 16 bytes, keyed with a secret of the ledger's own: two of 10⁹ people fall together with a
probability below 10⁻²⁰, and would then share a block.
"""

from __future__ import annotations

import hashlib

import numpy as np
import polars as pl
from numpy.typing import NDArray

from panbayes.consortium.holder.ledger.declaration import Named
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.tables.sources.batch import Column
from panbayes.tables.units import person_texts

__all__ = ["People"]


class People:
    """Lets in people of some ``blocks``; with ``register``, whoever was never seen belongs to that block from now on.

    What is put into the register is committed by itself, batch by batch: that somebody was seen is true whatever
    becomes of the question that it was for.
    """

    def __init__(self, ledger: Ledger, blocks: Named, *, register: str | None = None) -> None:
        """Look people up in the register of ``ledger``."""
        self._ledger = ledger
        self._blocks = blocks
        self._register = register
        with ledger.transaction(write=False) as transaction:
            self._key = transaction.dataset.person_key()

    def __call__(self, ids: Column) -> NDArray[np.bool_]:
        """Tell whose records are let in, by their ids."""
        texts, nobody = person_texts(ids.values, ())
        known = self._known(texts, nobody)
        blocks = self._look_up(sorted({one for one in known if one is not None}))
        chosen = np.array([one is not None and self._admits(blocks.get(one)) for one in known], dtype=np.bool_)
        return chosen if ids.places is None else chosen[ids.places]

    def _known(self, texts: pl.Series, nobody: NDArray[np.bool_]) -> list[bytes | None]:
        """Return what the register knows each person by; None for nobody."""
        return [
            None if none or text is None else hashlib.blake2b(text.encode(), key=self._key, digest_size=16).digest()
            for text, none in zip(texts.to_list(), nobody.tolist(), strict=True)
        ]

    def _look_up(self, people: list[bytes]) -> dict[bytes, str]:
        with self._ledger.transaction(write=False) as transaction:
            found = transaction.dataset.blocks_of(people)
        new = [person for person in people if person not in found]
        if not new or self._register is None:
            return found
        with self._ledger.transaction() as transaction:
            return found | transaction.dataset.register(new, self._register)

    def _admits(self, block: str | None) -> bool:
        return block is not None and (self._blocks is None or block in self._blocks)
