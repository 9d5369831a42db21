"""What happened at a holder's gate and who decided what about a study: in order, with the time, for good.

============= ========================================= ==========================================================
what          detail                                    means
============= ========================================= ==========================================================
``answered``  entry, received, sent                     a question was answered and charged for, by that entry
``repeated``  received, sent                            the answer to a question went out again, free
``refused``   code, received, sent                      a question was refused on public grounds
``approved``  key, statement, signature                 an officer signed the statement of approval
``declined``  by, reason                                an officer declined: what was signed before is void
``stopped``   by, reason                                an officer, or the agent itself, stopped the study
``resumed``   by, reason                                an officer lets the study go on after a stop
``overrun``   promised, needed                          an answer took more slots of time than were promised
============= ========================================= ==========================================================

``received`` and ``sent`` are bytes, of the question and of what went out. Every event names its study, whoever asked
(by the fingerprint of a key; nobody, where both sides are one process) and the question, where it is about one.

::

    digest[0] = SHA-256("panbayes events 1")
    digest[i] = SHA-256("panbayes event 1", i, time, what, study, asker, question, detail, digest[i-1])

The newest digest is kept beside the table, and the commitment of every entry covers the digest of all events before it
(:mod:`panbayes.consortium.holder.ledger.chain`). An answer is written in the same transaction as its charge, right
behind it. Times and details are the holder's: none of them leaves, and a head hides them behind its entry's secret.

What the holder does to its account (caps, closed studies) and answers that failed are notes
(:mod:`panbayes.consortium.holder.ledger.notes`), and nothing is written in both places. A study that is paused after
failures and *resumed* there is another matter than one that an officer stopped and *resumed* here.

Whoever is not let in is counted by day and kind (:data:`Stranger`), in no chain: a flood must not fill the disk. For
the same reason an asker's repeats and refusals are written one by one only so often a day (:data:`DAILY`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from panbayes.consortium.holder.ledger.chain import sha256

__all__ = [
    "DAILY",
    "DECISIONS",
    "FIRST_DIGEST",
    "HAPPENINGS",
    "MAX_TEXT",
    "STRANGERS",
    "Event",
    "Happening",
    "Said",
    "Stranger",
    "StrangerCount",
    "detail_text",
    "read_detail",
]

Happening: TypeAlias = Literal[
    "answered", "repeated", "refused", "approved", "declined", "stopped", "resumed", "overrun"
]

HAPPENINGS: Final[tuple[Happening, ...]] = get_args(Happening)

DECISIONS: Final[tuple[Happening, ...]] = ("approved", "declined", "stopped", "resumed")
"""What decides whether a study is answered."""

Stranger: TypeAlias = Literal[
    "unreadable", "unsigned", "unknown", "misaddressed", "unapproved", "out-of-turn", "repeated", "refused"
]
"""Why something got no answer and no event: no letter at all, not signed (or not by whom it says), signed by a key that
is no analyst's here, not for this holder, about a study that is not approved here now, in no order that makes sense;
or a repeat or a refusal beyond those that are written one by one."""

STRANGERS: Final[tuple[Stranger, ...]] = get_args(Stranger)

Said: TypeAlias = dict[str, str | int]
"""The detail of an event, by its names."""

DAILY: Final = 1000
"""So many repeats, and so many refusals, of one study are written one by one in a day."""

MAX_TEXT: Final = 64 * 2**10
"""The longest text in an event."""

FIRST_DIGEST: Final = sha256("panbayes events 1")
"""The digest before the first event."""

_DETAILS: Final[Mapping[str, Mapping[str, type]]] = {
    "answered": {"entry": int, "received": int, "sent": int},
    "repeated": {"received": int, "sent": int},
    "refused": {"code": str, "received": int, "sent": int},
    "approved": {"key": str, "statement": str, "signature": str},
    "declined": {"by": str, "reason": str},
    "stopped": {"by": str, "reason": str},
    "resumed": {"by": str, "reason": str},
    "overrun": {"promised": int, "needed": int},
}


@dataclass(frozen=True, slots=True)
class Event:
    """Event number ``position``, as it stands in the ledger, and the ``digest`` of it and all before."""

    position: int
    time: str
    what: str
    study: str
    asker: str
    question: str
    detail: str
    digest: str = ""

    @property
    def said(self) -> Said | None:
        """The detail by its names; None if it is not what panbayes writes."""
        return read_detail(self.what, self.detail)

    def expected_digest(self, previous: str) -> str:
        """Compute the digest anew, from the one before."""
        said = (self.time, self.what, self.study, self.asker, self.question, self.detail)
        return sha256("panbayes event 1", self.position, *said, previous)


@dataclass(frozen=True, slots=True)
class StrangerCount:
    """How many were not let in on a day, of one kind."""

    day: str
    what: str
    count: int


def detail_text(what: Happening, said: Mapping[str, str | int]) -> str:
    """Write the detail of an event as the one text that is stored and hashed.

    >>> detail_text("overrun", {"promised": 1, "needed": 3})
    '{"needed":3,"promised":1}'
    """
    text = json.dumps(said, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    if read_detail(what, text) != said:
        raise ValueError(f"an event {what} has no detail such as {sorted(said)}")
    return text


def read_detail(what: str, text: str) -> Said | None:
    """Read the detail of an event; None if it is not one that panbayes writes.

    >>> read_detail("overrun", '{"needed":3,"promised":1}')
    {'needed': 3, 'promised': 1}
    >>> read_detail("overrun", '{"needed":3}') is read_detail("overrun", "[") is read_detail("fire", "{}") is None
    True
    """
    expected = _DETAILS.get(what)
    if expected is None or len(text) > MAX_TEXT:
        return None
    try:
        found = json.loads(text)
        text.encode()  # what no file can hold was written by somebody else
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict) or found.keys() != expected.keys():
        return None
    return found if all(_fits(value, expected[name]) for name, value in found.items()) else None


def _fits(value: object, kind: type) -> bool:
    """Tell whether a value is a text, or a number that every program can read, where it should be."""
    return type(value) is kind and (not isinstance(value, int) or 0 <= value < 2**53)
