"""What a format of streams is: a name, the suffixes of its files, and a function that yields batches of ids.

Each module of this folder that defines a :class:`StreamFormat` adds one; :mod:`panbayes.stream.ids.feeding` finds them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from panbayes.errors import InputError
from panbayes.stream.ids.records import Records
from panbayes.stream.ids.stopping import Stop

__all__ = ["StreamFormat", "unreadable"]


@dataclass(frozen=True, slots=True)
class StreamFormat:
    """A format: ``batches(source, column, stop)`` yields ids in whatever form an estimator takes them.

    ``source`` is a path, or ``-`` for standard input; ``column`` is what the user named, or ``None``. Asked to
    ``stop``, it yields what was read and ends. A row that cannot be read yields a missing id.
    ``records(source, column, fields, stop)`` yields ids with the values of some fields beside them.
    """

    name: str
    suffixes: tuple[str, ...]
    batches: Callable[[str, str | None, Stop], Iterator[object]]
    records: Callable[[str, str | None, Sequence[str], Stop], Iterator[Records]]


def unreadable(source: str, error: OSError) -> InputError:
    """Return the error for a source that the system does not let us read."""
    reason = (error.strerror or "unknown reason").lower()
    return InputError(source, found=f"cannot be read ({reason})", remedy="give a file, or - for standard input")
