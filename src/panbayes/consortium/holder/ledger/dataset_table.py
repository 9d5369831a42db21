"""What a ledger keeps of a declared dataset: what was declared, blocks, pins, and a register of who was first seen.

The register says of every person that was ever read the block in which that was, by a hash of 16 bytes under a key of
the ledger's own. Nothing is ever removed from it, whoever is removed from the table: who comes back has the same block.
It lies in the ledger itself, so that it cannot be lost, or restored from a backup, without the account. Sums of it are
kept beside it, so that a row that is gone shows (:mod:`panbayes.consortium.holder.ledger.register_sums`).
"""

from __future__ import annotations

import hmac
import sqlite3
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from panbayes.consortium.agreement.calendar import period_at, periods
from panbayes.consortium.holder.ledger.binding import keyed
from panbayes.consortium.holder.ledger.clock import Clock
from panbayes.consortium.holder.ledger.declaration import Dataset, Named, Pin, read_dataset, read_pin
from panbayes.consortium.holder.ledger.note_table import NoteTable
from panbayes.consortium.holder.ledger.register_sums import RegisterSums, read_sums
from panbayes.consortium.holder.ledger.rows import Rows
from panbayes.errors import InternalError, LedgerError

__all__ = ["DatasetTable"]

_SUMS: Final = "register"
_AT_ONCE: Final = 2**14

_BLOCKS_OF: Final = """
WITH RECURSIVE places (place) AS (SELECT 1 UNION ALL SELECT place + 16 FROM places WHERE place + 16 < length(?1))
SELECT person, block FROM places CROSS JOIN register ON person = substr(?1, place, 16)
"""
"""Looks up everybody in a text of 16 bytes each."""


class DatasetTable(Rows):
    """What is kept of a dataset, inside BEGIN … COMMIT."""

    def __init__(self, connection: sqlite3.Connection, name: str, notes: NoteTable, clock: Clock) -> None:
        """Work on a connection; ``name`` is the ledger's in messages, ``clock`` says in which period now is."""
        super().__init__(connection, name)
        self._notes = notes
        self._clock = clock

    def history(self) -> list[Dataset]:
        """Return everything that was declared, in order: the newest holds, and its table has lain in all the places."""
        found = [read_dataset(text) for text in self._notes.of("dataset")]
        if None in found:
            raise self._damaged("a note of a dataset is not what panbayes writes")
        return [one for one in found if one is not None]

    def declared(self) -> Dataset | None:
        """Return the dataset that the ledger is the account of; None if none was declared."""
        history = self.history()
        return history[-1] if history else None

    def declare(self, dataset: Dataset) -> None:
        """Write down what the dataset is from here on; whether it may be so is the caller's to see."""
        self._notes.write("dataset", dataset.text())

    def renumbered(self) -> bool:
        """Tell whether ids were renumbered, and the register with them is void."""
        return self._notes.has("renumbered")

    def renumber(self) -> None:
        """Write down, for good, that ids were renumbered."""
        self._notes.write("renumbered", None)

    def blocks(self) -> tuple[str, ...]:
        """Return every block there is: the periods from the first that was opened to the newest, empty ones too."""
        opened = self._notes.of("block")
        return periods(opened[0], opened[-1]) if opened else ()

    def open_block(self) -> str:
        """Return the block of people who are first seen now: by the calendar, and never before one that was opened."""
        dataset = self.declared()
        if dataset is None or dataset.blocks is None or self.renumbered():
            raise InternalError("a block was to be opened in a dataset that has none")
        now, opened = period_at(dataset.blocks, self._clock()), self._notes.of("block")
        if opened and opened[-1] >= now:
            return opened[-1]
        self._notes.write("block", now)
        return now

    def register(self, people: Sequence[bytes], block: str) -> dict[bytes, str]:
        """Write down that people were seen now; whoever was seen before keeps the block. Return the block of each."""
        found, sums = self.blocks_of(people), self.kept_sums()
        new = [person for person in dict.fromkeys(people) if person not in found]
        statement = "INSERT INTO register (person, block) VALUES (?, ?)"
        self.connection.executemany(statement, [(person, block) for person in new])
        self._keep(_SUMS, sums.having(block, new).text())
        return found | dict.fromkeys(new, block)

    def blocks_of(self, people: Sequence[bytes]) -> dict[bytes, str]:
        """Return the block of each person that is in the register."""
        found: dict[bytes, str] = {}
        for start in range(0, len(people), _AT_ONCE):
            some = b"".join(people[start : start + _AT_ONCE])
            found.update(self._rows(_BLOCKS_OF, bytes, str, given=(some,)))
        return found

    def sums(self) -> RegisterSums:
        """Add up everybody in the register, block by block."""
        found = RegisterSums()
        rows = self._rows("SELECT block, person FROM register ORDER BY block", str, bytes)
        for block, people in groupby(rows, key=lambda row: str(row[0])):
            found = found.having(block, (person for _, person in people))
        return found

    def kept_sums(self) -> RegisterSums:
        """Return the sums as they are kept beside the register."""
        text = self.recorded(_SUMS)
        if text is None:
            return RegisterSums()
        found = read_sums(text)
        if found is None:
            raise self._damaged("the sums of its register are not what panbayes writes")
        return found

    def registered_blocks(self) -> set[str]:
        """Return the blocks of everybody in the register."""
        return {block for (block,) in self._rows("SELECT DISTINCT block FROM register", str)}

    def registered(self) -> int:
        """Count the people in the register. For the holder's eyes only."""
        return sum(count for (count,) in self._rows("SELECT COUNT(*) FROM register", int))

    def person_key(self) -> bytes:
        """Return the key under which people are hashed in the register of this ledger."""
        return hmac.digest(self._secret(), b"panbayes register 1", "sha256")

    def pins(self) -> dict[str, Pin]:
        """Return what is pinned for every study."""
        found = [read_pin(text) for text in self._notes.of("pinned")]
        if None in found:
            raise self._damaged("a note of what a study sees is not what panbayes writes")
        return {pin.study: pin for pin in found if pin is not None}

    def pin(self, study: str) -> Pin | None:
        """Return what is pinned for a study; None before its first answer."""
        return self.pins().get(study)

    def write_pin(self, pin: Pin, mark: bytes | None) -> None:
        """Pin what a study sees; ``mark`` is what its records are known by, if that can be told."""
        self._notes.write("pinned", pin.text())
        if mark is not None:
            digest = keyed(self._secret(), mark)
            self.connection.execute("INSERT INTO pinned (study, digest) VALUES (?, ?)", (pin.study, digest))

    def sees(self, study: str, mark: bytes | None) -> bool:
        """Tell whether records with this mark are those that a study is pinned to."""
        row = self._row("SELECT digest FROM pinned WHERE study = ?", bytes, given=(study,))
        if row is None or mark is None:
            return row is None and mark is None
        return hmac.compare_digest(row[0], keyed(self._secret(), mark))

    def check_pin(self, pin: Pin, mark: bytes | None) -> bool:
        """Tell whether a study sees this already, or refuse what it may not see; False before its first answer.

        The declaration, the register and the pin may have changed since the records were read.
        """
        dataset, stored = self.declared(), self.pin(pin.study)
        if dataset is None or not dataset.changing:
            raise InternalError("something was to be pinned in a dataset that does not change")
        if stored is None:
            everybody = dataset.blocks is None or self.renumbered()
            if (pin.blocks is None) != everybody:
                raise self._changed()
            return False
        if stored != pin or not self.sees(pin.study, mark):
            raise self._changed()
        return True

    def named(self) -> dict[str, Named]:
        """Return the blocks that every study with a pin is charged to; one without is charged to everybody's."""
        return {study: pin.blocks for study, pin in self.pins().items()}

    def _secret(self) -> bytes:
        value = self._meta("key")
        if value is None:
            raise self._damaged('its secret "key" is missing')
        return value

    def _changed(self) -> LedgerError:
        return LedgerError(
            self._name,
            found="its table is no longer what this study began with, or was declared anew meanwhile",
            remedy="run this again: what has been answered is free to ask for again",
        )
