"""Whether the events of a ledger hold together, and with its entries; a part of the module ``verify``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from panbayes.consortium.holder.ledger.chain import Entry
from panbayes.consortium.holder.ledger.decisions import Standing
from panbayes.consortium.holder.ledger.events import FIRST_DIGEST, HAPPENINGS, STRANGERS, Event, StrangerCount

__all__ = ["event_faults", "stranger_faults"]


def event_faults(events: Iterable[Event], entries: Sequence[Entry], recorded: str | None) -> Iterator[str]:
    """Yield what is wrong with the events of a ledger that has these entries, and keeps this digest of all events.

    The event of an answer stands right behind its entry: the digest before it is what the entry commits to.
    """
    unseen = list(entries)
    stands: dict[str, Standing] = {}
    digest = FIRST_DIGEST
    for position, event in enumerate(events, start=1):
        if event.position != position:
            yield f"event {position} is missing"
            return
        where = f"event {position}"
        if event.expected_digest(digest) != event.digest:
            yield f"{where}: it has been changed, or is another one than was written here"
        if event.what not in HAPPENINGS:
            yield f"{where}: it is of an unknown kind ({event.what})"
        elif event.said is None:
            yield f"{where}: it cannot be read"
        if event.what == "answered":
            if not unseen or not _tells_of(event, unseen[0]):
                yield f"{where}: it tells of an answer that was not given then"
            else:
                entry = unseen.pop(0)
                if entry.events != digest:
                    yield f"entry {entry.sequence}: an event before it has been changed, or is missing"
                if event.asker and not _answerable(stands.get(event.study, Standing())):
                    yield f"entry {entry.sequence}: its study was not approved, or had been declined or stopped"
        stands[event.study] = stands.get(event.study, Standing()).after(event)
        digest = event.digest
    yield from (f"entry {entry.sequence}: there is no event of its answer" for entry in unseen)
    if recorded != digest:
        yield "the newest events are missing"


def stranger_faults(strangers: Iterable[StrangerCount]) -> Iterator[str]:
    """Yield the kinds of strangers that nobody counts."""
    yield from (
        f"there are strangers of an unknown kind ({kind})"
        for kind in sorted({found.what for found in strangers} - {*STRANGERS})
    )


def _tells_of(event: Event, entry: Entry) -> bool:
    said = event.said or {}
    return (said.get("entry"), event.study, event.question) == (entry.sequence, entry.study, entry.question)


def _answerable(study: Standing) -> bool:
    """Tell whether another institution may have been answered: signatures are looked at by the gate, with the keys."""
    return bool(study.approvals) and not study.stopped
