"""The table of the holder's own notes in a ledger; see the module ``notes``."""

from __future__ import annotations

from panbayes.consortium.holder.ledger.notes import Note, What, next_digest
from panbayes.consortium.holder.ledger.rows import Rows

__all__ = ["NoteTable"]


class NoteTable(Rows):
    """The notes of a ledger inside BEGIN … COMMIT."""

    def all(self) -> list[Note]:
        """Return what the holder wrote, in order."""
        rows = self._rows("SELECT after, what, content FROM notes ORDER BY position", int, str, str | None)
        return [Note(*row) for row in rows]

    def of(self, what: What) -> list[str]:
        """Return the contents of the notes of one kind that have one, in order."""
        chosen = "SELECT content FROM notes WHERE what = ? AND content IS NOT NULL ORDER BY position"
        return [content for (content,) in self._rows(chosen, str, given=(what,))]

    def has(self, what: What) -> bool:
        """Tell whether there is a note of this kind."""
        return self._row("SELECT what FROM notes WHERE what = ? LIMIT 1", str, given=(what,)) is not None

    def write(self, what: What, content: str | None) -> None:
        """Append a note; the digest of all goes with it."""
        newest = self._row("SELECT sequence FROM entries ORDER BY sequence DESC LIMIT 1", int)
        note = Note(0 if newest is None else newest[0], what, content)
        self.connection.execute(
            "INSERT INTO notes (after, what, content) VALUES (?, ?, ?)", (note.after, what, content)
        )
        self._keep("notes", next_digest(note, self._kept("notes")))
