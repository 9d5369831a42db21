"""The errors panbayes raises on purpose, and the exit codes that a command ends with.

::

    PanbayesError
    ├── InputError               the user's argument is wrong; exit code 2
    │   └── LedgerError          a ledger cannot be used as it is; exit code 5
    ├── HolderError              something about one holder, by name
    │   ├── HolderRefusedError   a holder refused; exit code 3
    │   ├── HolderFailedError    a holder failed or answered garbage; exit code 4
    │   └── HolderWaitingError   holders have not answered yet; exit code 6
    └── InternalError            panbayes is wrong: a bug; exit code 70

An :class:`InputError` is one line that names the user's own argument, what was found, and what to do
about it. On a holder's side such a line may be seen by others, so it never depends on the records: it
may name a file, a column of the public schema or a limit, never a value or a line number of private data.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import IntEnum

__all__ = [
    "ExitCode",
    "HolderError",
    "HolderFailedError",
    "HolderRefusedError",
    "HolderWaitingError",
    "InputError",
    "InternalError",
    "LedgerError",
    "PanbayesError",
    "nearest",
    "visible",
]


class ExitCode(IntEnum):
    """What a command ends with, and what that says: one table for every verb.

    >>> print(int(ExitCode.REFUSED), ExitCode.REFUSED.meaning)
    3 a holder refused: the message has its name, a code and its reason
    """

    meaning: str

    DONE = 0, "done"
    NO = 1, "a check says no: the answer is in the output"
    INPUT = 2, "something given is wrong: an argument, a file, a place to write to"
    REFUSED = 3, "a holder refused: the message has its name, a code and its reason"
    FAILED = 4, "a holder failed, stayed away, answered garbage or simulated its noise"
    LEDGER = 5, "a ledger is damaged, edited, of other records, or in use"
    WAITING = 6, "a holder has not answered yet: run the same command again later"
    BUG = 70, "a bug in panbayes"
    INTERRUPTED = 130, "interrupted, or asked to stop"

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        """Make the code with its meaning."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made


def visible(text: str) -> str:
    r"""Return a text in which nothing can move a cursor, end a line or hide: what is not printable is written out.

    >>> visible("north\n\x1b[2JSpent in total: 0")
    'north\\n\\x1b[2JSpent in total: 0'
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode() for character in text
    )


class PanbayesError(Exception):
    """Base of every error that panbayes raises on purpose; its message is always one visible line.

    >>> issubclass(InputError, PanbayesError), int(InputError.exit_code)
    (True, 2)
    """

    exit_code: int = ExitCode.BUG

    def __init__(self, text: str) -> None:
        """Join the message into one line, whatever it quotes."""
        super().__init__(visible(" ".join(text.split())))


class InputError(PanbayesError):
    """Something the user gave is wrong.

    ``argument`` is the name the user knows it by (a flag, a file, a key of a file), ``found`` says what was
    there, ``remedy`` what to do. The message is ``argument: found; remedy``, always on one line.

    >>> print(InputError("--epsilon", found="found 0", remedy="give a positive decimal such as 1.0"))
    --epsilon: found 0; give a positive decimal such as 1.0
    """

    exit_code = ExitCode.INPUT

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

    exit_code = ExitCode.LEDGER


class HolderError(PanbayesError):
    """What the analyst can say about one ``holder``; the message names it."""

    def __init__(self, holder: str, text: str) -> None:
        """Remember the holder and put its name first."""
        self.holder = holder
        super().__init__(f"holder {holder}: {text}")


class HolderRefusedError(HolderError):
    """A holder refused: ``code`` and ``text`` are its own words.

    >>> print(HolderRefusedError("A", code="over-budget", text="the cap leaves no room for this study"))
    holder A: refused (over-budget): the cap leaves no room for this study
    """

    exit_code = ExitCode.REFUSED

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

    exit_code = ExitCode.FAILED


class HolderWaitingError(HolderError):
    """Some ``holders`` have not answered yet, and may still: the same can be asked again later, at no cost.

    What reaches a holder raises it for that one; the federation raises one for all that it waits for.

    >>> print(HolderWaitingError("west", "north"))
    waiting for north, west
    """

    exit_code = ExitCode.WAITING

    def __init__(self, holder: str, *others: str) -> None:
        """Remember all of them, in the order of their names."""
        self.holders = tuple(sorted({holder, *others}))
        self.holder = self.holders[0]
        PanbayesError.__init__(self, f"waiting for {', '.join(self.holders)}")


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
