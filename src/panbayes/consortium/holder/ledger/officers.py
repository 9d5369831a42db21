r"""Which officers decide about an account: a note of its ledger, and no other file, says so.

The first note is written when a holder's file makes the account, and names its officers. Each later one is a change,
and counts only with the signatures of those who decided until then, over a statement that names the account and the
place of the change among all changes: so that whoever uses the holder's machine can neither name officers of their own
nor show a change a second time. What does not count changes nothing.

Whoever asks for answers from such an account has to ask its officers. A holder's file may ask for *more* than they do:
fewer people who may sign, or two signatures where one is needed (:meth:`Officers.covers`). So somebody is taken out of
a holder's file at once, and let in by those who decide.

>>> mary, john = "ssh-ed25519 AAAA", "ssh-ed25519 BBBB"
>>> Officers.of([mary, john], 1).covers(Officers.of([mary], 1)), Officers.of([mary], 1).covers(Officers.of([john], 1))
(True, False)
>>> print(Officers.of([mary], 1).statement(account="1f", change=2), end="")
panbayes officers of an account 1
account: 1f
change: 2
must sign: 1
officer: ssh-ed25519 AAAA
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Self

__all__ = ["Change", "Officers", "in_force"]


@dataclass(frozen=True, slots=True)
class Officers:
    """The ``keys`` of those who decide, as OpenSSH writes them, without comments, in order; ``required`` must sign."""

    keys: tuple[str, ...]
    required: int

    @classmethod
    def of(cls, lines: Iterable[str], required: int) -> Self:
        """Return officers by the lines of their keys, under whatever comments."""
        return cls(tuple(sorted({" ".join(line.split()[:2]) for line in lines})), required)

    def covers(self, others: Officers) -> bool:
        """Tell whether whatever the ``others`` agree to, these have agreed to."""
        return set(others.keys) <= set(self.keys) and others.required >= self.required

    def statement(self, *, account: str, change: int) -> str:
        """Return what those who decide now sign, so that these do from now on.

        ``account`` is its ledger's first head, ``change`` the number of notes of officers there are.
        """
        lines = ("panbayes officers of an account 1", f"account: {account}", f"change: {change}")
        return "\n".join((*lines, f"must sign: {self.required}", *(f"officer: {key}" for key in self.keys), ""))


@dataclass(frozen=True, slots=True)
class Change:
    """A note: these ``officers`` decide from here on, say the ``signatures`` of those who did before."""

    officers: Officers
    signatures: tuple[str, ...] = ()

    @property
    def content(self) -> str:
        """The text of the note."""
        said = {"keys": self.officers.keys, "required": self.officers.required, "signatures": self.signatures}
        return json.dumps(said, separators=(",", ":"), sort_keys=True)

    @classmethod
    def read(cls, content: str) -> Self | None:
        """Read the text of a note; None if it is not what panbayes writes."""
        try:
            said = json.loads(content)
            found = cls(Officers(tuple(said["keys"]), said["required"]), tuple(said["signatures"]))
        except (ValueError, TypeError, KeyError, RecursionError):
            return None
        texts = all(isinstance(text, str) for text in (*found.officers.keys, *found.signatures))
        return found if texts and type(found.officers.required) is int and found.content == content else None


def in_force(contents: Sequence[str], *, account: str, verify: Callable[[str, bytes, str], bool]) -> Officers | None:
    """Return the officers who decide after all notes; None if nobody ever did.

    ``verify`` tells whether a signature is that of a key over some bytes.
    """
    deciding: Officers | None = None
    for number, content in enumerate(contents):
        change = Change.read(content)
        if change is None:
            continue
        if deciding is None or _signed(change, deciding, account, number, verify):
            deciding = change.officers
    return deciding


def _signed(
    change: Change, deciding: Officers, account: str, number: int, verify: Callable[[str, bytes, str], bool]
) -> bool:
    statement = change.officers.statement(account=account, change=number).encode()
    signed = {key for key in deciding.keys if any(verify(key, statement, signature) for signature in change.signatures)}
    return len(signed) >= deciding.required
