"""The whole lines of an input that comes in pieces.

A piece may end within a line; its beginning is kept until the rest has come, and overwritten then. A line of more than
:data:`LONGEST` bytes is dropped, so what is kept of one input is bounded.
"""

from __future__ import annotations

from typing import Final

__all__ = ["LONGEST", "Lines"]

LONGEST: Final = 1 << 16


class Lines:
    """One input: give it the next piece, and it returns the lines that are whole now; ``begun`` is the rest."""

    __slots__ = ("_skipping", "begun")

    def __init__(self) -> None:
        """Start before the first line."""
        self.begun, self._skipping = bytearray(), False

    def add(self, piece: bytes) -> bytearray:
        r"""Return all lines that end in this piece; the caller overwrites them.

        >>> lines = Lines()
        >>> bytes(lines.add(b"ann\nbo")), bytes(lines.add(b"b\n")), bytes(lines.end())
        (b'ann\n', b'bob\n', b'')
        """
        last = piece.rfind(b"\n")
        if last < 0:
            self._keep(piece)
            return bytearray()
        first = piece.find(b"\n") + 1 if self._skipping else 0
        whole = self.begun + memoryview(piece)[first : last + 1]
        self.wipe()
        self._skipping = False
        self._keep(memoryview(piece)[last + 1 :])
        return whole

    def end(self) -> bytearray:
        """Return what was begun: the input has ended, and so has its last line."""
        whole = bytearray(self.begun)
        self.wipe()
        return whole

    def wipe(self) -> None:
        """Overwrite what is kept."""
        self.begun[:] = bytes(len(self.begun))
        self.begun = bytearray()

    def _keep(self, piece: bytes | memoryview) -> None:
        if self._skipping or len(self.begun) + len(piece) > LONGEST:
            self.wipe()
            self._skipping = True
        else:
            self.begun += piece
