"""Where compiled kernels are kept, so that they work wherever panbayes does.

Numba keeps what it has compiled beside the source, in ``__pycache__``; where that cannot be written (an installation of
the administrator's), in the user's cache folder; and it refuses to load a kernel where neither can be. A service
without a home on a read-only system is such a place: there a folder of this process alone is used, and nothing is kept.

The package looks before it loads any public name, the command line before any verb.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Final

__all__ = ["CHOSEN", "ensure_cache", "is_kept", "remove_cache"]

CHOSEN: Final = "NUMBA_CACHE_DIR"
"""The variable of the environment that names a folder of the user's choice."""

_OWN: list[str] = []


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
