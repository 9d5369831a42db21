"""The study: the public agreement on what is learned, from which schema, how, and at which privacy.

A study file is TOML; every key is declared in :mod:`panbayes.consortium.agreement.terms`, and the manual's page about
them is generated from there (``docs/files.md``). Which of them a strategy reads, and what it then asks of every holder,
is the strategy's own (:mod:`panbayes.consortium.agreement.strategies`).

A study is known by the hash of its content and of its schema's; comments, key order and file names do not matter.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Final

from panbayes.consortium.agreement.checks import check_digits
from panbayes.consortium.agreement.plan import Plan
from panbayes.consortium.agreement.strategy import Strategy, strategies
from panbayes.consortium.agreement.terms import STUDY_VERSION, Terms
from panbayes.errors import nearest
from panbayes.schema.declaration import Declaration, fields_of, located, read_fields
from panbayes.schema.schema import Schema
from panbayes.schema.toml_reader import Document
from panbayes.schema.toml_writer import toml_text

__all__ = ["STUDY_FILE", "Study", "dump_study"]


class Study(Terms):
    """What is learned, how, and at which privacy; numbers may be given as people write them.

    >>> from panbayes.schema.attribute import Attribute
    >>> from panbayes.schema.schema import Schema
    >>> schema = Schema("clinic", (Attribute("smokes", categories=("no", "yes")),))
    >>> study = Study("example", schema, epsilon=0.5)
    >>> study.strategy, study.epsilon, study.grant
    ('adaptive', Fraction(1, 2), Pure(epsilon=Fraction(1, 2)))
    """

    def _check(self) -> None:
        """Check every field, alone and as the strategy asks."""
        if self.strategy not in strategies():
            raise self.error("strategy", f'found "{self.strategy}"', nearest(self.strategy, strategies()))
        super()._check()
        if self.epsilon is None and self.private:
            raise self.error("epsilon", "is missing", "add epsilon = 1.0 (or what the holders agreed on)")
        self.how.check(self)
        if self.private and self.schema.features is not None and self.adjacency != "add-remove":
            # Whoever chooses the features chooses the cohort. Its exact size would be an answer that nobody pays for:
            # the sizes of two cohorts that differ by one person tell what that person has.
            raise self.error(
                "adjacency",
                f'found "{self.adjacency}", which tells the exact size of a cohort that the features choose',
                'give adjacency = "add-remove", with strategy "adaptive"',
            )
        if self.private:
            check_digits(self, self.plan)

    @classmethod
    def load(cls, path: str | Path) -> Study:
        """Read a study file and the schema it names."""
        return STUDY_FILE.load(path)

    @classmethod
    def parse(cls, text: str, *, schema: Schema, source: str = "study") -> Study:
        """Read a study from TOML text with a ``schema`` at hand; the file that the text names is not looked for."""
        root = Document.parse(text, source=source).root()
        root.version(STUDY_VERSION)
        root.text("schema", expected="the schema file")
        values = read_fields(root, [field for field in fields_of(cls) if field.name != "schema"])
        with located(root):
            return cls(**values, schema=schema, source=source)

    @property
    def how(self) -> Strategy:
        """The strategy itself."""
        return strategies()[self.strategy]

    @property
    def private(self) -> bool:
        """Whether the study asks for privacy at all."""
        return self.how.private

    @cached_property
    def plan(self) -> Plan:
        """What the study asks of each holder."""
        if self.how.plan is None:
            raise ValueError(f'a study of strategy "{self.strategy}" asks holders for nothing')
        return self.how.plan(self)

    def __repr__(self) -> str:
        """Say what it is in a line."""
        loss = str(self.grant) if self.private else "without privacy"
        return f'Study("{self.name}", schema "{self.schema.name}", {self.strategy}, {loss}, hash {self.hash[:12]})'


STUDY_FILE: Final = Declaration(
    "Study files",
    STUDY_VERSION,
    Study,
    about="A study is the public agreement between the holders and the analyst: what is learned, how, at which ε. "
    "Paths are relative to the file. Unknown keys are errors; a key that the strategy does not read has no effect, "
    "except that `adjacency` and `delta` must then keep their defaults.",
    example="""
version = 1
name = "three clinics"
schema = "clinic.toml"
strategy = "adaptive"
epsilon = 1.0
""",
)


def dump_study(study: Study, *, schema: str = "schema.toml") -> str:
    """Write a study as TOML that holds every key; ``schema`` is what it calls the file of its schema.

    :meth:`Study.parse` of the text, with the same schema, gives an equal study.
    """
    named = replace(study, schema=replace(study.schema, source=schema))
    return toml_text(named, STUDY_VERSION)
