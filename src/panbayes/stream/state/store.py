"""Where a state lives: what the estimator asks of a store, in memory or in a file."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from panbayes.errors import InputError
from panbayes.stream.setup import StreamSetup
from panbayes.stream.state.entries import Entries
from panbayes.stream.state.release_count import ReleaseCount

__all__ = ["Step", "Store", "closed"]

Step: TypeAlias = Callable[[ReleaseCount, Entries], ReleaseCount]
"""What a release does: it looks at the count and the entries, and gives the new count."""


class Store(Protocol):
    """Where a state lives."""

    @property
    def setup(self) -> StreamSetup:
        """What is public about the stream; known after closing too."""

    def feeding(self) -> AbstractContextManager[Entries]:
        """Lend the entries to one thread that redraws them; when the block ends, the batch counts for good."""

    def transact(self, step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Replace the release count by ``step`` of it, and return both; the new one is kept before it is returned."""

    def turn(self, forget: Callable[[Entries], None], step: Step) -> tuple[ReleaseCount, ReleaseCount]:
        """Let ``forget`` redraw entries, keep them, and only then do as :meth:`transact`; nothing is fed meanwhile."""

    def close(self) -> None:
        """Let the state go; whatever is asked of it afterwards is refused. Closing twice does nothing."""


def closed() -> InputError:
    """Return the error for whatever is asked of a closed store."""
    return InputError("state", found="it was closed", remedy="open it again, or start a new one")
