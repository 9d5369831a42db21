"""What happened at a holder's gate, for a person, a spreadsheet and a program. For the holder's eyes only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Self

from panbayes.cli.text import aligned, plural
from panbayes.consortium.holder.ledger.events import Event, Said, StrangerCount
from panbayes.consortium.holder.ledger.ledger import Ledger

__all__ = ["Log"]

_SHORT = 15
"""So much of a fingerprint is shown in a table: "SHA256:" and eight characters."""


@dataclass(frozen=True)
class Log:
    """The events of a ledger and the strangers it counted.

    ``studies`` has the names of studies by their hashes, ``people`` those of keys, by fingerprint or by line.
    """

    events: tuple[Event, ...]
    strangers: tuple[StrangerCount, ...] = ()
    studies: Mapping[str, str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls, ledger: Ledger, *, studies: Mapping[str, str] | None = None, people: Mapping[str, str] | None = None
    ) -> Self:
        """Read the log of a ledger, which knows the names of the studies that it has answered."""
        answered = {study.study: study.name for study in ledger.summary().studies}
        return cls(ledger.events(), ledger.strangers(), {**answered, **(studies or {})}, people or {})

    def json(self) -> dict[str, object]:
        """Return everything, exactly."""
        events = [
            {
                "position": event.position,
                "time": event.time,
                "what": event.what,
                "study": event.study,
                "name": self.studies.get(event.study),
                "asker": event.asker,
                "who": self.people.get(event.asker),
                "question": event.question,
                "detail": event.said,
                "digest": event.digest,
            }
            for event in self.events
        ]
        return {"events": events, "strangers": [asdict(found) for found in self.strangers]}

    def lines(self) -> list[str]:
        """Return a table, newest last, and how many strangers were not let in."""
        rows = [("time", "what", "study", "asker", "question", "bytes in", "out", "detail")]
        rows += [
            (
                event.time,
                event.what,
                self.studies.get(event.study, event.study[:12]),
                self._who(event.asker),
                event.question[:12],
                *self._bytes(event),
                self._words(event),
            )
            for event in self.events
        ]
        lines = aligned(rows) if self.events else ["  Nothing has happened yet."]
        if self.strangers:
            counts = [(found.day, found.what, f"{found.count:,}") for found in self.strangers]
            lines += ["  Not let in, and told nothing:", *aligned([("day", "why", "how many"), *counts])]
        return lines

    def csv(self) -> str:
        """Return the events as a table for a spreadsheet, in which no text is taken for a formula."""
        rows = [
            {
                "time": event.time,
                "what": event.what,
                "study": event.study,
                "name": self.studies.get(event.study, ""),
                "asker": event.asker,
                "who": self.people.get(event.asker, ""),
                "question": event.question,
                "received": (event.said or {}).get("received"),
                "sent": (event.said or {}).get("sent"),
                "detail": self._words(event),
            }
            for event in self.events
        ]
        texts = ("time", "what", "study", "name", "asker", "who", "question")
        # Imported here: all commands of a holder load this module, and its agent shall stay small.
        import polars as pl

        from panbayes.cli.table_output import harmless

        columns = {**dict.fromkeys(texts, pl.String), "received": pl.Int64, "sent": pl.Int64, "detail": pl.String}
        return harmless(pl.DataFrame(rows, schema=columns)).write_csv()

    def _who(self, key: str) -> str:
        return self.people.get(key) or (f"{key[:_SHORT]}…" if len(key) > _SHORT else key)

    def _officer(self, key: str) -> str:
        """Name an officer: as people do, or by the end of the key, where keys differ."""
        parts = " ".join(key.split()[:2])
        return self.people.get(key) or self.people.get(parts) or (f"…{parts[-12:]}" if len(parts) > 24 else key)

    def _bytes(self, event: Event) -> tuple[str, str]:
        said = event.said or {}
        received, sent = (f"{said[name]:,}" if name in said else "" for name in ("received", "sent"))
        return received, sent

    def _words(self, event: Event) -> str:
        said: Said = event.said or {}
        match event.what:
            case "answered":
                return f"entry {said.get('entry')}"
            case "repeated":
                return "free"
            case "refused":
                return str(said.get("code"))
            case "approved":
                return f"signed by {self._officer(str(said.get('key', '')))}"
            case "declined" | "stopped" | "resumed":
                by, reason = self._officer(str(said.get("by", ""))), str(said.get("reason", ""))
                return ": ".join(part for part in (f"by {by}" if by else "", reason) if part)
            case "overrun":
                needed = said.get("needed")
                return f"{plural(int(needed or 0), 'slot')} needed, {said.get('promised')} promised"
            case _:
                return ""
