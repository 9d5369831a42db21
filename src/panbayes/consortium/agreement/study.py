"""The study: the public agreement on what is learned, from which schema, how, and at which privacy.

The file is TOML; paths in it are relative to the file::

    version = 1
    name = "three clinics"
    schema = "clinic.toml"
    strategy = "adaptive"
    epsilon = 1.0

========== ===================== ====================================================================================
key        default               meaning
========== ===================== ====================================================================================
epsilon    required              ε for every holder's people (not read by "non-private")
degree     1                     parents of an attribute at most, or "auto": as many as leave the tables θ-useful
split      0.5                   share of ε spent on the structure; the rest goes into the tables
score      "I"                   what makes a good parent: "I" mutual information, "R", or "F" (binary attributes only)
mechanism  "permute-and-flip"    how a parent is chosen: or "exponential"
clip       "holder"              who removes negative counts: each holder before it answers, or the "analyst" after
                                 adding up
first      the first attribute   the attribute that is placed first; a public choice
theta      4                     with degree = "auto": how many times the noise the average cell must hold
learner    "greedy"              what the analyst runs on noisy statistics: or "chow-liu"; with BIC, "penalised"
                                 (greedy with up to ``degree`` parents) or "hill-climbing"
adjacency  "replace"             neighbouring tables differ by one replaced record, and the number of records is public;
                                 or "add-remove": by one record more or less, and the number is private
delta      0                     pure differential privacy; above 0, (ε, δ) through zero-concentrated privacy
========== ===================== ====================================================================================

"adaptive" chooses parents (at most two), shares of ε and mechanisms itself and does not read degree, split, score,
mechanism, clip, first, theta and learner. It alone offers "add-remove" and a delta above 0.

A study is known by the hash of its content and of its schema's; comments, key order and file names do not matter.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Final, Literal, TypeAlias, cast, get_args

from panbayes.errors import InputError
from panbayes.exact.score_rounding import ScoreName
from panbayes.privacy.adjacency import Adjacency
from panbayes.privacy.classes.zcdp import rho_for
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import grant
from panbayes.privacy.written import MAX_DIGITS, parse_epsilon
from panbayes.schema.schema import Schema
from panbayes.schema.toml_reader import Document, Section

__all__ = ["STUDY_VERSION", "Clip", "Learner", "Mechanism", "Strategy", "Study"]

STUDY_VERSION: Final = 1
MAX_DEGREE: Final = 8

Strategy: TypeAlias = Literal[
    "adaptive",
    "privbayes",
    "independent",
    "noisy-sufficient-statistics",
    "noisy-majority-voting",
    "noisy-model",
    "non-private",
]
Learner: TypeAlias = Literal["greedy", "chow-liu", "penalised", "hill-climbing"]
Mechanism: TypeAlias = Literal["permute-and-flip", "exponential"]
Clip: TypeAlias = Literal["analyst", "holder"]


@dataclass(frozen=True)
class Study:
    """What is learned, how, and at which privacy; see the module for every field."""

    name: str
    schema: Schema
    strategy: Strategy
    epsilon: Fraction | None = None
    degree: int | Literal["auto"] = 1
    split: Fraction = Fraction(1, 2)
    score: ScoreName = "I"
    mechanism: Mechanism = "permute-and-flip"
    clip: Clip = "holder"
    first: str | None = None
    theta: Fraction = Fraction(4)
    learner: Learner = "greedy"
    adjacency: Adjacency = "replace"
    delta: Fraction = Fraction(0)
    source: str = field(default="study", compare=False)

    def __post_init__(self) -> None:
        """Check every field, alone and against the schema."""
        self._check_choice("strategy", self.strategy, get_args(Strategy))
        self._check_choice("score", self.score, get_args(ScoreName))
        self._check_choice("mechanism", self.mechanism, get_args(Mechanism))
        self._check_choice("clip", self.clip, get_args(Clip))
        self._check_choice("learner", self.learner, get_args(Learner))
        adaptive = self.strategy == "adaptive"
        self._check_choice("adjacency", self.adjacency, get_args(Adjacency) if adaptive else ("replace",))
        if not self.name.strip():
            raise self._error("name", "found an empty text", "give the study a name")
        if self.epsilon is None and self.strategy != "non-private":
            raise self._error("epsilon", "is missing", "add epsilon = 1.0 (or what the holders agreed on)")
        if self.epsilon is not None:
            parse_epsilon(self.epsilon, argument=f"{self.source}, epsilon")
        if self.delta != 0:
            self._check_delta()
        if not 0 < self.split < 1:
            raise self._error("split", f"found {float(self.split):g}", "give a share between 0 and 1, such as 0.5")
        if not 0 < self.theta <= 1000:
            raise self._error("theta", f"found {float(self.theta):g}", "give a number above 0, such as 4")
        self._check_digits()
        self._check_degree()
        if self.first is not None:
            self.schema.index(self.first, argument=f"{self.source}, first")
        if self.score == "F" and self.strategy != "independent" and max(self.schema.sizes) > 2:
            raise self._error(
                "score", '"F" needs binary attributes, and the schema has larger ones', 'give "R" or "I" instead'
            )

    def _error(self, key: str, found: str, remedy: str) -> InputError:
        return InputError(f"{self.source}, {key}", found=found, remedy=remedy)

    def _check_choice(self, key: str, value: str, choices: tuple[str, ...]) -> None:
        if value not in choices:
            allowed = " or ".join(f'"{choice}"' for choice in choices)
            raise self._error(key, f'found "{value}"', f"give {allowed}")

    def _check_digits(self) -> None:
        """Refuse shares of ε that messages and model files could not write exactly."""
        epsilon = self.epsilon or Fraction(0)
        votes = self.split * epsilon
        shares = (epsilon, votes, votes / max(len(self.schema) - 1, 1), epsilon - votes, self.theta)
        if any(max(share.numerator, share.denominator) >= 10**MAX_DIGITS for share in shares):
            raise self._error(
                "split", "too many digits in split, epsilon and theta together", "give numbers of fewer digits"
            )

    def _check_degree(self) -> None:
        if self.strategy == "adaptive":
            return
        if len(self.schema) == 1 and self.strategy != "independent":
            raise self._error(
                "strategy", f'found "{self.strategy}", and the schema has one attribute', 'give "independent"'
            )
        if self.degree == "auto":
            if self.strategy not in ("privbayes", "noisy-model"):
                raise self._error("degree", f'found "auto" with strategy "{self.strategy}"', "give a whole number")
            return
        if not 1 <= self.degree <= MAX_DEGREE:
            raise self._error(
                "degree", f"found {self.degree}", f'give 1 to {MAX_DEGREE}; for no parents use strategy "independent"'
            )
        if self.degree >= len(self.schema) and self.strategy not in ("independent", "adaptive"):
            raise self._error(
                "degree",
                f"found {self.degree}, and the schema has {len(self.schema)} attributes",
                f"give at most {len(self.schema) - 1}",
            )

    def _check_delta(self) -> None:
        if self.strategy != "adaptive":
            raise self._error("delta", f"found {float(self.delta):g}", 'give 0, or use strategy "adaptive"')
        if self.epsilon is not None:
            try:
                rho_for(self.epsilon, self.delta)
            except InputError as error:
                raise self._error(error.argument, error.found, error.remedy) from None

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file and the schema it names."""
        return _study(Document.read(path), Path(path).parent)

    @property
    def first_attribute(self) -> int:
        """The position of the attribute that is placed first."""
        return 0 if self.first is None else self.schema.index(self.first)

    @property
    def private(self) -> bool:
        """Whether the study asks for privacy at all."""
        return self.strategy != "non-private"

    @property
    def budget(self) -> Fraction:
        """The ε of a private study."""
        if self.epsilon is None or not self.private:
            raise ValueError("a non-private study has no budget")
        return self.epsilon

    @property
    def grant(self) -> Loss:
        """What the study may spend of each holder's people: ε, or with a delta the ρ that implies (ε, δ)."""
        return grant(self.budget, delta=self.delta)

    def canonical(self) -> dict[str, object]:
        """Return the content that all parties must share, as plain JSON values with exact ratios."""
        return {
            "version": STUDY_VERSION,
            "name": self.name,
            "schema": self.schema.hash,
            "max_records": self.schema.unit.max_records if self.schema.unit else None,
            "strategy": self.strategy,
            "epsilon": str(self.epsilon) if self.epsilon is not None else None,
            "degree": self.degree,
            "split": str(self.split),
            "score": self.score,
            "mechanism": self.mechanism,
            "clip": self.clip,
            "first": self.schema.names[self.first_attribute],
            "theta": str(self.theta),
            "learner": self.learner,
            "adjacency": self.adjacency,
            "delta": str(self.delta),
        }

    @cached_property
    def hash(self) -> str:
        """The sha256 of the canonical content."""
        text = json.dumps(self.canonical(), ensure_ascii=False, separators=(",", ":"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def _study(document: Document, folder: Path) -> Study:
    root = document.root()
    root.version(STUDY_VERSION)
    name = root.text("name", expected='a text such as "three clinics"')
    strategy = root.choice("strategy", get_args(Strategy))
    file = root.text("schema", expected='the schema file, such as "clinic.toml"')
    epsilon = _ratio(root, "epsilon") if root.has("epsilon") else None
    degree = _degree(root) if root.has("degree") else Study.degree
    split = _ratio(root, "split") if root.has("split") else Study.split
    score = _choice(root, "score", get_args(ScoreName), Study.score)
    mechanism = _choice(root, "mechanism", get_args(Mechanism), Study.mechanism)
    clip = _choice(root, "clip", get_args(Clip), Study.clip)
    first = root.text("first", expected="the name of an attribute") if root.has("first") else None
    theta = _ratio(root, "theta") if root.has("theta") else Study.theta
    learner = _choice(root, "learner", get_args(Learner), Study.learner)
    adjacency = _choice(root, "adjacency", get_args(Adjacency), Study.adjacency)
    delta = _ratio(root, "delta") if root.has("delta") else Study.delta
    root.finish()
    schema = Schema.load(folder / file)
    try:
        return Study(
            name=name,
            schema=schema,
            strategy=cast(Strategy, strategy),
            epsilon=epsilon,
            degree=degree,
            split=split,
            score=cast(ScoreName, score),
            mechanism=cast(Mechanism, mechanism),
            clip=cast(Clip, clip),
            first=first,
            theta=theta,
            learner=cast(Learner, learner),
            adjacency=cast(Adjacency, adjacency),
            delta=delta,
            source=document.source,
        )
    except InputError as error:
        key = error.argument.rpartition(", ")[2]
        raise document.error((key,), found=error.found, remedy=error.remedy) from None


def _choice(section: Section, key: str, choices: tuple[str, ...], default: str) -> str:
    return section.choice(key, choices) if section.has(key) else default


def _ratio(section: Section, key: str) -> Fraction:
    """Read a number exactly as it is written."""
    value = section.value(key, expected="a number")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise section.error(key, found=f"found {value!r}", remedy="give a number without quotes, such as 0.5")
    if key == "epsilon":
        try:
            return parse_epsilon(value, argument=key)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=error.remedy) from None
    text = repr(value)
    if "n" in text:
        raise section.error(key, found=f"found {text}", remedy="give a finite number")
    return Fraction(text)


def _degree(section: Section) -> int | Literal["auto"]:
    value = section.value("degree", expected='a whole number, or "auto"')
    if value == "auto":
        return "auto"
    if isinstance(value, bool) or not isinstance(value, int):
        raise section.error("degree", found=f"found {value!r}", remedy='give a whole number, or "auto"')
    return value
