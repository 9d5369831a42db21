"""What a source is, and what the service asks of one.

A source takes lines into a :class:`~panbayes.service.feed.Feed` as they come. It acknowledges by the beat: before the
states are brought to the disk it is asked what to acknowledge (:meth:`Running.settle`), and what it then returned is
called afterwards. So nothing is acknowledged that is not on the disk, and when it is has nothing to do with the input.

Each module of ``sources/`` that defines a :class:`SourceKind` adds one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Protocol

from panbayes.discovery import registry
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.feed import Feed

__all__ = ["Declared", "Reading", "Running", "Say", "SourceKind", "Surroundings", "nothing", "source_kinds"]

Say = Callable[[str], None]
"""How a source tells the operator that it lost and found its broker; never anything about what came in."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a source finds: the ``folder`` that paths are relative to, and somebody to ``say`` things to.

    ``end`` ends the service, from any thread: because the input has ended (None), or because of an error.
    """

    folder: Path
    say: Say
    end: Callable[[BaseException | None], None]


class Running(Protocol):
    """A source that takes lines in."""

    def settle(self) -> Callable[[], None]:
        """Say what has been taken in by now: return what acknowledges that and nothing later."""

    async def stop(self) -> None:
        """Take nothing more in; what was taken in is settled and acknowledged after this. It may be called twice."""

    async def close(self) -> None:
        """Let everything go."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The keys that every source has: what its lines look like, and which states they are for."""

    format: Annotated[
        str,
        Key(kinds.text('"text", "ndjson", "csv" or "combined"'), "what the lines that come in look like"),
    ] = "text"
    column: Annotated[
        str | None,
        Key(
            kinds.text('a name such as "user"'),
            "the field of NDJSON lines or of an access log that has the id, or the number of a CSV column",
            default="the whole line",
        ),
    ] = None
    states: Annotated[
        tuple[str, ...],
        Key(kinds.list_of((str,), 'names such as "visitors"'), "the states that it feeds", default="all"),
    ] = ()


class Declared(Protocol):
    """A source as the file of the service declares it."""

    @property
    def format(self) -> str:
        """The name of the format of its lines."""

    @property
    def column(self) -> str | None:
        """The column that has the id."""

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the states that it feeds; none stands for all."""

    async def start(self, feed: Feed, around: Surroundings) -> Running:
        """Begin to take lines in."""

    def describe(self) -> str:
        """Say where lines come from."""


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of source: its ``name`` in the file, the class whose fields are its keys, and how it delivers.

    ``repeats`` says that a line may come again after a crash, which is harmless where users are counted once and wrong
    where visits are.
    """

    name: str
    summary: str
    declared: type[Any]
    repeats: bool


@cache
def source_kinds() -> dict[str, SourceKind]:
    """Return every kind of source by its name."""
    return registry("panbayes.service.sources", SourceKind, lambda kind: kind.name)


def nothing() -> None:
    """Acknowledge nothing: the source has nobody to tell."""
