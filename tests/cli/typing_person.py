"""A person at a terminal: the command in a process of its own, on a pseudo-terminal, with answers to what it asks."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tests.running import environment

__all__ = ["Seen", "at_terminal"]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the person saw, and how the command ended."""

    code: int
    text: str


def at_terminal(*arguments: str, folder: Path, typed: tuple[str, ...] = (), seconds: float = 300) -> Seen:
    """Run the command on a terminal of 100 columns; each line is typed when the command has asked and waits."""
    above, below = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "panbayes", *arguments],
        cwd=folder,
        stdin=below,
        stdout=below,
        stderr=below,
        env=environment(folder, {"COLUMNS": "100", "LINES": "50"}),
        start_new_session=True,
    )
    os.close(below)
    seen, waiting, end = b"", list(typed), time.monotonic() + seconds
    try:
        while time.monotonic() < end:
            ready, _, _ = select.select([above], [], [], 0.1)
            if ready:
                try:
                    seen += os.read(above, 65_536)
                except OSError:  # the other side is closed
                    break
                continue
            if waiting and seen.rstrip(b" ").endswith((b"?", b":")) and not seen.endswith(b"\n"):
                os.write(above, f"{waiting.pop(0)}\n".encode())
            elif process.poll() is not None:
                break
        return Seen(process.wait(timeout=120), seen.decode(errors="replace").replace("\r\n", "\n"))
    finally:
        os.close(above)
        if process.poll() is None:
            process.kill()
            process.wait()
