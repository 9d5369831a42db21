"""Disks that become full: a small file system of its own in memory, where the machine lets us mount one.

Elsewhere nothing is full, and :attr:`Disk.small` says so; a limit on the size of files
(:mod:`tests.institutions.child`) stands in for it there.
"""

from __future__ import annotations

import os
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path

__all__ = ["Disk"]

SIZE = "3m"


class Disk:
    """A folder on a small file system, if that can be had; it is unmounted when the ``stack`` ends."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        """Mount."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self._filler = folder / "filler"
        self.small = os.geteuid() == 0 and _run("mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0700", "tmpfs", folder)
        if self.small:
            stack.callback(_run, "umount", "-l", folder)

    def fill(self) -> bool:
        """Leave no room; tell whether that is possible here."""
        if not self.small:
            return False
        with suppress(OSError), self._filler.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        return True

    def free(self) -> None:
        """Give the room back."""
        with suppress(OSError):
            self._filler.unlink()


def _run(*words: str | Path) -> bool:
    return subprocess.run(list(map(str, words)), capture_output=True, check=False, timeout=30).returncode == 0
