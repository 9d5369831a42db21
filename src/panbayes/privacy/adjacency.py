"""Which tables count as neighbours, and how far neighbours' contingency tables can be apart.

Under ``replace`` one person's record is replaced by another, and the number of people is public; under ``add-remove``
one person is added or removed, and the number is private. With a privacy unit a person has up to m = ``max_records``
records, and all of them may change (errata 6).

=========================== ================= ==================
T tables, released together  replace           add-remove
=========================== ================= ==================
L1                          2·m·T             m·T
L2, squared                 2·m²·T            m²·T
=========================== ================= ==================

Replacing a record takes 1 from a cell and adds 1 to another; adding or removing one moves one cell; a person with up to
m records does so m times (group privacy). In L2: replacing a person changes a table by Σᵢ (e_yᵢ − e_xᵢ) over at most m
records that leave cells xᵢ for yᵢ (or only leave, or only come: e_x or e_y alone); each term has a norm of at most √2,
the sum of at most m·√2, its square 2m². Adding or removing a person changes it by Σᵢ e_xᵢ, of norm m at most. The
squares of several tables add up.

**Centred tables.** A table c of two or more attributes, with k₁, …, k_d groups and K = ∏ kᵢ cells, less what its
margins alone say: P·c = c − Σᵢ mᵢ·kᵢ/K + (d − 1)·n/K, mᵢ the margin of the i-th attribute, repeated along the others, n
the sum of all cells. P is an orthogonal projection, onto tables all of whose margins are 0. So that all numbers are
whole, K·P·c is what gets noise. With e the table of one record x, ⟨P·e, P·e'⟩ = (d − 1 − Σ kᵢ)/K, the sum over the
attributes in which x and x' agree, and 1 more if they agree in all:

=========================== ======================== ===================================
K·P·c of one table           replace                  add-remove
=========================== ======================== ===================================
L1                          2·m·a                    m·a
L2, squared                 2·m²·K·(K − min kᵢ) *    m²·K·(K − 1 − Σ (kᵢ − 1))
=========================== ======================== ===================================

(* the least of the kᵢ above 1), with a = ‖K·P·e‖₁ = Σ ∏ (kⱼ − 1)·|d − 1 − Σ kᵢ + K·[all agree]|, over all sets of
attributes that agree; the product is over those that do not. Under replace ‖P·(e − e')‖² = 2·(‖P·e‖² − ⟨P·e, P·e'⟩) is
largest where x and x' agree in all attributes but the one with the fewest groups, and is no less than ‖P·e‖² then; so a
person with up to m records, of whom some only leave or only come, moves P·c by at most m times its root. For two
attributes ‖P·e‖² is (1 − 1/k₁)·(1 − 1/k₂), a quarter for two by two: what margins say is known from single attributes,
and not paid for again.

**Distances.** ‖c − e‖₁ = Σ|c(x) − e(x)|, c a contingency table and e any fixed public numbers, moves by at most ``l1``
of one table: by the triangle inequality |‖c' − e‖₁ − ‖c − e‖₁| ≤ ‖c' − c‖₁ whatever e is. The score ½‖c − e‖₁ moves by
half of it. e may come from an untrusted analyst and need not be a distribution; it must only be fixed before c is
looked at, and the arithmetic exact.

**Distances from independence.** Let c be a table of two attributes, n its sum, and D = Σ|c(a, b) − n·p(a)·q(b)|, p and
q its own margins, which move with the records. One record that comes adds 1 to c in L1. With it the margins are p* and
q*, where (n + 1)·p* = n·p + e for the unit vector e of its value, so (n + 1)·p*⊗q* = n·p⊗q* + e⊗q*. The last term has
the norm 1, and n·p⊗q* differs from n·p⊗q by n·‖q* − q‖₁ ≤ 2n/(n + 1), since (n + 1)·(q* − q) is a unit vector less q.
Together D moves by less than 4. A record that takes another's place moves c by 2, and what is expected by 2 for each
margin: D by 6 at most. A person with m records does so m times; where persons may have different numbers of
records, to replace one is to remove and to add: 8m.

Thesis: Theorem thm_group; see errata 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, TypeAlias

from panbayes.errors import InputError

__all__ = ["Adjacency", "TableSensitivity", "dependence_sensitivity"]

Adjacency: TypeAlias = Literal["replace", "add-remove"]
"""Which tables count as neighbours: one record replaced (n public), or one record added or removed."""


@dataclass(frozen=True, slots=True)
class TableSensitivity:
    """The most by which one person can move some tables: ``l1`` in L1, √``l2_squared`` in L2.

    >>> TableSensitivity.of(adjacency="replace"), TableSensitivity.of(adjacency="add-remove", max_records=3, tables=10)
    (TableSensitivity(l1=2, l2_squared=2), TableSensitivity(l1=30, l2_squared=90))
    """

    l1: int
    l2_squared: int

    @classmethod
    def of(cls, *, adjacency: Adjacency, max_records: int = 1, tables: int = 1) -> TableSensitivity:
        """Return it for ``tables`` contingency tables of the same records, released together; see the module."""
        if max_records < 1:
            raise InputError("max_records", found=f"found {max_records}", remedy="give 1 or more")
        if tables < 1:
            raise InputError("tables", found=f"found {tables}", remedy="give 1 or more")
        cells = 2 if adjacency == "replace" else 1
        return cls(cells * max_records * tables, cells * max_records**2 * tables)

    @classmethod
    def of_centred(cls, shape: Sequence[int], *, adjacency: Adjacency, max_records: int = 1) -> TableSensitivity:
        """Return it for one centred table of this ``shape``, times its number of cells; see the module.

        It is at least 1, also where the table is 0 whatever the records are, as one of two attributes of which one has
        a single group: noise is added all the same.

        >>> TableSensitivity.of_centred((2, 2), adjacency="add-remove")  # K² = 16 times a quarter
        TableSensitivity(l1=4, l2_squared=4)
        >>> TableSensitivity.of_centred((2, 3), adjacency="replace", max_records=2)
        TableSensitivity(l1=32, l2_squared=192)
        """
        one = cls.of(adjacency=adjacency, max_records=max_records)
        cells, attributes = math.prod(shape), len(shape)
        if adjacency == "replace":
            square = cells * (cells - min((size for size in shape if size > 1), default=1))
        else:
            square = cells * (cells - 1 - sum(size - 1 for size in shape))
        total = 0
        for agree in product((False, True), repeat=attributes):
            many = math.prod(1 if same else size - 1 for same, size in zip(agree, shape, strict=True))
            weight = attributes - 1 - sum(size for same, size in zip(agree, shape, strict=True) if same)
            total += many * abs(weight + (cells if all(agree) else 0))
        return cls(one.l1 * max(1, total), one.l2_squared * max(1, square))


def dependence_sensitivity(*, adjacency: Adjacency, max_records: int = 1) -> int:
    """Return by how much one person can move the distance of a table of two attributes from independence.

    >>> [dependence_sensitivity(adjacency="add-remove", max_records=m) for m in (1, 3)]
    [4, 12]
    >>> [dependence_sensitivity(adjacency="replace", max_records=m) for m in (1, 3)]
    [6, 24]
    """
    if adjacency == "add-remove":
        return 4 * max_records
    return 6 if max_records == 1 else 8 * max_records
