"""Which files a folder or a pattern stands for, in the order of their names.

Files whose names begin with a dot or an underscore are nobody's records.
"""

from __future__ import annotations

import glob
from pathlib import Path

__all__ = ["files_of", "is_pattern"]


def is_pattern(path: Path) -> bool:
    """Tell whether a path stands for several files."""
    return glob.has_magic(str(path)) and not path.exists()


def files_of(path: Path) -> tuple[Path, list[Path]]:
    """Return the folder that a folder or a pattern begins with, and its files, in the order of their names."""
    if is_pattern(path):
        fixed = next(place for place, part in enumerate(path.parts) if glob.has_magic(part))
        root = Path(*path.parts[:fixed])
        found = list(root.glob(str(Path(*path.parts[fixed:]))))
    else:
        root, found = path, list(path.rglob("*"))
    return root, sorted(one for one in found if one.is_file() and not _is_hidden(one.relative_to(root)))


def _is_hidden(relative: Path) -> bool:
    return any(part.startswith((".", "_")) for part in relative.parts)
