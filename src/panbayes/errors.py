"""The errors panbayes raises on purpose.

::

    PanbayesError
    ├── InputError               the user's argument is wrong; exit code 2
    │   └── LedgerError          a ledger cannot be used as it is; exit code 5
    ├── HolderError              something about one holder, by name
    │   ├── HolderRefusedError   a holder refused; exit code 3
    │   └── HolderFailedError    a holder failed or answered garbage; exit code 4
    └── InternalError            panbayes is wrong: a bug; exit code 1

An :class:`InputError` is one line that names the user's own argument, what was found, and what to do
about it. On a holder's side such a line may be seen by others, so it never depends on the records: it
may name a file, a column of the public schema or a limit, never a value or a line number of private data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = [
    "HolderError",
    "HolderFailedError",
    "HolderRefusedError",
    "InputError",
    "InternalError",
    "LedgerError",
    "PanbayesError",
    "nearest",
]


class PanbayesError(Exception):
    """Base of every error that panbayes raises on purpose; its message is always one line.

    >>> issubclass(InputError, PanbayesError), InputError.exit_code
    (True, 2)
    """

    exit_code = 1

    def __init__(self, text: str) -> None:
        """Join the message into one line, whatever it quotes."""
        super().__init__(" ".join(text.split()))


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
        super().__init__(f"{argument}: {found}; {remedy}")


class LedgerError(InputError):
    """A holder's ledger is damaged, belongs to other records, or is in use. For the holder's eyes only.

    >>> print(LedgerError("north.ledger", found="is in use", remedy="let the other run finish"))
    north.ledger: is in use; let the other run finish
    """

    exit_code = 5


class HolderError(PanbayesError):
    """What the analyst can say about one ``holder``; the message begins with its name."""

    def __init__(self, holder: str, text: str) -> None:
        """Remember the holder and put its name first."""
        self.holder = holder
        super().__init__(f"holder {holder}: {text}")


class HolderRefusedError(HolderError):
    """A holder refused: ``code`` and ``text`` are its own words.

    >>> print(HolderRefusedError("A", code="over-budget", text="the cap leaves no room for this study"))
    holder A: refused (over-budget): the cap leaves no room for this study
    """

    exit_code = 3

    def __init__(self, holder: str, *, code: str, text: str) -> None:
        """Remember the holder's words."""
        self.code = code
        self.text = text
        super().__init__(holder, f"refused ({code}): {text}")


class HolderFailedError(HolderError):
    """A holder did not answer, or answered something that cannot be an answer.

    >>> print(HolderFailedError("A", "did not answer (TimeoutError)"))
    holder A: did not answer (TimeoutError)
    """

    exit_code = 4


class InternalError(PanbayesError):
    """A state that panbayes promised itself could not happen."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Say which known name an unknown one was most likely meant to be, or what is known; the end of an error.

    >>> nearest("insuline", ["age", "insulin"]), nearest("dose", ["age", "insulin"])
    ('did you mean "insulin"?', 'known: age, insulin')
    """
    names = list(known)
    alike = [one for one in names if one.casefold() == name.casefold()] or difflib.get_close_matches(name, names, n=1)
    if alike:
        return f'did you mean "{alike[0]}"?'
    return f"known: {', '.join(names[:8])}{', …' if len(names) > 8 else ''}"
