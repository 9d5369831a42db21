"""Holders for the desk's tests: a gate with a key, which reads letters in a folder and writes answers into it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.gates import open_gates
from panbayes.consortium.post.bodies import Approval, OfficerSignature, decode_study, encode
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import Header, Letter, Signed, stem_of
from panbayes.consortium.post.sealing import seal
from panbayes.consortium.protocol.transport import Ask
from panbayes.tables.table import Table

SEED: Final = 11


@dataclass(slots=True)
class LetterHolder:
    """A holder behind a folder; ``answered`` counts the questions that reached its gate."""

    name: str
    folder: Folder
    analyst: PublicKey
    gate: Ask
    key: PrivateKey = field(default_factory=PrivateKey.generate)
    sealed: bool = False
    answered: list[bytes] = field(default_factory=list)

    def approve(self) -> None:
        """Approve every study that was proposed."""
        for stem in self.folder.stems("to", self.name, "study"):
            sent, letter = self.read(stem, "study")
            body = Approval("a statement", (OfficerSignature(self.key.public.line, "a signature"),))
            header = Header(
                "approval",
                letter.header.study,
                self.analyst.fingerprint,
                self.key.public.fingerprint,
                replies_to=sent.digest,
            )
            self.folder.put("from", self.name, header, Letter(header, encode(body)).signed_by(self.key))

    def answer(self, most: int | None = None) -> int:
        """Answer questions that have no answer yet; return how many."""
        waiting = [
            stem
            for stem in self.folder.stems("to", self.name, "question")
            if not self.folder.has("from", self.name, stem, "answer")
        ]
        for stem in waiting[:most]:
            self.send(*self.reply(stem))
        return len(waiting[:most])

    def reply(self, stem: str) -> tuple[Header, bytes]:
        """Return the header and the body of the answer to a question."""
        asked, letter = self.read(stem, "question")
        self.answered.append(letter.body)
        return self.header(asked, letter), self.gate(letter.body)

    def header(self, asked: Signed, letter: Letter) -> Header:
        """Return the header of the answer to a letter."""
        said = letter.header
        return Header(
            "answer", said.study, said.analyst, said.holder, said.round, said.sequence, asked.digest, self.sealed
        )

    def send(self, header: Header, body: bytes) -> Signed:
        """Sign an answer and put it into the folder."""
        if header.sealed:
            stem = stem_of(Header("study", header.study, header.analyst, header.holder))
            sealing = decode_study(self.read(stem, "study")[1].body).sealing
            body = seal(body, to=sealing, header=header.encode())
        signed = Letter(header, body).signed_by(self.key)
        self.folder.put("from", self.name, header, signed)
        return signed

    def read(self, stem: str, kind: str) -> tuple[Signed, Letter]:
        """Read a letter of the analyst's."""
        assert kind in ("study", "question")
        found = self.folder.get("to", self.name, stem, "study" if kind == "study" else "question")
        assert found is not None
        letter = found.open(self.analyst, "study" if kind == "study" else "question")
        assert letter is not None
        assert letter.header.holder == self.key.public.fingerprint
        return found, letter


@contextmanager
def letter_holders(
    study: Study,
    tables: Mapping[str, Table],
    folder: Path,
    analyst: PublicKey,
    *,
    state: Path | None = None,
    sealed: bool = False,
) -> Iterator[dict[str, LetterHolder]]:
    """Put every table behind a gate that is reached by letters; noise is simulated unless ledgers have a ``state``."""
    folder.mkdir(exist_ok=True)
    with open_gates(study, tables, state=state, simulate=SEED if state is None else None) as gates:
        post = Folder.at(folder)
        yield {name: LetterHolder(name, post, analyst, gate, sealed=sealed) for name, gate in gates.items()}


def keys_of(holders: Mapping[str, LetterHolder]) -> dict[str, PublicKey]:
    return {name: holder.key.public for name, holder in holders.items()}
