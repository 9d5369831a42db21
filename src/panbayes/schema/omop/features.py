"""The feature file: who is learned about in an OMOP database, and what is known of each, in public words.

A feature file is TOML that a data officer can read and sign, as a schema file is; its keys are declared once, in the
fields of :class:`Features` and of its parts, and described in ``docs/files.md``. Two things follow from it and from
nothing else: the SELECT that a holder's database answers with one row a person (:mod:`panbayes.tables.omop`), and the
schema of those rows, :attr:`Features.schema`. Nothing here reads data.

**Concept sets are lists.** A set such as "diabetes and all that is below it" means what a vocabulary says, and every
site has a copy of its own, of another release, with concepts of its own, or cut down to what occurs in its records. So
a set would mean one thing here and another there; and under a vocabulary that was cut down, one person's record decides
which concepts are in the set, and with them what is told of everybody else. Then no row would depend on one person's
records alone, which is what the promise rests on. A file with ``descendants = true`` can therefore be read, shown and
expanded (``panbayes omop expand``, from a vocabulary that is public), and is refused by whatever looks at records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, get_args

from panbayes.errors import InputError, nearest
from panbayes.schema import kinds
from panbayes.schema.declaration import Declaration, Key, content, hashed_text
from panbayes.schema.omop.cdm import PERSON_ID
from panbayes.schema.omop.cohort import Cohort
from panbayes.schema.omop.feature import Feature
from panbayes.schema.omop.feature_kinds import check_concepts, concepts
from panbayes.schema.schema import MAX_ATTRIBUTES, Schema, Status, Unit
from panbayes.schema.toml_writer import toml_text

__all__ = ["FEATURE_FILE", "FEATURE_VERSION", "ConceptSet", "Features", "dump_features"]

FEATURE_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ConceptSet:
    """Concepts under one name: those listed, less those ``without``; with ``descendants`` what is below them too."""

    name: Annotated[str, Key(kinds.text('a name such as "diabetes"'), "what cohort and features call the set")]
    concepts: Annotated[tuple[int, ...], Key(concepts(), "the concepts of the set")]
    without: Annotated[tuple[int, ...], Key(concepts(), "concepts that are not in the set")] = ()
    descendants: Annotated[
        bool,
        Key(
            kinds.flag(),
            "that what is below these concepts in the vocabulary is meant as well: such a file must be expanded into "
            "lists (`panbayes omop expand`) before it is used",
        ),
    ] = False

    def __post_init__(self) -> None:
        """Check that there is something in it."""
        check_concepts(self.concepts, argument="concepts")
        check_concepts(self.without, argument="without")
        if not self.ids:
            raise InputError("concepts", found="found no concept that is not left out", remedy="give at least one")

    @property
    def ids(self) -> tuple[int, ...]:
        """The concepts of the set, in order."""
        return tuple(sorted(set(self.concepts) - set(self.without)))


@dataclass(frozen=True)
class Features:
    """What a feature file says: who is learned about, and what is known of each."""

    name: Annotated[str, Key(kinds.text('a text such as "diabetes"'), "what the schema will be called")]
    cohort: Annotated[Cohort, Key(kinds.table(Cohort), "who is learned about, and each person's index date")]
    features: Annotated[tuple[Feature, ...], Key(kinds.tables(Feature), "one table for each attribute, in order")]
    concept_sets: Annotated[
        tuple[ConceptSet, ...],
        Key(kinds.tables(ConceptSet), "public lists of concept ids, each under a name"),
    ] = ()
    status: Annotated[
        Status,
        Key(
            kinds.choice(get_args(Status)),
            "whether a person has read the file and holds all of it to be public; its schema has the same status, and "
            "nothing is learned under a draft",
            required=True,
            shared=False,
        ),
    ] = "approved"
    source: str = field(default="features", compare=False)

    def __post_init__(self) -> None:
        """Check what spans its parts."""
        if not 1 <= len(self.features) <= MAX_ATTRIBUTES:
            raise InputError(
                "features", found=f"found {len(self.features)}", remedy=f"give 1 to {MAX_ATTRIBUTES} features"
            )
        _check_names("features", [feature.name for feature in self.features])
        _check_names("concept_sets", [known.name for known in self.concept_sets])
        if self.cohort.concepts is not None:
            self._check_set(self.cohort.concepts, "cohort.concepts", "")
        for feature in self.features:
            if feature.concepts is not None:
                self._check_set(feature.concepts, "features", f' in feature "{feature.name}"')

    def _check_set(self, name: str, argument: str, where: str) -> None:
        known = [one.name for one in self.concept_sets]
        if name not in known:
            remedy = nearest(name, known) if known else "add a [[concept_sets]] table of that name"
            raise InputError(argument, found=f'found concepts "{name}"{where}, which no set is called', remedy=remedy)

    @classmethod
    def load(cls, path: str | Path) -> Features:
        """Read a feature file (TOML)."""
        return FEATURE_FILE.load(path)

    @classmethod
    def parse(cls, text: str, *, source: str = "features") -> Features:
        """Read features from TOML text; ``source`` is its name in errors."""
        return FEATURE_FILE.parse(text, source=source)

    def ids(self, name: str) -> tuple[int, ...]:
        """Return the concepts of a set that is known."""
        return next(one.ids for one in self.concept_sets if one.name == name)

    def require_lists(self) -> None:
        """Refuse sets whose concepts are not listed yet: they would mean at each site what its vocabulary says."""
        unlisted = next((one.name for one in self.concept_sets if one.descendants), None)
        if unlisted is not None:
            raise InputError(
                self.source,
                found=f'concept set "{unlisted}" has descendants = true, which every vocabulary understands otherwise',
                remedy="write them out once, for all holders: panbayes omop expand",
            )

    @cached_property
    def hash(self) -> str:
        """The sha256 of the content that all holders must share (not the status, not comments)."""
        text = hashed_text({"version": FEATURE_VERSION, **content(self)})
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def schema(self) -> Schema:
        """The schema of the rows that these features make: one a person, so at most one record each.

        It follows from public facts alone and so carries no draft's marks. Its status is that of the features: whoever
        approved those has said of every label and bin in it that it is public.
        """
        self.require_lists()
        certain = self.cohort.age is not None  # who has no year of birth has no age, and is not in the cohort
        attributes = tuple(
            feature.attribute(certain=certain and feature.kind in ("age", "year-of-birth")) for feature in self.features
        )
        return Schema(self.name, attributes, self.status, unit=Unit(PERSON_ID), features=self.hash)


def _check_names(argument: str, names: Sequence[str]) -> None:
    """Refuse names that a database could take for the same."""
    folded = [name.casefold() for name in names]
    twice = next((name for i, name in enumerate(names) if folded[i] in folded[:i]), None)
    if twice is not None:
        raise InputError(
            argument, found=f'found "{twice}" twice, apart from case', remedy="give every one a name of its own"
        )


FEATURE_FILE: Final = Declaration(
    title="Feature files",
    version=FEATURE_VERSION,
    declared=Features,
    about="A feature file says who is learned about in an OMOP database and what is known of each person, in concepts "
    "that are public. It becomes one SELECT with a row a person, and one schema (`panbayes omop schema`). All holders "
    "have the same file: its hash is part of the schema. Unknown keys are errors.",
    example="""
version = 1
name = "diabetes"
status = "approved"

[cohort]
index = "first-ever"
table = "condition_occurrence"
concepts = "diabetes"
between = ["2015-01-01", "2024-12-31"]
age = [18, 120]
prior_days = 365

[[concept_sets]]
name = "diabetes"
concepts = [201254, 201826]

[[concept_sets]]
name = "insulin"
concepts = [1596977]

[[concept_sets]]
name = "haemoglobin A1c"
concepts = [3004410]

[[features]]
name = "sex"
kind = "gender"
groups = {female = 8532, male = 8507}

[[features]]
name = "age"
kind = "age"
bins = [18, 45, 65, 120]

[[features]]
name = "insulin"
kind = "any"
table = "drug_exposure"
concepts = "insulin"
window = [-365, 0]

[[features]]
name = "a1c"
kind = "latest"
table = "measurement"
concepts = "haemoglobin A1c"
window = [-365, 0]
bins = [3, 5.7, 6.5, 8, 20]
units = [8554]
""",
)


def dump_features(features: Features, *, header: Sequence[str] = ()) -> str:
    """Write features as TOML, with a comment on top. Reading the text back gives equal features."""
    return toml_text(features, FEATURE_VERSION, header=header)
