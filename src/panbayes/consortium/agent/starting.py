"""How the process that computes starts: whatever ends it, also while it is still loading, is said in one line.

To load what computes takes memory and files, and where there are too few of them it fails before
:mod:`panbayes.consortium.agent.working` could say anything.
"""

from __future__ import annotations

import os
import sys
from traceback import print_exception

__all__ = ["main"]


def main(arguments: list[str]) -> None:
    """Load what computes, and let it work."""
    sys.excepthook = _end
    from panbayes.consortium.agent.working import main as work

    work(arguments)


def _end(_kind: object, error: BaseException, _trace: object) -> None:
    """Say on standard error what ended the process, by the name of its kind: nothing else is known to quote nobody."""
    if os.environ.get("PANBAYES_DEBUG"):
        print_exception(error)
    sys.stderr.write(f"the process that computes could not start: {type(error).__name__}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
