"""Holders' houses to try things in: keys, a table, ``holder.toml``, and letters that propose studies."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.gate import Gate
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.transaction import Transaction
from panbayes.consortium.post.bodies import StudyBody, encode
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Letter, Signed
from panbayes.consortium.protocol.codec import decode_reply
from panbayes.consortium.protocol.codec import encode as encode_message
from panbayes.consortium.protocol.envelope import Release, question
from panbayes.dp.secure import SecureNoise
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

SCHEMA: Final = """\
version = 1
name = "clinic"
status = "approved"

[[attributes]]
name = "smokes"
categories = ["no", "yes"]

[[attributes]]
name = "age"
bins = [0, 40, 65, 120]
"""

STUDY: Final = """\
version = 1
name = "three clinics"
schema = "clinic.toml"
epsilon = 1
"""

TABLE: Final = "smokes,age\n" + "no,30\nyes,70\n" * 50


@cache
def key(name: str) -> PrivateKey:
    """The key of whoever has this name, always the same."""
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest()))


@dataclass
class House:
    """A holder's folder with its keys and its file."""

    folder: Path

    @property
    def config(self) -> Path:
        return self.folder / "holder.toml"

    def write(self, **settings: Any) -> HolderFile:
        """Write ``holder.toml`` with these settings, as TOML texts, and read it."""
        self.text(**settings)
        return HolderFile.load(self.config)

    def text(
        self,
        *,
        top: str = "",
        cap: str = "3",
        name: str = "north",
        officers: Mapping[str, str] | None = None,
        analysts: Mapping[str, str] | None = None,
        rest: str = "",
    ) -> None:
        """Write ``holder.toml``, its key and its table."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "north.key").exists():
            key("north").save(self.folder / "north", comment="north", argument="north")
        (self.folder / "north.csv").write_text(TABLE)
        signing = {"mary": key("mary").public.line} if officers is None else officers
        asking = {"uni": key("uni").public.line} if analysts is None else analysts
        lines = [
            "version = 1",
            f'name = "{name}"',
            'key = "north.key"',
            f"cap = {cap}",
            top,
            "[source]",
            'file = "north.csv"',
            "[officers]",
            *(f'{who} = "{line}"' for who, line in signing.items()),
            "[analysts]",
            *(f'{who} = "{line}"' for who, line in asking.items()),
            rest,
        ]
        self.config.write_text("\n".join(lines) + "\n")


def study_body(study: str = STUDY, schema: str = SCHEMA, *, by: str = "uni", holders: Any = None) -> StudyBody:
    """The body of a letter with these texts."""
    names = ("north", "south", "west") if holders is None else holders
    lines = names if isinstance(names, dict) else {name: key(name).public.line for name in names}
    return StudyBody(study, schema, lines, key(by).public.line)


def study_of(body: StudyBody) -> Study:
    """The study that a body holds."""
    return Study.parse(body.study, schema=Schema.parse(body.schema))


def letter(
    body: StudyBody | bytes | None = None,
    *,
    by: str = "uni",
    to: str = "north",
    study: str | None = None,
    **header: Any,
) -> Signed:
    """A signed letter that proposes a study."""
    content = study_body(by=by) if body is None else body
    known = study_of(content).hash if study is None and isinstance(content, StudyBody) else study or "00" * 32
    data = content if isinstance(content, bytes) else encode(content)
    fields = {"kind": "study", "analyst": key(by).public.fingerprint, "holder": key(to).public.fingerprint, **header}
    return Letter(Header(study=known, **fields), data).signed_by(key(by))


class Agreed:
    """The consent of whoever was asked."""

    def given(self, _transaction: Transaction, _study: str) -> bool:
        """Tell that it is given."""
        return True


def begin(holder: HolderFile, ledger: Ledger, study: Study) -> None:
    """Let a study that asks for every attribute alone be answered at the gate, which charges all of its grant."""
    gate = Gate(Table.read(holder.data, study.schema), study, ledger, SecureNoise(), consent=Agreed())
    query = study.plan.stages[0].ask(sets=tuple((place,) for place in range(len(study.schema))))
    reply = decode_reply(gate.ask(encode_message(question(query, study=study.hash, round_number=0))))
    assert isinstance(reply, Release), reply
