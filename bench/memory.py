"""How much memory a process has held."""

from __future__ import annotations

import resource
import sys
from pathlib import Path

__all__ = ["peak_memory"]


def peak_memory() -> int:
    """Return the largest resident size of this process so far, in bytes.

    Linux reports in ``ru_maxrss`` also the size of the process that started this one, so its status file is preferred.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
