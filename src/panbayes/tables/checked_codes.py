"""Codes that have been held against their domains once, and cannot change afterwards.

The counting kernels use codes as positions in memory without looking at them again. Whatever may have been written to
since it was checked must be checked again; :class:`CheckedCodes` cannot have been.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS

__all__ = ["CheckedCodes", "check_codes"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CheckedCodes:
    """Codes of shape (attributes, records) below the ``sizes`` of their domains, in memory that nobody writes to.

    An array that is read-only, as is the one whose memory it shows, is taken as it is; any other is copied.
    """

    codes: NDArray[np.uint8 | np.uint16]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        """Take the codes out of everybody's reach, then check them."""
        object.__setattr__(self, "codes", _frozen(self.codes))
        check_codes(self.codes, self.sizes, range(len(self.sizes)))


def _frozen(codes: NDArray[np.uint8 | np.uint16]) -> NDArray[np.uint8 | np.uint16]:
    owner = codes
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    writable = codes.flags.writeable or owner.flags.writeable or owner.base is not None
    if not writable and codes.flags.c_contiguous:
        return codes
    own = codes.copy(order="C")
    own.flags.writeable = False
    return own


def check_codes(codes: NDArray[np.uint8 | np.uint16], sizes: tuple[int, ...], used: Iterable[int]) -> None:
    """Check what the kernels trust: type, layout, and every code of the attributes in ``used``."""
    if codes.ndim != 2 or codes.shape[0] != len(sizes) or codes.dtype not in (np.uint8, np.uint16):
        raise InputError(
            "codes",
            found=f"found {codes.dtype} of shape {codes.shape}",
            remedy=f"give uint8 or uint16 of shape ({len(sizes)}, records)",
        )
    if not codes.flags.c_contiguous:
        raise InputError(
            "codes", found="the codes of an attribute are not contiguous", remedy="use numpy.ascontiguousarray"
        )
    if codes.shape[1] > MAX_RECORDS:
        raise InputError("codes", found=f"found {codes.shape[1]:,} records", remedy=f"at most {MAX_RECORDS:,} fit")
    if codes.shape[1] and any(int(codes[a].max()) >= sizes[a] for a in used):
        raise InputError(
            "codes", found="found a code outside its domain", remedy="encode the records with their schema"
        )
