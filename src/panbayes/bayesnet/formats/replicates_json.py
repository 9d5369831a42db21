"""The error part of a model file: replicates as plain JSON values, their numbers packed.

``unseen`` holds what :class:`~panbayes.bayesnet.uncertainty.unseen.Unseen` does, or null; ``merges`` one flat list of
merged groups per attribute, in order; ``tables`` the axes (attribute, groups) of every measured table, attributes by
position; ``draws`` the number of replicates; ``laws`` and ``parameters`` their numbers, as base64 of 16-bit integers,
the low byte first, replicate after replicate.
"""

from __future__ import annotations

import base64
import binascii
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.markov.nested import Nested
from panbayes.bayesnet.uncertainty.replicates import MOST_DRAWS, Replicates
from panbayes.bayesnet.uncertainty.unseen import Unseen
from panbayes.errors import InputError
from panbayes.schema.schema import Schema

__all__ = ["ReplicatesPart", "read_replicates", "write_replicates"]

_Number = TypeVar("_Number", np.uint16, np.int16)


class _Unseen(msgspec.Struct, forbid_unknown_fields=True):
    records: float
    noise: float
    passed: float


class ReplicatesPart(msgspec.Struct, forbid_unknown_fields=True):
    """The part as it is written; see the module."""

    unseen: _Unseen | None
    merges: list[list[int]]
    tables: list[list[tuple[int, int]]]
    draws: int
    laws: str
    parameters: str


def write_replicates(replicates: Replicates) -> ReplicatesPart:
    """Return the part of a file for these replicates."""
    unseen = replicates.unseen
    return ReplicatesPart(
        None if unseen is None else _Unseen(unseen.records, unseen.noise, unseen.passed),
        [[group for merge in own.merges for group in merge] for own in replicates.nested],
        [list(axes) for axes in replicates.tables],
        len(replicates),
        _packed(replicates.laws),
        _packed(replicates.parameters),
    )


def read_replicates(part: ReplicatesPart, schema: Schema) -> Replicates:
    """Return the replicates that a part holds; what does not fit together is an error about ``error``."""
    if len(part.merges) != len(schema) or any(len(flat) % 2 for flat in part.merges):
        raise _bad("found groupings that do not fit the schema")
    if not 0 < part.draws <= MOST_DRAWS:
        raise _bad(f"found {part.draws} replicates")
    nested = tuple(
        Nested(size, tuple(zip(flat[::2], flat[1::2], strict=True)))
        for size, flat in zip(schema.sizes, part.merges, strict=True)
    )
    unseen = part.unseen
    return Replicates(
        None if unseen is None else Unseen(unseen.records, unseen.noise, unseen.passed),
        nested,
        tuple(tuple(axes) for axes in part.tables),
        _unpacked(part.laws, part.draws, np.uint16),
        _unpacked(part.parameters, part.draws, np.int16),
    )


def _packed(numbers: NDArray[_Number]) -> str:
    return base64.b64encode(numbers.astype(numbers.dtype.newbyteorder("<")).tobytes()).decode()


def _unpacked(text: str, draws: int, kind: type[_Number]) -> NDArray[_Number]:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _bad("found numbers that are not packed") from None
    if len(data) % (2 * draws):
        raise _bad("found laws or parameters of the wrong length")
    return np.frombuffer(data, np.dtype(kind).newbyteorder("<")).astype(kind).reshape(draws, -1)


def _bad(found: str) -> InputError:
    return InputError("error", found=found, remedy="use the file as panbayes wrote it, or learn the model again")
