"""A Bayesian network that can be asked: the factors of :mod:`panbayes.bayesnet.factors`, with inference and files.

Its methods only translate names and values into positions and codes, and codes into data frames; the work is done in
:mod:`panbayes.bayesnet.inference` and :mod:`panbayes.bayesnet.formats`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import polars as pl

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.bif import BIF
from panbayes.bayesnet.formats.files import load_factors, save_factors
from panbayes.bayesnet.inference.balanced import draw_balanced
from panbayes.bayesnet.inference.engine import Engine, ZeroProbabilityError
from panbayes.bayesnet.inference.likelihood import classify_codes, log_probabilities
from panbayes.bayesnet.inference.sampling import draw_prior
from panbayes.bayesnet.network_card import network_card
from panbayes.bayesnet.questions import Evidence, evidence_codes, impossible, position
from panbayes.bayesnet.results import Classification, Configuration, Expectation, Posterior
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.uncertainty.doubt import Doubt
from panbayes.errors import InputError, nearest
from panbayes.privacy.statement import PrivacyStatement
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.decoding import Within, value_draws
from panbayes.tables.sources.dispatch import FrameKind, convert_frame, frame_kind, frame_sources, read_frame
from panbayes.tables.sources.file import name_of
from panbayes.tables.table import Table

__all__ = ["Network", "Seed", "read_bif"]

MOST_DRAWN: Final = 10**9
"""Records that are drawn at a time, at most."""

Seed: TypeAlias = int | np.random.Generator | None
"""Sampling from a released model is post-processing: an ordinary seed, a generator, or None for a fresh one."""


@dataclass(frozen=True, eq=False, repr=False)
class Network(Factors):
    """A Bayesian network over the attributes of a schema: its factors, and questions to ask of them.

    ``frame_kind`` is the library of the data frames that :meth:`sample` gives. It is a convenience of this process: it
    is not written to files, and networks that differ in nothing else are equal.

    >>> Network.example()
    Network "weather": 3 attributes, 3 dependencies, 7 free parameters
    attribute  values  depends on
    rain       2       -
    sprinkler  2       rain
    grass      2       rain, sprinkler
    NOT PRIVATE: nothing is stated about the privacy of this network.
    """

    frame_kind: FrameKind = field(default="polars", kw_only=True)

    def __post_init__(self) -> None:
        """Check the factors, and the kind of data frame."""
        super().__post_init__()
        kinds = frame_sources()
        if self.frame_kind not in kinds:
            raise InputError("frame_kind", found=f'found "{self.frame_kind}"', remedy=nearest(self.frame_kind, kinds))

    @classmethod
    def of(cls, factors: Factors) -> Network:
        """Return the network that has these factors."""
        return cls(
            factors.schema,
            factors.structure,
            factors.tables,
            factors.privacy,
            factors.about,
            factors.error,
            factors.receipts,
        )

    @classmethod
    def example(cls) -> Network:
        """Return a small network to try things on: rain and a sprinkler wet the grass.

        >>> Network.example().schema.names
        ('rain', 'sprinkler', 'grass')
        """
        attributes = (
            Attribute("rain", categories=("yes", "no")),
            Attribute("sprinkler", categories=("on", "off")),
            Attribute("grass", categories=("wet", "dry")),
        )
        wet = np.array([[0.99, 0.8], [0.9, 0.0]])
        tables = (np.array([0.2, 0.8]), np.array([[0.01, 0.99], [0.4, 0.6]]), np.stack([wet, 1 - wet], axis=-1))
        return cls(Schema("weather", attributes), Structure(((0, ()), (1, (0,)), (2, (0, 1)))), tables)

    def with_privacy(self, privacy: PrivacyStatement | None) -> Network:
        """Return the same network with another statement.

        >>> Network.example().with_privacy(None) == Network.example()
        True
        """
        return replace(self, privacy=privacy)

    @cached_property
    def engine(self) -> Engine:
        """Exact inference by position and code; its junction tree is compiled once and kept."""
        return Engine(self.structure, self.schema.sizes, self.tables)

    @cached_property
    def _doubt(self) -> Doubt:
        return Doubt(self.schema, self.error, self.engine)

    def log_prob(self, data: object) -> FloatArray:
        """Return the natural log-probability of every record (−∞ where the network gives probability zero).

        ``data`` is a table, or a file or data frame, which is encoded by the network's schema.

        >>> frame = pl.DataFrame({"rain": ["yes"], "sprinkler": ["off"], "grass": ["wet"]})
        >>> np.exp(Network.example().log_prob(frame)).round(4).tolist()
        [0.1584]
        """
        return log_probabilities(self.structure, self.tables, self._encoded(data).codes)

    def sample(
        self,
        n: int,
        seed: Seed = None,
        given: Evidence | None = None,
        *,
        within: Within = "midpoint",
        independent: bool = False,
    ) -> Any:
        """Draw ``n`` records, each exactly from the joint distribution, or exactly from it given evidence.

        All of them together are balanced: their counts are closer to what is expected than those of records drawn by
        chance (:mod:`panbayes.bayesnet.inference.balanced`). ``independent`` draws each without regard to the others.
        They come as a data frame of the kind the network was learned from (polars unless it says otherwise), hence Any;
        :meth:`sample_table` is the typed way. The same ``seed`` draws the same records. A bin or a period of dates
        gives its middle, or ``within="uniform"`` a value drawn from it.

        >>> drawn = Network.example().sample(3, seed=1, given={"grass": "wet"})
        >>> drawn.shape, drawn["grass"].to_list()
        ((3, 3), ['wet', 'wet', 'wet'])
        """
        drawn = self.sample_table(n, seed, given, independent=independent)
        return drawn.frame(draw=value_draws(within, seed))

    def sample_table(
        self, n: int, seed: Seed = None, given: Evidence | None = None, *, independent: bool = False
    ) -> Table:
        """Draw ``n`` records as :meth:`sample` does, and leave them encoded.

        >>> Network.example().sample_table(5, seed=1).codes.shape
        (3, 5)
        """
        if not hasattr(n, "__index__") or n < 0:
            raise InputError("n", found=f"found {n!r}", remedy="give the number of records to draw")
        if n > MOST_DRAWN:
            raise InputError("n", found=f"found {n:,}", remedy=f"draw at most {MOST_DRAWN:,} records at a time")
        if isinstance(seed, int) and seed < 0:
            raise InputError("seed", found=f"found {seed}", remedy="give a whole number of 0 or more")
        try:
            rng = np.random.default_rng(seed)
        except (TypeError, ValueError):
            raise InputError("seed", found=f"found {seed!r}", remedy="give a whole number of 0 or more") from None
        dtype = code_type(self.schema)
        if not given:
            draw = draw_prior if independent else draw_balanced
            codes = draw(self.structure, self.tables, n, rng, dtype)
            return Table(self.schema, codes, kind=self.frame_kind)
        evidence = self.evidence(given, argument="given")
        try:
            codes = self.engine.sample(evidence, n, rng, dtype, independent=independent)
            return Table(self.schema, codes, kind=self.frame_kind)
        except ZeroProbabilityError:
            raise impossible(self.schema, evidence, argument="given") from None

    def posterior(self, targets: str | Sequence[str], evidence: Evidence | None = None) -> Posterior:
        """Return the joint distribution of the targets given the evidence, exactly.

        Where the network knows how wrong it may be, every probability has a 90 % interval (:class:`Posterior`).

        >>> round(Network.example().posterior("rain", {"grass": "wet"})["yes"], 4)
        0.3577
        """
        names = tuple(targets) if hasattr(targets, "__iter__") and not isinstance(targets, str) else (targets,)
        chosen = tuple(position(self.schema, name, argument="targets") for name in names)
        if not chosen or len(set(chosen)) != len(chosen):
            raise InputError("targets", found="found none, or one twice", remedy="name every attribute asked for once")
        known = self.evidence(evidence)
        try:
            probabilities = self.engine.posterior(chosen, known)
        except ZeroProbabilityError:
            raise impossible(self.schema, known, argument="evidence") from None
        attributes = tuple(self.schema.attributes[i] for i in chosen)
        return Posterior(attributes, probabilities, partial(self._doubt.joint, chosen, known, probabilities))

    def posteriors(self, evidence: Evidence | None = None) -> dict[str, FloatArray]:
        """Return the distribution of every single attribute given the evidence, in one pass.

        :meth:`intervals` says how wrong they may be.

        >>> Network.example().posteriors({"grass": "dry"})["rain"].round(4).tolist()
        [0.0718, 0.9282]
        """
        return dict(zip(self.schema.names, self._marginals(self.evidence(evidence)), strict=True))

    def intervals(self, evidence: Evidence | None = None) -> dict[str, FloatArray] | None:
        """Return the 90 % intervals of what :meth:`posteriors` says; None if no error is known.

        Each is an array with a row (lower end, upper end) for every value.

        >>> Network.example().intervals({"grass": "dry"}) is None
        True
        """
        known = self.evidence(evidence)
        limits = self._doubt.singles(known, self._marginals(known))
        if limits is None:
            return None
        return {name: np.stack(ends, axis=-1) for name, ends in zip(self.schema.names, limits, strict=True)}

    def _marginals(self, known: Mapping[int, int]) -> list[FloatArray]:
        try:
            return self.engine.posteriors(known)
        except ZeroProbabilityError:
            raise impossible(self.schema, known, argument="evidence") from None

    def expectation(self, name: str, evidence: Evidence | None = None) -> Expectation:
        """Return the mean of a numeric attribute given the evidence, with its 90 % interval where an error is known.

        Bins count as their middle; ``other`` and ``missing`` values are left out.

        >>> age = Attribute("age", bins=(0, 40, 120), missing="missing")
        >>> law = np.array([0.3, 0.6, 0.1])
        >>> Network(Schema("ages", (age,)), Structure.independent(1), (law,)).expectation("age")
        mean of age: 60
        """
        place = position(self.schema, name, argument="name")
        attribute = self.schema.attributes[place]
        numbers = np.array(attribute.numbers)
        if not numbers.size:
            raise InputError("name", found=f'"{name}" is not numeric', remedy="name an attribute with bins or numbers")
        known = self.evidence(evidence)
        law = self._marginals(known)[place]
        whole = float(law[: numbers.size].sum())
        if not whole:
            raise InputError(
                "name",
                found=f'"{name}" has no number here: all its values are "other" or "missing"',
                remedy="give less evidence, or ask for its posterior",
            )
        interval, remarks = self._doubt.mean(place, known, numbers, law)
        return Expectation(attribute, float(law[: numbers.size] @ numbers) / whole, interval, remarks)

    def most_probable(self, evidence: Evidence | None = None) -> Configuration:
        """Return the most probable value of all attributes together given the evidence.

        >>> Network.example().most_probable({"grass": "wet"}).values
        {'rain': 'no', 'sprinkler': 'on', 'grass': 'wet'}
        """
        known = self.evidence(evidence)
        try:
            codes = self.engine.most_probable(known)
        except ZeroProbabilityError:
            raise impossible(self.schema, known, argument="evidence") from None
        column: Codes = np.array([[code] for code in codes], dtype=code_type(self.schema))
        attributes = zip(self.schema.attributes, codes, strict=True)
        return Configuration(
            codes=codes,
            values={attribute.name: attribute.labels[code] for attribute, code in attributes},
            log_prob=float(log_probabilities(self.structure, self.tables, column)[0]),
        )

    def classify(self, data: object, target: str) -> Any:
        """Predict ``target`` for every record from all its other attributes.

        ``data`` is a table, or a file or data frame. The result is a data frame of the same kind with a row per record
        and the columns ``predicted``, the label of the most probable value, and ``probability``, its own, with its 90 %
        interval from ``low`` to ``high`` where an error is known; a pandas index is kept. The target need not be among
        the columns, and is not looked at if it is. :meth:`classify_table` is the typed way to the probabilities of all
        values.

        >>> frame = pl.DataFrame({"sprinkler": ["off", "on"], "grass": ["wet", "wet"]})
        >>> Network.example().classify(frame, "rain")["predicted"].to_list()
        ['yes', 'no']
        """
        position(self.schema, target, argument="target")
        if isinstance(data, Table):
            return convert_frame(self.classify_table(data, target).decoded(), data.kind)
        argument = name_of(data, "data")
        records = read_frame(data, argument=argument, named=self.schema.names)
        if target not in records.columns:
            records = records.with_columns(pl.lit(None).alias(target))
        table = Table.read(records, self.schema, argument=argument, every_record=True)
        kind = frame_kind(data)
        found: Any = convert_frame(self.classify_table(table, target).decoded(), kind)
        return found.set_axis(getattr(data, "index", None), axis=0) if kind == "pandas" else found

    def classify_table(self, data: object, target: str) -> Classification:
        """Return the distribution and best value of ``target`` for every record, given all its other attributes.

        ``data`` is a table, or a file or data frame. The record's own value of the target is not looked at.

        >>> network = Network.example()
        >>> network.classify_table(network.sample(100, seed=1), "rain").probabilities.shape
        (100, 2)
        """
        place = position(self.schema, target, argument="target")
        given = self._encoded(data).codes
        probabilities = classify_codes(self.structure, self.tables, given, place)
        codes = probabilities.argmax(axis=1).astype(code_type(self.schema))
        bounds = partial(self._doubt.classified, place, given, probabilities)
        return Classification(self.schema.attributes[place], codes, probabilities, bounds)

    def save(self, path: str | Path, *, argument: str = "path") -> None:
        """Write the network to a file: BIF if its name ends in ``.bif``, else a versioned, checksummed model file.

        The file is whole or as it was before. ``argument`` names the path in errors.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     Network.example().save(f"{folder}/weather.json")
        ...     Network.load(f"{folder}/weather.json") == Network.example()
        True
        """
        save_factors(self, path, argument=argument)

    @classmethod
    def load(cls, path: str | Path) -> Network:
        """Read a model file or a BIF file; anything else is an :class:`InputError`.

        >>> Network.load("absent.json")
        Traceback (most recent call last):
        ...
        panbayes.errors.InputError: absent.json: cannot be read (no such file or directory); check the path
        """
        return cls.of(load_factors(path))

    def evidence(self, given: Evidence | None, *, argument: str = "evidence") -> dict[int, int]:
        """Translate evidence into codes by position; unknown names and values are errors about ``argument``.

        >>> Network.example().evidence({"grass": "dry"})
        {2: 1}
        >>> Network.example().evidence({"gras": "dry"})
        Traceback (most recent call last):
        ...
        panbayes.errors.InputError: evidence: "gras" is not in schema "weather"; ...
        """
        return evidence_codes(self.schema, given, argument=argument)

    def _encoded(self, data: object) -> Table:
        """Take a table, or encode a file or data frame by the network's schema."""
        if not isinstance(data, Table):
            return Table.read(data, self.schema, every_record=True)
        if data.schema is not self.schema and data.schema.hash != self.schema.hash:
            raise InputError(
                "table",
                found=f'is encoded by another schema ("{data.schema.name}", {data.schema.hash[:12]})',
                remedy=f'encode it by the network\'s, "{self.schema.name}", {self.schema.hash[:12]}',
            )
        return data

    def __repr__(self) -> str:
        """Show what depends on what, and whether it is private."""
        return network_card(self).text()

    def _repr_html_(self) -> str:
        return network_card(self).html()


def read_bif(path: str | Path) -> Network:
    """Read a network from a BIF file, whatever its name ends in.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     Network.example().save(f"{folder}/weather.bif")
    ...     read_bif(f"{folder}/weather.bif") == Network.example()
    True
    """
    return Network.of(load_factors(path, chosen=BIF))
