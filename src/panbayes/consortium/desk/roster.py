"""The roster: which key each holder signs with, in a file that ``ssh-keygen`` reads as well.

It is an OpenSSH *allowed_signers* file; a line of a holder is::

    north namespaces="panbayes-answer,panbayes-approval,panbayes-request" ssh-ed25519 AAAA…

so that ``ssh-keygen -Y verify -f roster -I north …`` checks what this holder signed, without panbayes. A key that was
replaced keeps its line with the moment in which that happened (``valid-before``), and the new one begins then: old
signatures still verify, later ones do not. Lines that are about something else, and comments, stay as they are.

Nobody but the analyst vouches for a roster: names and keys are compared by phone, by the four words of a key
(:mod:`panbayes.consortium.post.words`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from panbayes.consortium.post.folder import NAME, check_name
from panbayes.consortium.post.keys import PLAIN, PublicKey
from panbayes.errors import InputError
from panbayes.files import write_text

__all__ = ["NAMESPACES", "Enrolled", "Roster"]

NAMESPACES: Final = ("panbayes-answer", "panbayes-approval", "panbayes-request")
"""What a holder signs."""

MAX_BYTES: Final = 4 * 2**20

_WORD: Final = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
_OPTION: Final = re.compile(r'([A-Za-z-]+)(?:="((?:[^"\\]|\\.)*)")?(?:,|$)')
_TIME: Final = re.compile(r"(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?)?(Z?)")


@dataclass(frozen=True, slots=True)
class Enrolled:
    """A holder's ``key``, on a line of the roster; ``after`` and ``before`` say when it is its key, if not always."""

    name: str
    key: PublicKey
    line: int
    after: datetime | None = None
    before: datetime | None = None

    def valid(self, moment: datetime) -> bool:
        """Tell whether the key is the holder's in this moment."""
        return (self.after is None or self.after <= moment) and (self.before is None or moment < self.before)


@dataclass(frozen=True, slots=True)
class Roster:
    """The ``lines`` of a roster, and whom they enroll; ``argument`` names it in errors."""

    lines: tuple[str, ...] = ()
    enrolled: tuple[Enrolled, ...] = ()
    argument: str = "--roster"

    @classmethod
    def load(cls, path: str | Path, *, argument: str = "--roster", may_be_absent: bool = False) -> Roster:
        """Read a roster; one that is not there is empty if it may be."""
        file = Path(path)
        try:
            if may_be_absent and not file.exists():
                return cls(argument=argument)
            if not file.is_file():
                raise InputError(
                    argument,
                    found=f"{file} is {'no file' if file.exists() else 'not there'}",
                    remedy="`panbayes analyst enroll NAME KEY` makes one",
                )
            if file.stat().st_size > MAX_BYTES:
                raise InputError(argument, found=f"{file} is too large", remedy="give a file of keys in lines")
            text = file.read_bytes().decode()
        except UnicodeDecodeError:
            raise InputError(
                argument, found=f"{file} is no text", remedy="give a file of keys, one on a line"
            ) from None
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            raise InputError(argument, found=f"{file} cannot be read ({reason})", remedy="check the path") from None
        return cls.parse(text, argument=argument)

    @classmethod
    def parse(cls, text: str, *, argument: str = "--roster") -> Roster:
        """Read the text of a roster; what is not about a holder is kept, and not looked at."""
        lines = tuple(text.removesuffix("\n").split("\n")) if text else ()
        found = (_enrolled(line, number, argument) for number, line in enumerate(lines, start=1))
        roster = cls(lines, tuple(one for one in found if one is not None), argument)
        roster._check()
        return roster

    @property
    def text(self) -> str:
        """The text of the file."""
        return "".join(f"{line}\n" for line in self.lines)

    def save(self, path: str | Path) -> None:
        """Write it, whole or not at all."""
        write_text(path, self.text, argument=self.argument)

    def holders(self, moment: datetime) -> dict[str, PublicKey]:
        """Return the key that every holder has in this moment, in the order of the names."""
        return {one.name: one.key for one in sorted(self.enrolled, key=lambda one: one.name) if one.valid(moment)}

    def of(self, name: str) -> tuple[Enrolled, ...]:
        """Return every key that a holder has or had."""
        return tuple(one for one in self.enrolled if one.name == name)

    def enroll(self, name: str, key: PublicKey, *, moment: datetime, instead: bool = False) -> Roster:
        """Return the roster with a holder's key, ``instead`` of the one that it has."""
        check_name(name, argument="NAME")
        if key.kind != PLAIN:
            raise InputError(
                "KEY",
                found="is a key in a device that wants to be touched",
                remedy="give a key that the holder's agent can sign with; `panbayes keygen NAME` makes one",
            )
        alike = next(
            (one for one in self.enrolled if one.name != name and one.name.casefold() == name.casefold()), None
        )
        if alike is not None:
            raise InputError(
                "NAME",
                found=f'found "{name}", and "{alike.name}" is enrolled',
                remedy="give a name that differs by more than the case of its letters",
            )
        taken = next((one for one in self.enrolled if one.key == key), None)
        if taken is not None and taken.name != name:
            raise InputError(
                "KEY", found=f'is the key of holder "{taken.name}"', remedy="give every holder a key of its own"
            )
        if taken is not None and not taken.valid(moment):
            raise InputError(
                "KEY", found=f'was the key of holder "{name}", and is no more', remedy="give a key that is new"
            )
        if taken is not None:
            return self
        return self._with(name, key, moment, instead=instead)

    def _with(self, name: str, key: PublicKey, moment: datetime, *, instead: bool) -> Roster:
        lines, since = list(self.lines), ""
        for old in self.of(name):
            if not old.valid(moment):
                continue
            if not instead:
                raise InputError(
                    "NAME",
                    found=f'holder "{name}" is enrolled with another key, {old.key.fingerprint}',
                    remedy="compare the words of the new key by phone, then give --replace",
                )
            lines[old.line - 1] = _ended(lines[old.line - 1], moment)
            since = f',valid-after="{_written(moment)}"'
        lines.append(f'{name} namespaces="{",".join(NAMESPACES)}"{since} {key.line}')
        return Roster.parse("".join(f"{line}\n" for line in lines), argument=self.argument)

    def _check(self) -> None:
        """Refuse a roster in which a name or a key could mean two holders."""
        keys: dict[PublicKey, Enrolled] = {}
        names: dict[str, list[Enrolled]] = {}
        for one in self.enrolled:
            same = keys.setdefault(one.key, one)
            if same is not one:
                raise self._error(one, f"the same key stands on line {same.line}", "remove one of them")
            for other in names.setdefault(one.name.casefold(), []):
                if one.name != other.name:
                    raise self._error(one, f'"{one.name}" and "{other.name}" are too much alike', "rename one of them")
                if _overlap(one, other):
                    raise self._error(
                        one,
                        f'"{one.name}" has two keys at a time, the other on line {other.line}',
                        "remove the one that is not the holder's, or give it a valid-before",
                    )
            names[one.name.casefold()].append(one)

    def _error(self, one: Enrolled, found: str, remedy: str) -> InputError:
        return InputError(f"{self.argument}, line {one.line}", found=found, remedy=remedy)


def _overlap(one: Enrolled, other: Enrolled) -> bool:
    first, second = (one, other) if _start(one) <= _start(other) else (other, one)
    return first.before is None or _start(second) < first.before


def _start(one: Enrolled) -> datetime:
    return one.after or datetime.min.replace(tzinfo=UTC)


def _enrolled(line: str, number: int, argument: str) -> Enrolled | None:
    """Read a line; None if it enrolls no holder."""
    words = _WORD.findall(line)
    if len(words) < 3 or line.lstrip().startswith("#"):
        return None
    options = {} if words[1] == PLAIN else _options(words[1])
    key = words[1:] if words[1] == PLAIN else words[2:]
    name = words[0].strip('"')
    if options is None or key[0] != PLAIN or not NAME.fullmatch(name) or "cert-authority" in options:
        return None
    namespaces = options.get("namespaces")
    if namespaces is not None and NAMESPACES[0] not in namespaces.split(","):
        return None
    where = f"{argument}, line {number}"
    check_name(name, argument=where)
    times = (_time(options.get(option), where) for option in ("valid-after", "valid-before"))
    return Enrolled(name, PublicKey.parse(" ".join(key), argument=where), number, *times)


def _options(word: str) -> dict[str, str] | None:
    """Read the options of a line; None if these are none."""
    found: dict[str, str] = {}
    place = 0
    while place < len(word):
        option = _OPTION.match(word, place)
        if option is None:
            return None
        found[option[1].lower()] = option[2] or ""
        place = option.end()
    return found


def _time(text: str | None, where: str) -> datetime | None:
    if text is None:
        return None
    found = _TIME.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
        moment = datetime(year, month, day, hour, minute, second)
        return moment.replace(tzinfo=UTC) if found[7] else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise InputError(
            where, found=f'found the time "{text}"', remedy="give a day or a time such as 20270301 or 20270301120000Z"
        ) from None


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y%m%d%H%M%SZ")


def _ended(line: str, moment: datetime) -> str:
    """Return a line whose key is the holder's no more from this moment on."""
    name, first, *rest = _WORD.findall(line)
    options = [] if first == PLAIN else [one[0].rstrip(",") for one in _OPTION.finditer(first)]
    kept = [option for option in options if not option.lower().startswith("valid-before=")]
    kept.append(f'valid-before="{_written(moment)}"')
    return " ".join((name, ",".join(kept), *([PLAIN] if first == PLAIN else []), *rest))
