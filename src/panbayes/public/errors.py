"""The errors panbayes raises on purpose.

::

    PanbayesError
    ├── InputError      the user's argument is wrong; exit code 2
    └── InternalError   panbayes is wrong: a bug; exit code 1

An :class:`InputError` is one line that names the user's own argument, what was found, and what to do
about it. On a holder's side such a line may be seen by others, so it never depends on the records: it
may name a file, a column of the public schema or a limit, never a value or a line number of private data.
"""

from __future__ import annotations

__all__ = ["InputError", "InternalError", "PanbayesError"]


class PanbayesError(Exception):
    """Base of every error that panbayes raises on purpose."""

    exit_code = 1


class InputError(PanbayesError):
    """Something the user gave is wrong.

    ``argument`` is the name the user knows it by (a flag, a file, a key of a file), ``found`` says what was
    there, ``remedy`` what to do. The message is ``argument: found; remedy``, always on one line.

    >>> print(InputError("--epsilon", found="found 0", remedy="give a positive decimal such as 1.0"))
    --epsilon: found 0; give a positive decimal such as 1.0
    """

    exit_code = 2

    def __init__(self, argument: str, *, found: str, remedy: str) -> None:
        """Remember the three parts and join them into one line."""
        self.argument = argument
        self.found = found
        self.remedy = remedy
        super().__init__(" ".join(f"{argument}: {found}; {remedy}".split()))


class InternalError(PanbayesError):
    """A state that panbayes promised itself could not happen."""
