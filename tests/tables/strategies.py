"""Hypothesis strategies for schemas and for columns that fit or do not."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from hypothesis import strategies as st

from panbayes.schema.attribute import Attribute
from panbayes.schema.domains import Scalar
from panbayes.schema.schema import Schema, Unit

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda t: t.strip() != "")
numbers = st.one_of(
    st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6, allow_nan=False).filter(lambda x: abs(x) > 1e-6 or x == 0)
)


@st.composite
def attributes(draw: st.DrawFn, name: str = "x") -> Attribute:
    """Any valid attribute."""
    kind = draw(st.sampled_from(["texts", "numbers", "booleans", "bins"]))
    other = draw(st.sampled_from([None, "other", "(else)"]))
    missing = draw(st.sampled_from([None, "missing", "(none)"]))
    if kind == "bins":
        edges = draw(st.lists(numbers, min_size=2, max_size=6, unique_by=lambda v: f"{float(v):.9g}"))
        bins = tuple(sorted(edges))
        impute = bins[0] if missing is None and draw(st.booleans()) else None
        return Attribute(name, bins=bins, other=other, missing=missing, impute=impute)
    reserved = {"other", "(else)", "missing", "(none)"}
    values: dict[str, st.SearchStrategy[Sequence[Scalar]]] = {
        "texts": st.lists(texts.filter(lambda t: t not in reserved), min_size=1, max_size=6, unique=True),
        "numbers": st.lists(numbers, min_size=1, max_size=6, unique_by=lambda v: float(v) + 0.0),
        "booleans": st.just([False, True]),
    }
    categories = tuple(draw(values[kind]))
    constant = categories[0] if missing is None and draw(st.booleans()) else None
    return Attribute(name, categories=categories, other=other, missing=missing, impute=constant)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Any valid schema of a few attributes."""
    names = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    unit = Unit("person id", draw(st.integers(1, 5))) if draw(st.booleans()) and "person id" not in names else None
    return Schema(
        draw(texts),
        tuple(draw(attributes(name)) for name in names),
        draw(st.sampled_from(["draft", "approved"])),
        tuple(draw(st.lists(texts, max_size=3))),
        unit,
    )


anything = st.one_of(
    st.lists(st.one_of(st.none(), st.text(max_size=6)), max_size=20).map(lambda v: pl.Series("x", v, dtype=pl.String)),
    st.lists(st.one_of(st.none(), st.integers(-(2**60), 2**60)), max_size=20).map(
        lambda v: pl.Series("x", v, dtype=pl.Int64)
    ),
    st.lists(st.one_of(st.none(), st.floats()), max_size=20).map(lambda v: pl.Series("x", v, dtype=pl.Float64)),
    st.lists(st.one_of(st.none(), st.booleans()), max_size=20).map(lambda v: pl.Series("x", v, dtype=pl.Boolean)),
    st.lists(st.one_of(st.none(), st.dates()), max_size=20).map(lambda v: pl.Series("x", v, dtype=pl.Date)),
    st.lists(st.none(), max_size=5).map(lambda v: pl.Series("x", v)),
)
