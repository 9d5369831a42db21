"""What an officer reads before signing: who asks, why, what leaves, what it can reveal, and what is left.

A pure function of public facts and of where the ledger stands: nothing here looks at a record. Every sentence has its
condition, and says what holds for this study alone: records or persons, with or without δ, whether the number of
records is public, one holder or several. "Privacy spent" and "privacy left" are amounts; whoever reads "budget" takes
more of it for more privacy.

Names, purposes and the like are the asker's own words, and stand in quotation marks, which nothing in them can end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.budget import conflict
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.stored_study import promise_of
from panbayes.consortium.holder.ledger.summary import Spending, Summary
from panbayes.consortium.post.letters import AROUND_BYTES
from panbayes.consortium.post.words import words_of
from panbayes.display import shortened
from panbayes.errors import visible
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event
from panbayes.privacy.loss import Loss, total
from panbayes.privacy.odds import even_odds
from panbayes.privacy.written import rounded

__all__ = ["Account", "Paragraph", "consent_words"]

MANY_HOLDERS: Final = 6
"""So many other holders are named."""

NAMES: Final = 160
"""So many characters of attributes' names are shown."""

MUCH: Final = 10
"""Above this ε little is promised to anybody."""


_MARKS: Final = dict.fromkeys(
    map(ord, '"\u00ab\u00bb\u02ba\u02dd\u02ee\u201c\u201d\u201e\u201f\u2033\u2036\u275d\u275e\u301d\u301e\u301f\uff02'),
    "'",
)
"""Whatever could be taken for the end of a quotation."""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A heading and what is said under it."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Account:
    """Where the holder stands with its limit, before a study of this ``grant``.

    ``elsewhere`` is kept for other studies that have begun, ``promised`` for others that are approved and have not
    begun; ``own`` is what this one has spent, if it has begun. ``mixed`` says that other studies were answered under
    another adjacency or privacy unit, with which this one's loss would not add up; ``rivals`` are approved, have not
    begun, and would be such studies. ``dataset`` is what the holder has declared, ``renumbered`` that its ids changed,
    and ``conflict`` why the study promises something else than that.
    """

    grant: Loss
    cap: Loss
    spent: Loss
    elsewhere: Loss
    promised: Loss = NOTHING
    own: Spending | None = None
    mixed: bool = False
    rivals: tuple[str, ...] = ()
    dataset: Dataset | None = None
    renumbered: bool = False
    conflict: str | None = None

    @classmethod
    def of(
        cls,
        study: Study,
        summary: Summary,
        *,
        cap: Loss,
        promised: Sequence[Loss] = (),
        mixed: bool = False,
        rivals: Sequence[str] = (),
    ) -> Account:
        """Read it off a ledger; ``promised`` are the grants of other studies that are approved and have not begun."""
        nothing, chosen = cap.times(0), study.chosen_blocks
        own = next((one for one in summary.studies if one.study == study.hash), None)
        about = frozenset(chosen) if chosen is not None and own is None else None if own is None else own.blocks
        kept = total((nothing, summary.reserved_of(about, without=study.hash)))
        later = total((nothing, *promised))
        spent = summary.spent_of(about)
        other = conflict(summary.dataset, promise_of(study.adjacency, study.schema.unit))
        said = (mixed, tuple(rivals), summary.dataset, summary.renumbered, other)
        return cls(study.grant, cap, spent, kept, later, own, *said)

    @property
    def fits(self) -> bool:
        """Whether the gate would find room for the whole study."""
        return not self.mixed and self.conflict is None and total((self.elsewhere, self.grant)).implies(self.cap)

    @property
    def left(self) -> Loss:
        """What is left for further studies after this one."""
        return self.cap.less(total((self.elsewhere, self.grant)))

    @property
    def countable(self) -> bool:
        """Whether the limit's class of privacy can express the study's at all."""
        return self.cap.express(self.grant) is not None


def consent_words(proposed: ProposedStudy, account: Account) -> list[Paragraph]:
    """Return what an officer reads before signing."""
    study = proposed.study
    return [
        Paragraph("Who asks", " ".join(_who(proposed))),
        Paragraph("Why", " ".join(_why(study))),
        *([Paragraph("Which records", " ".join(which))] if (which := list(_which(study, account))) else []),
        Paragraph("What leaves", " ".join(_leaves(study))),
        Paragraph(f"What it can reveal about any one {_unit(study)}", " ".join(_reveals(study))),
        *([Paragraph("Somebody whom several holders know", _several(proposed))] if proposed.others else []),
        Paragraph("Your limit", " ".join(_limit(account))),
        Paragraph("Noise", " ".join(_noise(study))),
        Paragraph(
            "Stopping",
            "You can stop at any time (panbayes holder stop): nothing leaves after that. What has left cannot be "
            "taken back and stays spent.",
        ),
        Paragraph(
            "Compare by phone",
            f"on a number that you knew before: {words_of(proposed.analyst.key)}. The key's fingerprint is "
            f"{proposed.analyst.key.fingerprint}.",
        ),
    ]


def _unit(study: Study) -> str:
    return "person" if study.schema.unit is not None else "record"


def _who(proposed: ProposedStudy) -> Iterator[str]:
    study = proposed.study
    attributes = f"{len(study.schema)} attribute{'s' if len(study.schema) > 1 else ''}"
    others = _together(proposed.others)
    predicting = f", to predict {_quoted(study.target)}" if study.target is not None else ""
    yield (
        f"{proposed.analyst.name} (so your file names the key) asks in study {_quoted(study.name)} to learn one "
        f"statistical model of {attributes} from your records{predicting}, {others}."
    )
    yield f"Attributes: {_quoted(shortened(study.schema.names, width=NAMES))}."


def _together(others: Sequence[str]) -> str:
    if not others:
        return "from you alone"
    if len(others) > MANY_HOLDERS:
        more = len(others) - MANY_HOLDERS
        return f"together with {', '.join(others[:MANY_HOLDERS])} and {more:,} other holder{'s' if more > 1 else ''}"
    return f"together with {' and '.join(filter(None, (', '.join(others[:-1]), others[-1])))}"


def _why(study: Study) -> Iterator[str]:
    about = study.about
    person = [_quoted(text) for text in (about.requester, about.institution, about.contact) if text is not None]
    yield f"By their own account: {', '.join(person)}." if person else "The study does not say who the person is."
    for name, text in (("Purpose", about.purpose), ("Ethics", about.ethics), ("About people in", about.region)):
        if text is not None:
            yield f"{name}: {_quoted(text)}."
        elif name != "About people in":
            yield f"{name}: not given."
    yield f"Until: {about.until.isoformat()}." if about.until is not None else "Until: it has no end."


def _which(study: Study, account: Account) -> Iterator[str]:
    """Say which people and which state of a table a study is about, where that is not simply all there is."""
    dataset, chosen = account.dataset, study.chosen_blocks
    blocks = dataset is not None and dataset.blocks is not None and not account.renumbered
    if dataset is not None and dataset.changing:
        yield "Your table changes: this study sees one state of it, that at its first question, and never another."
    if study.edition is not None:
        yield f"The study calls its edition {_quoted(study.edition)}."
    if chosen is not None:
        named = shortened(chosen, width=NAMES)
        yield f"It is about people whose id was first seen in {named}, and costs nobody else anything."
        if not blocks:
            yield "THIS STUDY DOES NOT FIT: your dataset has no such blocks. None of its questions would be answered."
    elif blocks:
        yield "It is about everybody first seen until then; people who are first seen in a later block spend nothing."


def _quoted(text: str) -> str:
    """Return others' words in quotation marks; those within become single ones, whatever script they are of."""
    return f'"{visible(text).translate(_MARKS)}"'


def _leaves(study: Study) -> Iterator[str]:
    plan = study.plan
    often = {stage.kind: f" ({stage.times:,} times)" for stage in plan.stages if stage.times > 1}
    kinds = [f"{stage.words}{'' if stage.words[:1].isdigit() else often.get(stage.kind, '')}" for stage in plan.stages]
    many = "1 answer with noise in it" if plan.answers == 1 else f"{plan.answers:,} answers with noise in them"
    size = _bytes(plan.answer_bytes + plan.answers * AROUND_BYTES)
    yield f"At most {many}: {', '.join(kinds)}; with all that is signed around them together at most {size}."
    yield "Before them the approval leaves, with the keys and signatures of those who sign it."
    if study.adjacency == "replace":
        people = "persons" if study.schema.unit is not None else "records"
        yield f"Every answer says how many {people} you have: this number counts as public."
    yield "No record leaves, no free text and no id; no program of theirs runs here."
    if study.schema.features is not None:
        yield (
            "Whom they are about and what is known of each is said by a feature file, which panbayes omop show puts "
            f"into words; its hash must begin with {study.schema.features[:12]}."
        )


def _bytes(number: int) -> str:
    """Round a number of bytes up, to two digits."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            tenths = -(-number * 10 // size)
            return f"{tenths / 10:.1f} {unit}" if tenths < 100 else f"{-(-number // size)} {unit}"
    return f"{number} bytes"


def _reveals(study: Study) -> Iterator[str]:
    unit = study.schema.unit
    yield f"{_promise(study)}, whatever else they know and whatever is done with the answers."
    if study.epsilon is not None and study.epsilon > MUCH:
        yield f"Above ε = {MUCH} little is promised to anybody."
    if unit is None:
        two = _most(even_odds(study.grant.for_group(2), delta=study.delta))
        yield f"A person who has several of your records is protected less: with two of them the guess becomes {two}."
    else:
        most = "one record" if unit.max_records == 1 else f"{unit.max_records:,} records"
        yield f"All records of a person are protected together; at most {most} of each are used."
    if study.adjacency == "add-remove":
        yield f"Whether a {_unit(study)} is among yours at all is protected too, and so is the number of them."
    else:
        yield f"Within these odds any other {_unit(study)} could be in its place."


def _promise(study: Study) -> str:
    """Say what the study may spend, and what that means."""
    if study.epsilon is None:
        raise ValueError("a study without ε promises nothing")
    named = study.grant.plain()
    if study.delta:
        named = f"(ε, δ) = ({rounded(study.epsilon)}, {rounded(study.delta)})"
    rarely = f"{_rarely(study)}, " if study.delta else ""
    return f"{named}: {rarely}a guess that was 50 : 50 becomes {_most(even_odds(study.grant, delta=study.delta))}"


def _several(proposed: ProposedStudy) -> str:
    study, holders = proposed.study, len(proposed.others) + 1
    two = even_odds(study.grant.times(2), delta=study.delta)
    text = f"What holders reveal adds up: about somebody whom two of them know the guess becomes {_most(two)}"
    if holders > 2:
        every = even_odds(study.grant.times(holders), delta=study.delta)
        text += f", and whom all {holders:,} know {_most(every)}"
    return f"{text}{f', {_rarely(study)}' if study.delta else ''}."


def _rarely(study: Study) -> str:
    """Say with which probability a promise may fail, never too small."""
    return f"except with a probability of one in {study.delta.denominator // study.delta.numerator:,} (δ)"


def _most(odds: str) -> str:
    return f"{odds} at most" if ":" in odds else odds


def _limit(account: Account) -> Iterator[str]:
    cap, grant = account.cap.plain(up=False), account.grant.plain()
    yield f"All studies together may spend {cap}. Privacy spent so far: {account.spent.plain()}."
    if account.own is not None:
        yield f"This study has begun, and has spent {account.own.spent.plain()} of its {grant}."
    if account.elsewhere.amount > 0:
        yield f"Kept for other studies that have begun, with what they have spent: {account.elsewhere.plain()}."
    if account.promised.amount > 0:
        yield f"Others are approved and have not begun: {account.promised.plain()}; who begins first has it."
    if account.rivals:
        named = shortened(account.rivals, width=NAMES)
        yield (
            "Approved too, and counting neighbours or persons in another way, so that it does not add up: "
            f"{visible(named)}. Once one side has an answer, the other gets none."
        )
    if account.mixed:
        yield (
            "THIS STUDY DOES NOT FIT: you have answered studies that count neighbours or persons in another way, and "
            "what they spent does not add up with this one. None of its questions would be answered."
        )
    elif account.conflict is not None:
        yield f"THIS STUDY DOES NOT FIT: {account.conflict}. None of its questions would be answered."
    elif not account.countable:
        yield (
            f"THIS STUDY DOES NOT FIT: it may spend {grant}, and your limit is not in {account.grant.letter}: "
            f'give a cap such as "{account.grant.key}=…". None of its questions would be answered.'
        )
    elif not account.fits:
        yield f"THIS STUDY DOES NOT FIT: it may spend {grant}. None of its questions would be answered."
    else:
        yield f"This study may spend {grant}; privacy left after it: {account.left.plain(up=False)}."
    if "ρ" in (account.cap.letter, account.grant.letter):
        yield "(ρ is the measure in which the losses of studies with a δ are added up.)"


def _noise(study: Study) -> Iterator[str]:
    """Say how far counts will be off, from the plan; where the asker divides its grant as it goes, by an example."""
    noisy = (DiscreteLaplace, DiscreteGaussian)
    fixed = [(step.what, step.event) for step in study.plan.steps if isinstance(step.event, noisy)]
    for what, event in fixed:
        yield f"The {what} are off by about {_off(event)} each."
    if not fixed:
        attributes = len(study.schema)
        moved = TableSensitivity.of(adjacency=study.adjacency, max_records=study.max_records, tables=attributes)
        half = study.grant.part(Fraction(1, 2)).tables_event(moved)
        which = f"all {attributes:,} attributes alone, each" if attributes > 1 else "the one attribute, it"
        together = ", some by less and some by more, for tables asked for together share noise"
        shared = together if isinstance(half, DiscreteLaplace) and attributes > 1 else ""
        yield (
            "The analyst divides what it may spend as it goes, so this cannot be told beforehand. For example: were "
            f"half of it spent on the counts of {which} would be off by about {_off(half)}{shared}."
        )


def _off(event: Event) -> str:
    """Return the mean of the absolute noise, to two digits."""
    if isinstance(event, DiscreteLaplace):
        ratio = math.exp(-1 / float(event.scale))
        mean = 2 * ratio / (1 - ratio**2)
    elif isinstance(event, DiscreteGaussian):
        mean = math.sqrt(2 * float(event.variance) / math.pi)
    else:
        raise ValueError("no noise on counts")
    rounded = float(f"{mean:.2g}")
    return f"{rounded:g}" if rounded < 10 else f"{rounded:,.0f}"
