"""Asking the person at the keyboard, where there is one."""

from __future__ import annotations

import sys

from panbayes.errors import InputError, visible

__all__ = ["ask", "somebody_there"]


def somebody_there() -> bool:
    """Tell whether somebody can read what is shown and asked, and answer."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def ask(question: str, *, argument: str, remedy: str) -> str:
    """Ask a question and return the answer, without blanks around it.

    Where nobody is there to ask, or nothing is answered, it is an error about ``argument``.
    """
    if not somebody_there():
        raise InputError(argument, found="is not given, and nobody is at the keyboard to be asked", remedy=remedy)
    sys.stderr.write(f"{visible(question)} ")
    sys.stderr.flush()
    answer = sys.stdin.readline().strip()
    if not answer:
        raise InputError(argument, found="is not given", remedy=remedy)
    return answer
