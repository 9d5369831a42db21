"""The Bayesian network as one immutable value: schema, structure and tables.

The joint distribution is ``p(x) = ∏ p(x_i | x_Pa(i))``. ``tables[i]`` holds the factor of attribute ``i`` (tables
stand in schema order). **Axes: the parents in the order of** ``structure.parents(i)``\\ **, then the child last**, so
``tables[i][parent codes]`` is a distribution over the child's codes and every last-axis sum is one.

The value has never heard of privacy: ``privacy`` is a statement that it carries along unread, and ``about`` a few
words on where it comes from. Its methods only translate names and values into positions and codes; the work is done
in :mod:`~panbayes.bayesnet.inference`, :mod:`~panbayes.bayesnet.sampling`, :mod:`~panbayes.bayesnet.likelihood` and
:mod:`~panbayes.bayesnet.model_file`.

Thesis: Definition def_BN; Definition def_BN_factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from panbayes.bayesnet.answers import Classification, Configuration, FloatArray, Posterior
from panbayes.bayesnet.inference import Engine, ZeroProbabilityError
from panbayes.bayesnet.likelihood import classify_codes, log_probabilities
from panbayes.bayesnet.sampling import draw_prior
from panbayes.public.attribute import Scalar, label_text
from panbayes.public.errors import InputError
from panbayes.public.schema import Schema
from panbayes.public.statement import PrivacyStatement
from panbayes.public.structure import Structure
from panbayes.tables.table import Codes, Table, code_type

__all__ = ["Evidence", "Network", "Seed"]

Evidence: TypeAlias = Mapping[str, Scalar]
"""Observed values by attribute name: a label, or a value inside the attribute's domain."""

Seed: TypeAlias = int | np.random.Generator | None
"""Sampling from a released model is post-processing: an ordinary seed, a generator, or None for a fresh one."""

TOLERANCE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Network:
    """A Bayesian network over the attributes of a schema; see the module for the layout of ``tables``."""

    schema: Schema
    structure: Structure
    tables: tuple[FloatArray, ...]
    privacy: PrivacyStatement | None = None
    about: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every table's shape, sign and sums; keep read-only contiguous copies."""
        if len(self.structure) != len(self.schema):
            raise InputError(
                "structure",
                found=f"found {len(self.structure)} attributes",
                remedy=f'schema "{self.schema.name}" has {len(self.schema)}',
            )
        if len(self.tables) != len(self.schema):
            raise InputError(
                "tables",
                found=f"found {len(self.tables)}",
                remedy=f"give one for each of {len(self.schema)} attributes",
            )
        sizes = self.schema.sizes
        tables = tuple(self._checked(child, table, sizes) for child, table in enumerate(self.tables))
        object.__setattr__(self, "tables", tables)
        object.__setattr__(self, "about", dict(self.about))

    def _checked(self, child: int, table: FloatArray, sizes: Sequence[int]) -> FloatArray:
        name = f'table of "{self.schema.attributes[child].name}"'
        kept: FloatArray = np.array(table, dtype=np.float64, order="C")
        shape = tuple(sizes[i] for i in (*self.structure.parents(child), child))
        if kept.shape != shape:
            raise InputError(name, found=f"found shape {kept.shape}", remedy=f"its parents and domain ask for {shape}")
        if not np.all(np.isfinite(kept)) or np.any(kept < 0):
            raise InputError(name, found="found a negative or infinite entry", remedy="give probabilities")
        if np.any(np.abs(kept.sum(axis=-1) - 1) > TOLERANCE):
            raise InputError(name, found="found a distribution that does not sum to one", remedy="normalise the table")
        kept.flags.writeable = False
        return kept

    def __eq__(self, other: object) -> bool:
        """Compare schema, structure, tables (exactly), statement and remarks."""
        if not isinstance(other, Network):
            return NotImplemented
        return (
            self.schema == other.schema
            and self.structure == other.structure
            and all(np.array_equal(a, b) for a, b in zip(self.tables, other.tables, strict=True))
            and self.privacy == other.privacy
            and self.about == other.about
        )

    def __hash__(self) -> int:
        """Hash what is cheap to hash."""
        return hash((self.schema.hash, self.structure))

    @property
    def parameters(self) -> int:
        """The number of free parameters: (child's size − 1) × parent configurations, summed."""
        return sum(table.size - table.size // table.shape[-1] for table in self.tables)

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
        """Write the network as a versioned, checksummed JSON file."""
        from panbayes.bayesnet.model_file import save_network

        save_network(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """Read what :meth:`save` wrote; anything else is an :class:`InputError`."""
        from panbayes.bayesnet.model_file import load_network

        return load_network(path)

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
