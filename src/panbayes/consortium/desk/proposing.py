"""Proposing a study: the letter that every holder gets first, and whether its officers have approved.

The letter holds the study and its schema as texts that need no other file, who else takes part, and the analyst's keys.
It is written once. What officers approve names its SHA-256, so it must stay the same letter whatever a later panbayes
would write: it is kept in the journal, and where that was lost the one that lies in the folder is taken up again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from panbayes.consortium.agreement.study import Study, dump_study
from panbayes.consortium.desk.journal import Journal
from panbayes.consortium.post.bodies import StudyBody, decode_approval, decode_study, encode
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.letters import Header, Letter, LetterError, Signed, stem_of
from panbayes.consortium.post.sealing import sealing_key
from panbayes.errors import InputError
from panbayes.schema.schema import Schema, dump_schema

__all__ = ["SentStudy", "propose"]


@dataclass(frozen=True, slots=True)
class SentStudy:
    """A study that was proposed: the ``letters`` to the ``holders``, by name, in the order of the names."""

    folder: Folder
    study: Study
    analyst: PublicKey
    holders: Mapping[str, PublicKey]
    letters: Mapping[str, Signed]

    def approved(self, name: str) -> bool:
        """Tell whether a letter of the holder says that its officers approved the study by this very letter."""
        key = self.holders[name]
        sent = self.letters[name]
        header = Header("approval", self.study.hash, self.analyst.fingerprint, key.fingerprint, replies_to=sent.digest)
        found = self.folder.get("from", name, stem_of(header), "approval")
        letter = None if found is None else found.open(key, "approval")
        if letter is None or letter.header != header:
            return False
        try:
            decode_approval(letter.body)
        except LetterError:
            return False
        return True


def propose(
    study: Study,
    holders: Mapping[str, PublicKey],
    *,
    key: PrivateKey,
    folder: Folder,
    journal: Journal,
    simulated: bool = False,
) -> SentStudy:
    """Put the letters that propose a study into the folder, unless they lie there; the first time, make them."""
    named = dict(sorted(holders.items()))
    if not study.private:
        raise InputError(
            f"{study.source}, strategy",
            found=f'"{study.strategy}" looks at all records without privacy',
            remedy='use a private strategy, such as "adaptive": nothing else leaves a holder',
        )
    study.schema.require_approved()
    headers = {
        name: Header("study", study.hash, key.public.fingerprint, holder.fingerprint) for name, holder in named.items()
    }
    letters = journal.proposed(analyst=key.public, simulated=simulated, holders=named)
    if not letters:
        body = StudyBody(
            study=dump_study(study),
            schema=dump_schema(study.schema),
            holders={name: holder.line for name, holder in named.items()},
            analyst=key.public.line,
            sealing=sealing_key(key),
        )
        letters = {
            name: _in_folder(folder, name, header, key, body, study) or Letter(header, encode(body)).signed_by(key)
            for name, header in headers.items()
        }
        journal.begin(analyst=key.public, simulated=simulated, holders=named, letters=letters)
    for name, header in headers.items():
        # Another study's journal in this one's place would propose that one again, and wait for this one for ever.
        letter = letters[name].open(key.public, "study")
        if letter is None or letter.header != header:
            raise journal.damaged(f"it holds another letter than the one that proposed the study to {name}")
    for name, header in headers.items():
        if folder.get("to", name, stem_of(header), "study") != letters[name]:
            folder.put("to", name, header, letters[name])
    return SentStudy(folder, study, key.public, named, letters)


def _in_folder(
    folder: Folder, name: str, header: Header, key: PrivateKey, body: StudyBody, study: Study
) -> Signed | None:
    """Return the letter that proposed the same before, from a folder that outlived the journal, if there is one."""
    found = folder.get("to", name, stem_of(header), "study")
    letter = None if found is None else found.open(key.public, "study")
    if found is None or letter is None or letter.header != header:
        return None
    try:
        before = decode_study(letter.body)
        meant = Study.parse(before.study, schema=Schema.parse(before.schema))
    except (LetterError, InputError):
        return None
    if before.holders != body.holders:
        raise InputError(
            "--holder",
            found=f"found {', '.join(body.holders)}, and the folder holds the same study, proposed to "
            f"{', '.join(before.holders)}",
            remedy="name the same holders, or give the study another name",
        )
    same = meant.hash == study.hash and (before.analyst, before.sealing) == (body.analyst, body.sealing)
    return found if same else None
