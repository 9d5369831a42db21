"""How many letters were turned away, or wait for officers: each letter is counted once, however often it is looked at.

Counts are kept in memory first and written into the ledger once a minute, so that a flood of letters is no flood of
writes. Which letters were counted is kept beside, in ``STATE/post/counted`` (a digest in a line, the newest last), for
the same letters lie in a folder whenever somebody looks into it. Of a flood the oldest are forgotten, and would count
again.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Final

from panbayes.consortium.agent.carrier import Arrived
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.holder.ledger.events import Stranger
from panbayes.files import write_text

__all__ = ["MOST_KNOWN", "Strangers"]

MOST_KNOWN: Final = 20_000
"""Letters that are known to have been counted."""

_DIGITS: Final = 32


class Strangers:
    """The letters to one holder that got no answer and no event, by kind."""

    def __init__(self, holder: HolderFile) -> None:
        """Read which were counted before."""
        self._path = _path(holder)
        self._known = dict.fromkeys(_read(self._path))
        self._unsaid: Counter[Stranger] = Counter()

    def count(self, what: Stranger, arrived: Arrived) -> None:
        """Count a letter, unless it was; the same bytes under another name are another letter."""
        parts = arrived.known_by.encode(), arrived.letter.signature.encode(errors="replace"), arrived.letter.data
        digest = hashlib.sha256(b"\0".join(parts)).hexdigest()[:_DIGITS]
        if digest in self._known:
            return
        self._known[digest] = None
        self._unsaid[what] += 1
        if len(self._known) > MOST_KNOWN:
            del self._known[next(iter(self._known))]

    def write(self, holder: HolderFile) -> None:
        """Write down how many there were since this was last done."""
        if not self._unsaid:
            return
        with holder.ledger() as ledger:
            for what in list(self._unsaid):
                ledger.count_strangers(what, self._unsaid[what])
                del self._unsaid[what]
        text = "".join(f"{digest}\n" for digest in self._known)
        write_text(self._path, text, argument=f"{holder.file}, state", private=True)


def _path(holder: HolderFile) -> Path:
    return holder.private_folder(holder.state_folder / "post") / "counted"


def _read(path: Path) -> list[str]:
    """Read digests; a file that is gone or none has none."""
    try:
        with path.open("rb") as file:
            text = file.read((_DIGITS + 1) * MOST_KNOWN).decode(errors="replace")
    except OSError:
        return []
    return re.findall(rf"^[0-9a-f]{{{_DIGITS}}}$", text, re.MULTILINE)
