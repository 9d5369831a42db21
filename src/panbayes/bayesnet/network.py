"""A Bayesian network that can be asked: the factors of :mod:`panbayes.bayesnet.factors`, with inference and files.

Its methods only translate names and values into positions and codes; the work is done in
:mod:`panbayes.bayesnet.inference` and :mod:`panbayes.bayesnet.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

import numpy as np

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.files import load_factors, save_factors
from panbayes.bayesnet.inference.engine import Engine, ZeroProbabilityError
from panbayes.bayesnet.inference.likelihood import classify_codes, log_probabilities
from panbayes.bayesnet.inference.sampling import draw_prior
from panbayes.bayesnet.results import Classification, Configuration, FloatArray, Posterior
from panbayes.errors import InputError
from panbayes.privacy.statement import PrivacyStatement
from panbayes.schema.attribute import Scalar, label_text
from panbayes.tables.table import Codes, Table, code_type

__all__ = ["Evidence", "Network", "Seed"]

Evidence: TypeAlias = Mapping[str, Scalar]
"""Observed values by attribute name: a label, or a value inside the attribute's domain."""

Seed: TypeAlias = int | np.random.Generator | None
"""Sampling from a released model is post-processing: an ordinary seed, a generator, or None for a fresh one."""


@dataclass(frozen=True, eq=False)
class Network(Factors):
    """A Bayesian network over the attributes of a schema: its factors, and questions to ask of them."""

    @classmethod
    def of(cls, factors: Factors) -> Network:
        """Return the network that has these factors."""
        return cls(factors.schema, factors.structure, factors.tables, factors.privacy, factors.about)

    def with_privacy(self, privacy: PrivacyStatement | None) -> Network:
        """Return the same network with another statement."""
        return replace(self, privacy=privacy)

    @cached_property
    def engine(self) -> Engine:
        """Exact inference by position and code; its junction tree is compiled once and kept."""
        return Engine(self.structure, self.schema.sizes, self.tables)

    def log_prob(self, data: object) -> FloatArray:
        """Return the natural log-probability of every record (−∞ where the network gives probability zero).

        ``data`` is a table, or a file or data frame, which is encoded by the network's schema.
        """
        return log_probabilities(self.structure, self.tables, self._table(data).codes)

    def sample(self, n: int, seed: Seed = None, *, given: Evidence | None = None) -> Table:
        """Draw ``n`` records, exactly from the joint distribution, or exactly from it given evidence."""
        if n < 0:
            raise InputError("n", found=f"found {n}", remedy="give the number of records to draw")
        rng = np.random.default_rng(seed)
        dtype = code_type(self.schema)
        if not given:
            return Table(self.schema, draw_prior(self.structure, self.tables, n, rng, dtype))
        evidence = self.evidence(given, argument="given")
        try:
            return Table(self.schema, self.engine.sample(evidence, n, rng, dtype))
        except ZeroProbabilityError:
            raise self._impossible(evidence, "given") from None

    def posterior(self, targets: str | Sequence[str], evidence: Evidence | None = None) -> Posterior:
        """Return the joint distribution of the targets given the evidence, exactly."""
        names = (targets,) if isinstance(targets, str) else tuple(targets)
        chosen = tuple(self.schema.index(name, argument="targets") for name in names)
        if not chosen or len(set(chosen)) != len(chosen):
            raise InputError("targets", found="found none, or one twice", remedy="name every attribute asked for once")
        known = self.evidence(evidence)
        try:
            probabilities = self.engine.posterior(chosen, known)
        except ZeroProbabilityError:
            raise self._impossible(known, "evidence") from None
        return Posterior(tuple(self.schema.attributes[i] for i in chosen), probabilities)

    def posteriors(self, evidence: Evidence | None = None) -> dict[str, FloatArray]:
        """Return the distribution of every single attribute given the evidence, in one pass."""
        known = self.evidence(evidence)
        try:
            marginals = self.engine.posteriors(known)
        except ZeroProbabilityError:
            raise self._impossible(known, "evidence") from None
        return dict(zip(self.schema.names, marginals, strict=True))

    def most_probable(self, evidence: Evidence | None = None) -> Configuration:
        """Return the most probable value of all attributes together given the evidence."""
        known = self.evidence(evidence)
        try:
            codes = self.engine.most_probable(known)
        except ZeroProbabilityError:
            raise self._impossible(known, "evidence") from None
        column: Codes = np.array([[code] for code in codes], dtype=code_type(self.schema))
        attributes = zip(self.schema.attributes, codes, strict=True)
        return Configuration(
            codes=codes,
            values={attribute.name: attribute.labels[code] for attribute, code in attributes},
            log_prob=float(log_probabilities(self.structure, self.tables, column)[0]),
        )

    def classify(self, data: object, target: str) -> Classification:
        """Return the distribution and best value of ``target`` for every record, given all its other attributes.

        ``data`` is a table, or a file or data frame. The record's own value of the target is not looked at.
        """
        place = self.schema.index(target, argument="target")
        probabilities = classify_codes(self.structure, self.tables, self._table(data).codes, place)
        codes = probabilities.argmax(axis=1).astype(code_type(self.schema))
        return Classification(self.schema.attributes[place], codes, probabilities)

    def save(self, path: str | Path) -> None:
        """Write the network to a file: BIF if its name ends in ``.bif``, else a versioned, checksummed model file."""
        save_factors(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """Read a model file or a BIF file; anything else is an :class:`InputError`."""
        return cls.of(load_factors(path))

    def evidence(self, given: Evidence | None, *, argument: str = "evidence") -> dict[int, int]:
        """Translate evidence into codes by position; unknown names and values are errors."""
        found: dict[int, int] = {}
        for name, value in (given or {}).items():
            place = self.schema.index(name, argument=argument)
            code = self.schema.attributes[place].code_of(value)
            if code is None:
                labels = self.schema.attributes[place].labels
                raise InputError(
                    argument,
                    found=f'"{label_text(value)}" is not a value of "{name}"',
                    remedy=f"known values: {', '.join(labels[:12])}{', …' if len(labels) > 12 else ''}",
                )
            found[place] = code
        return found

    def _impossible(self, evidence: Mapping[int, int], argument: str) -> InputError:
        attributes = self.schema.attributes
        texts = [f"{attributes[i].name}={attributes[i].labels[code]}" for i, code in evidence.items()]
        return InputError(
            argument,
            found=f"{', '.join(texts)} has probability zero in this network",
            remedy="give less evidence, or other values",
        )

    def _table(self, data: object) -> Table:
        """Take a table, or encode a file or data frame by the network's schema."""
        if not isinstance(data, Table):
            return Table.read(data, self.schema, every_record=True)
        table = data
        if table.schema is not self.schema and table.schema.hash != self.schema.hash:
            raise InputError(
                "table",
                found=f'is encoded by another schema ("{table.schema.name}", {table.schema.hash[:12]})',
                remedy=f'encode it by the network\'s, "{self.schema.name}", {self.schema.hash[:12]}',
            )
        return table
