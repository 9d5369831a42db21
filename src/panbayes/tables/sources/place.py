"""Where a table lies, whatever it is called: by this a declared dataset is known before anything of it is read.

A table in a database is known by the :attr:`~panbayes.tables.sources.address.Address.place` of its address; a file,
folder or pattern by its resolved path, and each file by what the file system knows it by, so that a link is no other
place. What lies in memory has no place.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from panbayes.errors import InputError
from panbayes.tables.sources.address import OMOP, ON_DISK, Address, address_of
from panbayes.tables.sources.file import File, is_file
from panbayes.tables.sources.pattern import files_of, is_pattern

__all__ = ["Place", "absolute", "place_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A place: an ``address``, or a ``path`` on this machine, or both for a database in a file.

    >>> here, there = place_of("a.csv", argument="data"), place_of("./b/../a.csv", argument="data")
    >>> here == there, place_of([], argument="data")
    (True, None)
    """

    address: Address | None
    path: Path | None

    def is_same(self, other: Place) -> bool:
        """Tell whether both are one table, by all that is known without reading it."""
        if self == other:
            return True
        if self.path is None or other.path is None or (self.address is None) != (other.address is None):
            return False
        if self.address is not None and other.address is not None:
            apart = (self.address.scheme, self.address.options) != (other.address.scheme, other.address.options)
            return not apart and _is_same_file(self.path, other.path)
        return _is_same_file(self.path, other.path)

    def overlaps(self, other: Place) -> bool:
        """Tell whether some records may lie in both: one is in the other's folder, or a file belongs to both."""
        if self.is_same(other) or _features_of(self, other) or _features_of(other, self):
            return True
        if self.path is None or other.path is None or (self.address is not None and other.address is not None):
            return False
        if self.path in other.path.parents or other.path in self.path.parents or self.path == other.path:
            return not (is_pattern(self.path) or is_pattern(other.path)) or _share(self.path, other.path)
        return _share(self.path, other.path)


def place_of(data: object, *, argument: str) -> Place | None:
    """Return where something given lies; None for what has no place. ``argument`` names it in errors."""
    address = address_of(data, argument=argument)
    if address is not None:
        files = address.option("path") if address.scheme == "spark" else None
        if files is not None:  # The very files, whoever reads them.
            return Place(None, Path(files).resolve())
        return Place(address.place, address.file.resolve() if address.scheme in ON_DISK else None)
    if not is_file(data):
        return None
    path = data.path if isinstance(data, File) else Path(str(data))
    if "\0" in str(path):
        raise InputError(argument, found="holds a NUL, which no path can", remedy="check the path")
    return Place(None, path.resolve())


def absolute(data: File | Address) -> File | Address:
    """Return the same table, by a path that does not depend on the folder somebody is in."""
    if isinstance(data, Address):
        return data.within(Path.cwd())
    return File(
        data.path.absolute(),
        encoding=data.encoding,
        separator=data.separator,
        header=data.header,
        columns=data.columns,
        sheet=data.sheet,
    )


def _features_of(people: Place, table: Place) -> bool:
    """Tell whether one is about the people of an OMOP database, and the other a table of the same."""
    one, other = people.address, table.address
    if one is None or other is None or one.scheme not in OMOP or one.scheme != f"omop+{other.scheme}":
        return False
    return (one.host, one.port, one.path) == (other.host, other.port, other.path)


def _is_same_file(one: Path, other: Path) -> bool:
    try:
        return one.is_file() and one.samefile(other)
    except OSError:
        return False


def _share(one: Path, other: Path) -> bool:
    return not _files(one).isdisjoint(_files(other))


def _files(path: Path) -> set[tuple[int, int]]:
    """Return what the system knows the files by that a path stands for now."""
    known: set[tuple[int, int]] = set()
    for one in files_of(path)[1] if path.is_dir() or is_pattern(path) else [path]:
        try:
            found = one.stat()
        except OSError:
            continue
        known.add((found.st_dev, found.st_ino))
    return known
