"""What a format of streams is: a name, the suffixes of its files, and a function that yields batches of ids.

Each module of this folder that defines a :class:`StreamFormat` adds one; :mod:`panbayes.stream.ids.feeding` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.stopping import Stop

__all__ = ["StreamFormat", "unreadable"]


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """A format: how ids, and the values of fields beside them, are read from lines or from a file of another kind.

    ``of_lines(lines, column, fields, arena)`` yields ids in whatever form an estimator takes them, or, where there are
    ``fields``, :class:`~panbayes.stream.ids.records.Records`; ``column`` is what the user named, or ``None``. A row
    that cannot be read yields a missing id. What depends on lines lies in ``arena``, which is wiped when the next lines
    are asked for. Where a file is no lines, ``of_file(path, column, fields, stop)`` does;
    asked to ``stop``, it yields what was read and ends.
    """

    name: str
    suffixes: tuple[str, ...]
    of_lines: Callable[[Iterator[Texts], str | None, Sequence[str], Arena], Iterator[object]] | None = None
    of_file: Callable[[str, str | None, Sequence[str], Stop], Iterator[object]] | None = None

    def __post_init__(self) -> None:
        """Refuse a format that reads nothing, or the same in two ways."""
        if (self.of_lines is None) is (self.of_file is None):
            raise ValueError("a format reads lines or files")


def unreadable(source: str, error: OSError) -> InputError:
    """Return the error for a source that the system does not let us read."""
    reason = (error.strerror or "unknown reason").lower()
    return InputError(source, found=f"cannot be read ({reason})", remedy="give a file, or - for standard input")
