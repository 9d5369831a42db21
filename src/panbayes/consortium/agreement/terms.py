"""The terms of a study: every field of the agreement, checked one by one, and the hash they are known by.

What the fields mean together is the strategy's business (:mod:`panbayes.consortium.agreement.strategies`);
:class:`panbayes.consortium.agreement.study.Study` is the same value with its strategy's checks and plan.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

from panbayes.bayesnet.learning.scores.registry import scores
from panbayes.consortium.agreement.about import ABOUT, UNTOLD, About
from panbayes.consortium.agreement.blocks import BLOCKS, Blocks, read_blocks
from panbayes.errors import InputError
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.events import Rule
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import grant
from panbayes.privacy.written import Written, parse_epsilon, parse_number, show_fraction
from panbayes.schema.declaration import Key, Kind, content, hashed_text
from panbayes.schema.kinds import choice, either, ratio, text, whole_number
from panbayes.schema.schema import Schema
from panbayes.schema.toml_reader import Section
from panbayes.schema.toml_writer import toml_value

__all__ = [
    "CLIPS",
    "LEARNERS",
    "LINEAR",
    "STUDY_VERSION",
    "Choices",
    "Clip",
    "Degree",
    "Learner",
    "Missing",
    "Terms",
    "granted",
]

STUDY_VERSION: Final = 1

Learner: TypeAlias = Literal["greedy", "chow-liu", "penalised", "hill-climbing"]
Clip: TypeAlias = Literal["analyst", "holder"]
Degree: TypeAlias = int | Literal["auto"]
Choices: TypeAlias = Literal["together", "turns"]
Missing: TypeAlias = Literal["wait", "stop", "continue"]
LEARNERS: Final[tuple[Learner, ...]] = get_args(Learner)
CLIPS: Final[tuple[Clip, ...]] = get_args(Clip)

LINEAR: Final = "linear"
"""The score that adds up over holders; it needs what is expected beside a table, so votes alone know it."""


def _schema_file() -> Kind[Schema]:
    """Take the name of a schema file, relative to the study file."""
    words = 'the schema file, such as "clinic.toml"'

    def read(section: Section, key: str) -> Schema:
        return Schema.load(Path(section.document.source).parent / section.text(key, expected=words))

    return Kind(words, read, lambda schema: toml_value(schema.source), lambda schema: schema.hash)


MOST_PATIENCE: Final = 100_000
"""Hours that a round may wait at most: some eleven years."""

_EPSILON: Final = ratio('a number such as 1.0, or a quotient such as "1/3"')
_DEGREE: Final = either(whole_number(), choice(("auto",)))


def granted(content: Mapping[str, Any]) -> Loss:
    """Return what a study of this canonical ``content`` may spend of each holder's people.

    Whoever keeps a study's content reads its grant here, so that a study and its memory cannot differ.
    """
    return grant(Fraction(content["epsilon"]), delta=Fraction(content["delta"]))


@dataclass(frozen=True, init=False)
class Terms:
    """What all parties agree on. Numbers may be given as people write them: 1, 0.5, "1/3" or a Fraction."""

    name: Annotated[str, Key(text('a text such as "three clinics"'), "what the study is called")]
    schema: Annotated[Schema, Key(_schema_file(), "what the holders' tables may contain")]
    strategy: Annotated[
        str, Key(text('a strategy such as "adaptive"'), "how the analyst learns; the strategies are listed below")
    ] = "adaptive"
    epsilon: Annotated[
        Fraction | None,
        Key(
            Kind(_EPSILON.words, _EPSILON.read, _EPSILON.write, lambda value: None if value is None else str(value)),
            "the ε of every holder's people: the smaller, the more private",
            default='required, unless the strategy is "non-private"',
        ),
    ] = None
    degree: Annotated[
        Degree, Key(_DEGREE, 'parents of an attribute at most, or "auto": as many as leave the tables θ-useful')
    ] = 1
    split: Annotated[
        Fraction, Key(ratio(), "the fraction of ε spent on the structure; the rest goes into the tables")
    ] = Fraction(1, 2)
    score: Annotated[
        str,
        Key(
            choice((*scores(), LINEAR)),
            "what makes a good parent: mutual information, R, or F (binary attributes only); or, for votes only, a "
            "linear score, which adds up over holders",
        ),
    ] = "I"
    mechanism: Annotated[Rule, Key(choice(get_args(Rule)), "how a parent is chosen")] = "permute-and-flip"
    clip: Annotated[
        Clip,
        Key(
            choice(CLIPS),
            "who removes negative counts: each holder before it answers, or the analyst after adding up",
        ),
    ] = "holder"
    first: Annotated[
        str | None,
        Key(
            text("the name of an attribute"),
            "the attribute that is placed first; a public choice",
            default="the first attribute",
        ),
    ] = None
    theta: Annotated[
        Fraction, Key(ratio(), 'with degree = "auto": how many times the noise the average cell must hold')
    ] = Fraction(4)
    learner: Annotated[
        Learner,
        Key(
            choice(LEARNERS),
            'what the analyst runs on noisy statistics; with the Bayesian information criterion "penalised" (greedy '
            'with up to degree parents) or "hill-climbing"',
        ),
    ] = "greedy"
    adjacency: Annotated[
        Adjacency,
        Key(
            choice(get_args(Adjacency)),
            "neighbouring tables differ by one replaced record, and the number of records is public; or by one record "
            "more or less, and the number is private",
        ),
    ] = "replace"
    delta: Annotated[
        Fraction,
        Key(
            ratio("a number such as 1e-9"),
            "0 for pure differential privacy; above 0, (ε, δ) through zero-concentrated privacy",
        ),
    ] = Fraction(0)
    target: Annotated[
        str | None,
        Key(
            text("the name of an attribute"),
            "the attribute that the model is to predict: tables that say more of it are chosen first, at the cost of "
            "the others; a public choice",
            default="all attributes count alike",
            added=True,
        ),
    ] = None
    choices: Annotated[
        Choices,
        Key(
            choice(get_args(Choices)),
            "how several holders choose the first tables: in turns, each among what the others have left, which finds "
            "more and has two more round trips for every holder; or together, each among its part of all tables",
            added=True,
        ),
    ] = "turns"
    missing: Annotated[
        Missing,
        Key(
            choice(get_args(Missing)),
            "what happens while a holder has not answered: the round waits for it; or, after the study's patience, the "
            "run stops, or continues without the holder for good",
            added=True,
        ),
    ] = "wait"
    quorum: Annotated[
        int | None,
        Key(
            whole_number("a whole number such as 2"),
            'with missing = "continue": so many holders must be left, or else the round waits on',
            default='required with "continue", and allowed with it alone',
            added=True,
        ),
    ] = None
    patience: Annotated[
        Fraction | None,
        Key(
            ratio("hours, such as 72"),
            "how many hours a round waits for a holder before it is taken for missing",
            default='required with missing = "stop" or "continue"',
            added=True,
        ),
    ] = None
    edition: Annotated[
        str | None,
        Key(
            text('a text such as "2026-11"'),
            "tells this study from one of an earlier state of tables that change; a study sees one state of each",
            default="the first edition",
            added=True,
        ),
    ] = None
    blocks: Annotated[
        Blocks,
        Key(
            BLOCKS,
            "whose records are used, where holders divide people by the period in which they were first seen; only "
            "these spend anything",
            added=True,
        ),
    ] = "all"
    about: Annotated[
        About, Key(ABOUT, "who asks, why, and until when: what people read before they agree", added=True)
    ] = UNTOLD
    source: str = field(default="study", compare=False)

    def __init__(
        self,
        name: str,
        schema: Schema | str | Path,
        strategy: str = strategy,
        epsilon: Written | None = None,
        *,
        degree: Degree = degree,
        split: Written = split,
        score: str = score,
        mechanism: Rule = mechanism,
        clip: Clip = clip,
        first: str | None = None,
        theta: Written = theta,
        learner: Learner = learner,
        adjacency: Adjacency = adjacency,
        delta: Written = delta,
        target: str | None = None,
        choices: Choices = choices,
        missing: Missing = missing,
        quorum: int | None = None,
        patience: Written | None = None,
        edition: str | None = None,
        blocks: Literal["all"] | Sequence[str] = "all",
        about: About = about,
        source: str = "study",
    ) -> None:
        """Read the numbers exactly, and check every field alone."""
        given = {
            "name": str(name),
            "schema": schema if isinstance(schema, Schema) else Schema.load(schema),
            "strategy": strategy,
            "epsilon": None if epsilon is None else parse_epsilon(epsilon, argument=f"{source}, epsilon"),
            "degree": degree,
            "split": parse_number(split, argument=f"{source}, split"),
            "score": score,
            "mechanism": mechanism,
            "clip": clip,
            "first": first,
            "theta": parse_number(theta, argument=f"{source}, theta"),
            "learner": learner,
            "adjacency": adjacency,
            "delta": parse_number(delta, argument=f"{source}, delta"),
            "target": target,
            "choices": choices,
            "missing": missing,
            "quorum": quorum,
            "patience": None if patience is None else parse_number(patience, argument=f"{source}, patience"),
            "edition": edition or None,
            "blocks": read_blocks(blocks, argument=f"{source}, blocks"),
            "about": about,
            "source": source,
        }
        for key, value in given.items():
            object.__setattr__(self, key, value)
        self._check()

    def _check(self) -> None:
        if not str(self.name).strip():
            raise self.error("name", "found an empty text", "give the study a name")
        self.check_choice("score", (*scores(), LINEAR))
        self.check_choice("mechanism", get_args(Rule))
        self.check_choice("clip", CLIPS)
        self.check_choice("learner", LEARNERS)
        self.check_choice("adjacency", get_args(Adjacency))
        self.check_choice("choices", get_args(Choices))
        if not 0 < self.split < 1:
            raise self.error("split", f"found {float(self.split):g}", "give a fraction between 0 and 1, such as 0.5")
        if not 0 < self.theta <= 1000:
            raise self.error("theta", f"found {float(self.theta):g}", "give a number above 0, such as 4")
        if self.degree != "auto" and (isinstance(self.degree, bool) or not isinstance(self.degree, int)):
            raise self.error("degree", f"found {self.degree!r}", 'give a whole number, or "auto"')
        if self.first is not None:
            self.schema.index(self.first, argument=f"{self.source}, first")
        if self.target is not None:
            self.schema.index(self.target, argument=f"{self.source}, target")
        if not isinstance(self.about, About):
            raise self.error("about", f"found a {type(self.about).__name__}", "give an About, such as About(purpose=…)")
        self._check_missing()

    def _check_missing(self) -> None:
        """Refuse a rule that does not say when it holds, and numbers that no rule reads."""
        self.check_choice("missing", get_args(Missing))
        if self.missing == "continue" and self.quorum is None:
            raise self.error("quorum", "is missing", "say how many holders must be left, such as quorum = 2")
        if self.quorum is not None:
            if self.missing != "continue":
                raise self.error("quorum", f'found with missing = "{self.missing}"', 'leave it out, or give "continue"')
            if type(self.quorum) is not int or self.quorum < 1:
                raise self.error("quorum", f"found {self.quorum!r}", "give a whole number of holders, 1 or more")
        if self.missing != "wait" and self.patience is None:
            raise self.error("patience", "is missing", "say how many hours a round waits, such as patience = 72")
        if self.patience is not None:
            if self.missing == "wait":
                raise self.error(
                    "patience", 'found with missing = "wait"', 'leave it out, or give "stop" or "continue"'
                )
            if not 0 < self.patience <= MOST_PATIENCE:
                raise self.error("patience", f"found {float(self.patience):g}", "give hours above 0, such as 72")

    def error(self, key: str, found: str, remedy: str) -> InputError:
        """Build an error about a field."""
        return InputError(f"{self.source}, {key}", found=found, remedy=remedy)

    def check_choice(self, key: str, choices: Iterable[str]) -> None:
        """Refuse a field that is none of the ``choices``."""
        known = list(choices)
        if getattr(self, key) not in known:
            allowed = " or ".join(f'"{choice}"' for choice in known)
            raise self.error(key, f'found "{getattr(self, key)}"', f"give {allowed}")

    @property
    def first_attribute(self) -> int:
        """The position of the attribute that is placed first."""
        return 0 if self.first is None else self.schema.index(self.first)

    @property
    def target_attribute(self) -> int | None:
        """The position of the attribute that the model is to predict, if there is one."""
        return None if self.target is None else self.schema.index(self.target)

    @property
    def when_missing(self) -> str:
        """What happens while a holder has not answered, in words."""
        if self.missing == "wait":
            return "every round waits until all holders have answered"
        if self.missing == "stop":
            return f"the run stops if a holder has not answered within {self.hours}"
        left = "one holder is" if self.quorum == 1 else f"{self.quorum} holders are"
        return f"a holder that has not answered within {self.hours} is left out from then on, as long as {left} left"

    @property
    def hours(self) -> str:
        """How long a round waits for a holder before the rule for missing ones holds, in words."""
        if self.patience is None:
            return "any time"
        return f"{show_fraction(self.patience)} hour{'' if self.patience == 1 else 's'}"

    @property
    def chosen_blocks(self) -> tuple[str, ...] | None:
        """The blocks whose people it is about, None for all of them."""
        return None if self.blocks == "all" else self.blocks

    @property
    def holder_clips(self) -> bool:
        """Whether each holder removes negative counts before it answers."""
        return self.clip == "holder"

    @property
    def max_records(self) -> int:
        """The most records of one person that are used."""
        return self.schema.max_records

    @cached_property
    def grant(self) -> Loss:
        """What the study may spend of each holder's people: ε, or with a delta the ρ that implies (ε, δ)."""
        if self.epsilon is None:
            raise ValueError("a study without ε grants nothing")
        return granted(self.canonical())

    def canonical(self) -> dict[str, object]:
        """Return the content that all parties must share, as plain JSON values with exact ratios."""
        return {
            **content(self),
            "version": STUDY_VERSION,
            "max_records": self.schema.unit.max_records if self.schema.unit else None,
            "first": self.schema.names[self.first_attribute],
        }

    @cached_property
    def hash(self) -> str:
        """The sha256 of the canonical content."""
        return hashlib.sha256(hashed_text(self.canonical()).encode()).hexdigest()
