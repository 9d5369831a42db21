"""Log-probabilities of records, and classification by the Markov blanket.

Both are gathers: the row of an attribute's table that a record points at is found by mixed-radix arithmetic on the
codes of the parents, a block of records at a time so that the work stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.structure import Structure
from panbayes.tables.codes import Codes

__all__ = ["classify_codes", "log_probabilities", "row_index"]

_BLOCK: Final = 1 << 15
_FLOOR: Final = 1e-300


def row_index(codes: Codes, attributes: Sequence[int], sizes: Sequence[int]) -> NDArray[np.int64]:
    """Return the mixed-radix number of some attributes' codes, the last attribute running fastest.

    >>> row_index(np.array([[1, 0], [2, 1]], dtype=np.uint8), (0, 1), (2, 3)).tolist()
    [5, 1]
    """
    index = np.zeros(codes.shape[1], dtype=np.int64)
    for attribute, size in zip(attributes, sizes, strict=True):
        index *= size
        index += codes[attribute]
    return index


def _blocks(codes: Codes) -> Iterator[tuple[slice, Codes]]:
    for start in range(0, codes.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        yield block, codes[:, block]


def log_probabilities(structure: Structure, tables: Sequence[FloatArray], codes: Codes) -> FloatArray:
    """Return Σ_i ln p(x_i | x_Pa(i)) for every record; −∞ where a factor is zero.

    ``codes`` has shape (attributes, records); ``tables`` are laid out as in :mod:`panbayes.bayesnet.network`.
    """
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in tables]
    result = np.zeros(codes.shape[1])
    for block, part in _blocks(codes):
        for child, log in enumerate(logs):
            index = row_index(part, (*structure.parents(child), child), log.shape)
            result[block] += log.ravel()[index]
    return result


def classify_codes(structure: Structure, tables: Sequence[FloatArray], codes: Codes, target: int) -> FloatArray:
    """Return p(target = c | all other attributes) for every record and code c, shape (records, codes).

    Only the factors that contain the target matter: its own and its children's (the rest cancels). A factor of
    zero counts as 1e-300, so that a record which the network calls impossible for every value of the target still
    gets an answer: the value that is contradicted least.
    """
    gathers: list[tuple[tuple[int, ...], tuple[int, ...], FloatArray]] = []
    for factor in (target, *structure.children(target)):
        scope = (*structure.parents(factor), factor)
        axis = scope.index(target)
        others = tuple(a for a in scope if a != target)
        log = np.log(np.maximum(np.moveaxis(tables[factor], axis, -1), _FLOOR))
        gathers.append((others, log.shape[:-1], log.reshape(-1, log.shape[-1])))
    size = tables[target].shape[-1]
    result = np.zeros((codes.shape[1], size))
    for block, part in _blocks(codes):
        scores = result[block]
        for others, sizes, log in gathers:
            scores += log[row_index(part, others, sizes)]
        scores -= scores.max(axis=1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=1, keepdims=True)
    return result
