"""Where compiled kernels are kept, so that they work wherever panbayes does.

Numba keeps what it has compiled beside the source, in ``__pycache__``; where that cannot be written (an installation of
the administrator's), in the user's cache folder; and it refuses to load a kernel where neither can be. A service
without a home on a read-only system is such a place: there a folder of this process alone is used, and nothing is kept.

The package looks before it loads any public name, the command line before any verb.

Whoever loads a kernel, kept or not, loads the compiler, and some fifty megabytes of its code stay in the memory of the
process though nothing needs them any more. A process that runs all day gives these pages back (:func:`rest_compiler`).
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

__all__ = ["CHOSEN", "ensure_cache", "is_kept", "remove_cache", "rest_compiler"]

CHOSEN: Final = "NUMBA_CACHE_DIR"
"""The variable of the environment that names a folder of the user's choice."""

_OWN: list[str] = []

_COMPILER: Final = "/libllvmlite."
_DONT_NEED: Final = 4


def ensure_cache() -> None:
    """See to it that compiled kernels have a place, before any of them is loaded."""
    if os.environ.get(CHOSEN) or _is_writable(Path(__file__).parent / "tables" / "counting" / "__pycache__"):
        return
    # Imported here: most installations never get as far.
    from platformdirs import user_cache_path

    if not _is_writable(user_cache_path("numba", appauthor=False)):
        _OWN.append(tempfile.mkdtemp(prefix="panbayes-"))
        os.environ[CHOSEN] = _OWN[-1]
        atexit.register(remove_cache)
        if "numba" in sys.modules:  # loaded before panbayes: it has read its environment
            sys.modules["numba"].core.config.CACHE_DIR = _OWN[-1]


def is_kept() -> bool:
    """Tell whether what is compiled outlasts this process."""
    return not _OWN


def remove_cache() -> None:
    """Remove the folder of this process, if it has one."""
    while _OWN:
        shutil.rmtree(_OWN.pop(), ignore_errors=True)


def _is_writable(folder: Path) -> bool:
    """Tell whether a folder can be written to, or made where it is not there yet."""
    there = next(path for path in (folder, *folder.parents) if os.path.lexists(path))
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def rest_compiler() -> None:
    """Give back the pages that hold the compiler's code, where the system is Linux; it does no harm at any moment.

    Only what is mapped from the file to be read and executed: nobody can have changed these pages, and whoever calls
    the compiler again reads them from the file again, which the system keeps in its cache as long as it likes.
    """
    if sys.platform != "linux" or "llvmlite" not in sys.modules:
        return
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    for start, end in _code_of_compiler():
        advise(start, end - start, _DONT_NEED)


@cache
def _code_of_compiler() -> tuple[tuple[int, int], ...]:
    """Return where the compiler's code lies in the memory of this process, and stays."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    fields = [line.split(maxsplit=5) for line in lines if _COMPILER in line]
    ends = [one[0].partition("-") for one in fields if one[1] == "r-xp"]
    return tuple((int(start, 16), int(end, 16)) for start, _, end in ends)
