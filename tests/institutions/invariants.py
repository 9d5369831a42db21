"""What must hold at the end of every run, whatever happened in it: read off ledgers, journal and letters directly.

The ledgers are read by SQLite alone, not by panbayes; ``panbayes holder ledger verify`` looks at them besides.

* no holder has spent more than the study grants, or than its cap;
* every question has one reply: whatever left, ever, is what the ledger keeps under the question's id;
* what the analyst used is what the ledgers keep, and it used everything that was charged for: nothing was lost;
* every ledger is sound.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from panbayes.consortium.post.letters import Letter, LetterError
from panbayes.consortium.protocol.codec import MalformedError, decode_reply
from panbayes.consortium.protocol.envelope import Release
from tests.institutions.parties import Consortium

__all__ = ["ViolationError", "answers_in", "check", "entries_of", "journal_of", "network_of"]


class ViolationError(AssertionError):
    """Something that must hold does not."""


@dataclass(frozen=True)
class Kept:
    """An entry of a ledger."""

    study: str
    question: str
    loss: Fraction
    replied: bytes


def _read(path: Path, statement: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as base:
        return base.execute(statement).fetchall()


def entries_of(ledger: Path) -> list[Kept]:
    """Return the entries of a ledger of pure losses."""
    rows = _read(ledger, "SELECT study, question, loss, replied FROM entries ORDER BY sequence")
    return [
        Kept(study, question, Fraction(json.loads(loss)["epsilon"]), reply) for study, question, loss, reply in rows
    ]


def journal_of(state: Path) -> dict[str, dict[str, bytes]]:
    """Return the replies that the analyst took for answers, by holder and question."""
    found: dict[str, dict[str, bytes]] = {}
    for path in state.glob("analyst/*/journal"):
        for holder, question, letter in _read(path, "SELECT holder, question, letter FROM answers WHERE refused = 0"):
            found.setdefault(holder, {})[question] = Letter.decode(letter).body
    return found


def answers_in(contents: Iterable[bytes]) -> dict[str, set[bytes]]:
    """Return the releases in what may be letters, by question."""
    found: dict[str, set[bytes]] = {}
    for data in contents:
        try:
            letter = Letter.decode(data)
            reply = decode_reply(letter.body) if letter.header.kind == "answer" else None
        except (LetterError, MalformedError):
            continue
        if isinstance(reply, Release):
            found.setdefault(reply.id, set()).add(letter.body)
    return found


def network_of(model: Path) -> dict[str, Any]:
    """Return what a model file says of the network: everything but the heads and signatures of a run."""
    found: dict[str, Any] = json.loads(model.read_text())
    found["about"] = {name: text for name, text in found["about"].items() if not name.startswith("ledger head")}
    # A model without receipts is written as an older version, which has fewer keys.
    return {
        name: value
        for name, value in found.items()
        if name not in ("receipts", "version", "checksum") and value is not None
    }


def check(box: Consortium, left: Mapping[str, Iterable[bytes]], *, finished: bool = True) -> int:
    """Check a run; ``left`` has everything that ever left a holder, by its name. Return how many answers there were."""
    journal, answers = journal_of(box.analyst.folder / "state"), 0
    for name in box.holders:
        entries = entries_of(box.ledger(name))
        spent = sum((entry.loss for entry in entries), Fraction(0))
        if spent > Fraction(str(box.terms.cap)):
            raise ViolationError(f"{name} has spent {spent}, above its cap of {box.terms.cap}")
        for study in {entry.study for entry in entries}:
            here = sum((entry.loss for entry in entries if entry.study == study), Fraction(0))
            if here > Fraction(str(box.terms.epsilon)):
                raise ViolationError(f"{name} has spent {here} on a study of {box.terms.epsilon}")
        kept = {entry.question: entry.replied for entry in entries}
        if len(kept) < len(entries):
            raise ViolationError(f"{name} has charged for a question twice")
        for question, bodies in answers_in(left[name]).items():
            if len(bodies) > 1:
                raise ViolationError(f"{name} has given {len(bodies)} answers to {question}")
            if bodies != {kept.get(question, b"")}:
                raise ViolationError(f"{name} has given an answer to {question} that its ledger does not have")
        used = journal.get(name, {})
        if any(kept.get(question) != body for question, body in used.items()):
            raise ViolationError(f"the analyst used an answer that {name}'s ledger does not have")
        if finished and used.keys() != kept.keys():
            raise ViolationError(f"{name} has charged for {len(kept)} answers, and the analyst used {len(used)}")
        done = box.holders[name].here("holder", "ledger", "verify", "--state", "state")
        if done.returncode != 0:
            raise ViolationError(f"{name}: {done.stderr or done.stdout}")
        answers += len(entries)
    return answers
