"""Who may ask: the checks of a question's letter, in order, before anything of its body is looked at.

1. it has the size of a letter, and the signature of an analyst of holder.toml is on it;
2. it is a question, addressed to this holder's key by that analyst, under the name that its file has;
3. its study was proposed here by the same analyst, and the letter that did so is kept;
4. the officers have agreed to what that letter says, and the study is neither stopped nor paused nor over.

What fails the first two has not arrived; what fails the others waits. Nobody is told anything in either case.
"""

from __future__ import annotations

from dataclasses import dataclass

from panbayes.consortium.agent.carrier import Arrived
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.consenting import consent_to
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.study_letters import NotArrivedError, ProposedStudy
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.post.letters import LIMITS, Header, stem_of
from panbayes.consortium.post.signatures import signer

__all__ = ["Asked", "agreed_to", "is_agreed", "read_question"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question whose letter is what it should be: its ``header`` and ``body``, and the digest of the letter."""

    header: Header
    body: bytes
    digest: str


def read_question(arrived: Arrived, holder: HolderFile) -> Asked:
    """Return the question in a letter; raise a :class:`NotArrivedError` if it counts as not arrived."""
    letter = arrived.letter
    if len(letter.data) > LIMITS["question"]:
        raise NotArrivedError("unreadable", "a letter is too long for a question")
    key = signer(letter.signature)
    if key is None:
        raise NotArrivedError("unsigned", "a letter has no signature that could be read")
    analyst = holder.analyst(key.fingerprint)
    if analyst is None:
        raise NotArrivedError("unknown", "a letter is signed by somebody whose key is not in your file")
    opened = letter.open(analyst.key, "question")
    if opened is None:
        raise NotArrivedError("unsigned", f"a letter is not signed by {analyst.name} as a question")
    header = opened.header
    if (header.analyst, header.holder) != (analyst.key.fingerprint, holder.public.fingerprint):
        raise NotArrivedError("misaddressed", f"a question of {analyst.name} is addressed to another holder")
    if stem_of(header) != arrived.stem or header.sequence == 0 or header.sealed:
        raise NotArrivedError("misaddressed", f"a question of {analyst.name} lies under the name of another")
    return Asked(header, opened.body, letter.digest)


def agreed_to(header: Header, holder: HolderFile, studies: Studies, ledger: Ledger) -> ProposedStudy | None:
    """Return the study as it was proposed by who asks and agreed to by the officers; None if it was not, or not now.

    A study that is paused after failures counts as one that is stopped: to try would show by the time it takes.
    """
    for kept in studies.of(header.study):
        proposed = kept.proposed
        if proposed.analyst.key.fingerprint == header.analyst and is_agreed(proposed, holder, ledger):
            with ledger.transaction(write=False) as transaction:
                return None if transaction.paused(header.study) else proposed
    return None


def is_agreed(proposed: ProposedStudy, holder: HolderFile, ledger: Ledger) -> bool:
    """Tell whether the officers' consent to a study, as it was proposed, holds at this moment, and who asks may ask."""
    if holder.analyst(proposed.analyst.key.fingerprint) is None:
        return False
    consent = consent_to(holder, proposed)
    with ledger.transaction(write=False) as transaction:
        return consent.given(transaction, proposed.study.hash)
