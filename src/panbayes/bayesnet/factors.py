"""What a network is made of: schema, structure and one table per attribute, as one checked, immutable value.

The joint distribution is ``p(x) = ∏ p(x_i | x_Pa(i))``. ``tables[i]`` holds the factor of attribute ``i`` (tables
stand in schema order). **Axes: the parents in the order of** ``structure.parents(i)``\\ **, then the child last**, so
``tables[i][parent codes]`` is a distribution over the child's codes and every last-axis sum is one.

The value has never heard of privacy: ``privacy`` is a statement that it carries along unread, and ``about`` a few
words on where it comes from. ``error`` is what else the measurements behind it would allow, None if that is not known;
``receipts`` what those signed who answered for it, None if nobody did.
Files hold factors (:mod:`panbayes.bayesnet.formats`); :class:`panbayes.bayesnet.network.Network` is the same value with
questions to ask.

Thesis: Definition def_BN; Definition def_BN_factor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from panbayes.bayesnet.counts import FloatArray
from panbayes.bayesnet.receipts import Receipts
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.uncertainty.replicates import Replicates
from panbayes.errors import InputError
from panbayes.privacy.statement import PrivacyStatement
from panbayes.schema.schema import Schema

__all__ = ["TOLERANCE", "Factors"]

TOLERANCE: Final = 1e-9


@dataclass(frozen=True, eq=False)
class Factors:
    """Schema, structure and tables; see the module for the layout of ``tables``."""

    schema: Schema
    structure: Structure
    tables: tuple[FloatArray, ...]
    privacy: PrivacyStatement | None = None
    about: Mapping[str, str] = field(default_factory=dict)
    error: Replicates | None = None
    receipts: Receipts | None = None

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
        if self.error is not None and self.error.sizes != list(sizes):
            raise InputError("error", found="found one of another schema", remedy="give that of this network, or none")
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
        """Compare schema, structure, tables (exactly), statement, remarks, error and receipts."""
        if not isinstance(other, Factors):
            return NotImplemented
        return (
            self.schema == other.schema
            and self.structure == other.structure
            and all(np.array_equal(a, b) for a, b in zip(self.tables, other.tables, strict=True))
            and self.privacy == other.privacy
            and self.about == other.about
            and self.error == other.error
            and self.receipts == other.receipts
        )

    def __hash__(self) -> int:
        """Hash what is cheap to hash."""
        return hash((self.schema.hash, self.structure))

    @property
    def parameters(self) -> int:
        """The number of free parameters: (child's size − 1) × parent configurations, summed.

        >>> from panbayes.bayesnet.network import Network
        >>> Network.example().parameters
        7
        """
        return sum(table.size - table.size // table.shape[-1] for table in self.tables)
