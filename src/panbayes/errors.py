"""The errors panbayes raises on purpose, and the exit codes that a command ends with.

::

    PanbayesError
    ├── InputError               the user's argument is wrong; exit code 2
    │   └── LedgerError          a ledger cannot be used as it is; exit code 5
    ├── HolderError              something about one holder, by name
    │   ├── HolderRefusedError   a holder refused; exit code 3
    │   ├── HolderFailedError    a holder failed or answered garbage; exit code 4
    │   │   └── HolderOutError   a holder signed what is no answer: it is out; exit code 4
    │   └── HolderWaitingError   holders have not answered yet; exit code 6
    └── InternalError            panbayes is wrong: a bug; exit code 70

An :class:`InputError` is one line that names the user's own argument, what was found, and what to do
about it. On a holder's side such a line may be seen by others, so it never depends on the records: it
may name a file, a column of the public schema or a limit, never a value or a line number of private data.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from enum import IntEnum
from typing import Final

__all__ = [
    "ExitCode",
    "HolderError",
    "HolderFailedError",
    "HolderOutError",
    "HolderRefusedError",
    "HolderWaitingError",
    "InputError",
    "InternalError",
    "LedgerError",
    "PanbayesError",
    "can_be_seen",
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


_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U00013441\U00013442"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols that show nothing, or only change what is before them: fillers, the empty Braille cell,
selectors of variants. (Formatting and direction, joiners, soft hyphens and blanks other than the space are not
printable to begin with.)"""


def can_be_seen(text: str) -> bool:
    """Tell whether a text is one line of which nothing is hidden.

    >>> can_be_seen("north"), can_be_seen("nor\u3164th"), can_be_seen("nor\u202eth")
    (True, False, False)
    """
    return text.isprintable() and _BLANK.search(text) is None


def visible(text: str) -> str:
    r"""Return a text in which nothing can move a cursor, end a line or hide: what cannot be seen is written out.

    >>> visible("north\n\x1b[2JSpent in total: 0")
    'north\\n\\x1b[2JSpent in total: 0'
    >>> visible("a\u3164b\u2800")
    'a\\u3164b\\u2800'
    """
    if can_be_seen(text):
        return text
    return "".join(
        character if can_be_seen(character) else character.encode("unicode_escape").decode() for character in text
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


class HolderOutError(HolderFailedError):
    """A holder signed an answer that cannot be used, and a question has one answer: it is out for the rest of a study.

    ``why`` says what is wrong with it, in words that follow from the answer alone.

    >>> print(HolderOutError("A", round_number=2, why="a count is 9 or more"))
    holder A: the answer that it signed in round 2 cannot be used: a count is 9 or more; a question has one answer, so \
A is out of this study: tell its people, and propose the study anew under another name, with A or without
    """

    def __init__(self, holder: str, *, round_number: int, why: str) -> None:
        """Remember why, and say what can be done."""
        self.why = why
        super().__init__(
            holder,
            f"the answer that it signed in round {round_number} cannot be used: {why}; a question has one answer, so "
            f"{holder} is out of this study: tell its people, and propose the study anew under another name, with "
            f"{holder} or without",
        )


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
