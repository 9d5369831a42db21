"""Who counts: Numba where it can be imported, else NumPy, with identical results."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.tables.counting import numpy_kernels

if TYPE_CHECKING:
    from panbayes.tables.codes import Codes

__all__ = ["ENVIRONMENT", "Engine", "Kernels", "choose_kernels", "engine"]

ENVIRONMENT: Final = "PANBAYES_KERNELS"

Kernels: TypeAlias = Literal["numba", "numpy"]


class Engine(Protocol):
    """What the two modules of kernels have in common."""

    def count_sets(
        self,
        codes: Codes,
        sizes: NDArray[np.int64],
        sets: NDArray[np.int64],
        offsets: NDArray[np.int64],
        out: NDArray[np.int32],
    ) -> None:
        """Write the tables of sets of one length into ``out``."""

    def count_odd(self, words: NDArray[np.uint64], sets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the ones in the exclusive or of some rows of ``words``, for sets of one length."""

    def look_up(self, places: NDArray[np.int32], codes: Codes, out: Codes, times: NDArray[np.int64]) -> None:
        """Set ``out[t]`` to ``codes[places[t]]``, and add to ``times`` how often each place occurs."""

    def unpack(
        self, words: NDArray[np.int64], rows: NDArray[np.int64], sizes: NDArray[np.int64], out: NDArray[np.int32]
    ) -> None:
        """Write the digits of every word into the rows of ``out``, each below its size."""

    def regroup(self, codes: Codes, places: NDArray[np.int64], maps: Codes, out: Codes) -> None:
        """Set ``out[g, t]`` to ``maps[g, codes[places[g], t]]``."""

    def add_hashes(
        self, codes: Codes, order: NDArray[np.int64], keys: NDArray[np.uint64], sums: NDArray[np.uint64]
    ) -> None:
        """Add the hash of every record to ``sums``, its codes taken in this order of attributes."""


def engine(kernels: Kernels) -> Engine:
    """Return the module that counts; Numba is imported only where it is used."""
    if kernels == "numpy":
        return numpy_kernels
    from panbayes.tables.counting import numba_kernels

    return numba_kernels


def choose_kernels(kernels: Kernels | None = None) -> Kernels:
    """Return which kernels to use: the argument, else the environment's choice, else Numba where it is installed."""
    argument = "kernels" if kernels is not None else ENVIRONMENT
    choice = kernels if kernels is not None else os.environ.get(ENVIRONMENT, "")
    if choice not in ("", "numba", "numpy"):
        raise InputError(argument, found=f"found {choice!r}", remedy="use numba or numpy")
    if choice == "numpy":
        return "numpy"
    try:
        importlib.import_module("numba")
    except ImportError:
        if choice == "numba":
            raise InputError(
                argument, found="found 'numba', which cannot be imported", remedy="install it, or use numpy"
            ) from None
        return "numpy"
    return "numba"
