from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute, Scalar
from panbayes.schema.schema import Schema
from panbayes.tables.encoding import decode_column, encode_column, missing_mask, outside_mask
from panbayes.tables.table import Table, code_type
from panbayes.tables.texts import value_text
from tests.tables.strategies import anything, attributes, numbers, schemas


def reference_code(value: object, attribute: Attribute, missing_values: Sequence[str]) -> int:
    """Encode one value by the rules as written in panbayes.schema.attribute, one value at a time."""
    labels = attribute.labels[: attribute.regular]
    written = value_text(value)
    if written in missing_values and not (attribute.categories and written in labels):
        written = None
    if written is None:
        if attribute.missing is not None:
            return attribute.size - 1
        if attribute.impute is not None:
            return reference_code(attribute.impute, attribute, ())
        return attribute.regular if attribute.other is not None else attribute.regular - 1
    if attribute.numeric:
        try:
            number = float({"true": "1", "false": "0"}.get(written.strip().lower(), written))
        except ValueError:
            number = math.nan
        if attribute.bins:
            edges = attribute.bins
            for i in range(attribute.regular):
                closed = i == attribute.regular - 1
                if edges[i] <= number < edges[i + 1] or (closed and number == edges[i + 1]):
                    return i
            if attribute.other is not None:
                return attribute.regular
            return 0 if number < edges[0] else attribute.regular - 1
        for i, known in enumerate(attribute.categories):
            if float(known) == number:
                return i
    else:
        text = written.lower() if attribute.boolean else written
        if text in labels:
            return labels.index(text)
    return attribute.regular if attribute.other is not None else attribute.regular - 1


MARKERS = ("?", "NA", "1", "true")


@given(anything, attributes())
@settings(max_examples=300)
def test_any_value_gets_the_code_the_rules_give(values: pl.Series, attribute: Attribute) -> None:
    codes = encode_column(values, attribute, MARKERS)
    assert codes.shape == (values.len(),)
    assert np.all((codes >= 0) & (codes < attribute.size))
    if values.dtype in (pl.String, pl.Float64, pl.Boolean, pl.Int64):
        plain = [v for v in values.to_list() if not (isinstance(v, str) and _python_only(v))]
        again = encode_column(pl.Series("x", plain, dtype=values.dtype), attribute, MARKERS)
        assert again.tolist() == [reference_code(value, attribute, MARKERS) for value in plain]


def _python_only(text: str) -> bool:
    """Texts that Python's float() reads as numbers and a data frame may not: 1_0, ٣, nan, other spaces."""
    stripped = text.strip()
    return (
        not stripped.isascii()
        or "_" in stripped
        or stripped.lower().lstrip("+-") in ("nan", "inf", "infinity")
        or stripped != text
    )


@given(attributes(), st.lists(numbers, max_size=20))
def test_bins_agree_with_the_rules_on_numbers(attribute: Attribute, values: list[float]) -> None:
    near = [*values, *(float(e) for e in attribute.bins), *(math.nextafter(e, math.inf) for e in attribute.bins)]
    series = pl.Series("x", [float(v) for v in near], dtype=pl.Float64)
    expected = [reference_code(float(value), attribute, ()) for value in near]
    assert encode_column(series, attribute, ()).tolist() == expected


@given(attributes())
def test_the_kind_of_a_column_does_not_matter(attribute: Attribute) -> None:
    """Integers, floats and texts of the same values get the same codes."""
    whole = pl.Series("x", [-3, 0, 1, 7, None, 10**6], dtype=pl.Int64)
    codes = encode_column(whole, attribute, ()).tolist()
    assert encode_column(whole.cast(pl.Float64), attribute, ()).tolist() == codes
    assert encode_column(whole.cast(pl.String), attribute, ()).tolist() == codes
    assert encode_column(whole.cast(pl.String).cast(pl.Categorical), attribute, ()).tolist() == codes


@given(schemas(), st.data())
def test_decoded_tables_encode_to_the_same_codes(schema: Schema, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 8))
    rows = [data.draw(st.lists(st.integers(0, a.size - 1), min_size=n, max_size=n)) for a in schema.attributes]
    table = Table(schema, np.array(rows, dtype=code_type(schema)))
    for codes, attribute in zip(table.codes, schema.attributes, strict=True):
        values = decode_column(codes, attribute)
        assert encode_column(values, attribute, ()).tolist() == codes.tolist()


@given(anything, attributes(), st.integers(0, 1000))
def test_records_are_encoded_one_by_one(values: pl.Series, attribute: Attribute, seed: int) -> None:
    """No value changes the code of another: encoding commutes with any reordering."""
    order = np.argsort(np.random.default_rng(seed).random(values.len()))
    assert (
        encode_column(values[order], attribute, MARKERS).tolist()
        == encode_column(values, attribute, MARKERS)[order].tolist()
    )


@given(anything, attributes())
def test_masks_say_where_the_codes_came_from(values: pl.Series, attribute: Attribute) -> None:
    gone = missing_mask(values, attribute, MARKERS)
    outside = outside_mask(values, attribute, MARKERS)
    codes = encode_column(values, attribute, MARKERS)
    assert not np.any(gone & outside)
    assert np.all(codes[gone] == attribute.missing_code)
    if attribute.other_code is not None:
        assert np.all(codes[outside] == attribute.other_code)


@pytest.mark.parametrize("category", ["NA", "?", "None"])
def test_a_category_wins_over_a_missing_marker(category: str) -> None:
    attribute = Attribute("x", categories=("Yes", category), missing="missing")
    assert encode_column(pl.Series([category, "", None]), attribute, ("", category)).tolist() == [1, 2, 2]


def test_booleans_are_read_however_they_are_spelt() -> None:
    attribute = Attribute("x", categories=(False, True), other="other")
    texts = pl.Series(["True", "FALSE", "true", "false", "yes", "1"])
    assert encode_column(texts, attribute, ()).tolist() == [1, 0, 1, 0, 2, 2]
    assert encode_column(pl.Series([True, False]), attribute, ()).tolist() == [1, 0]
    assert attribute.code_of("TRUE") == 1


def test_mean_imputation_under_a_public_mean() -> None:
    attribute = Attribute("age", bins=(0, 40, 65, 120), impute=47.3)
    assert encode_column(pl.Series([10.0, None, float("nan")]), attribute, ()).tolist() == [0, 1, 1]


def test_no_type_of_a_column_is_refused() -> None:
    """The type of a column may hang on one value: a list in an Arrow column of nulls."""
    attribute = Attribute("x", categories=("[1]", "ab"), other="other")
    for values in (pl.Series([[1], [2]]), pl.Series([b"ab", b"\xff"]), pl.Series([[1], {2}], dtype=pl.Object)):
        assert encode_column(values, attribute, ())[1] == 2
        assert encode_column(values, attribute, ())[0] in (0, 1)


def test_codes_are_compact_checked_and_read_only() -> None:
    schema = Schema("s", (Attribute("x", categories=("a", "b")),))
    table = Table(schema, np.array([[0, 1, 1]], dtype=np.uint8))
    assert table.codes.dtype == np.uint8
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 1
    for codes, message in (
        (np.array([[0, 2]], dtype=np.uint8), "codes: found a code outside its domain"),
        (np.array([[0]], dtype=np.uint16), "codes: found uint16; give uint8"),
        (np.array([0], dtype=np.uint8), r"codes: found uint8 of shape \(1,\)"),
    ):
        with pytest.raises(InputError, match=message):
            Table(schema, codes)
    wide = Schema("w", (Attribute("x", categories=tuple(range(300))),))
    assert code_type(wide) is np.uint16


def test_the_caller_keeps_its_own_array() -> None:
    schema = Schema("s", (Attribute("x", categories=("a", "b")),))
    mine = np.array([[0, 1]], dtype=np.uint8)
    table = Table(schema, mine)
    mine[0, 0] = 1  # still writable, and the table does not change with it
    assert table.codes.tolist() == [[0, 1]]


def values_of(table: Table) -> list[list[Scalar | None]]:
    return [column.to_list() for column in table.decoded()]


def test_frame_gives_values_back() -> None:
    schema = Schema(
        "s",
        (
            Attribute("n", categories=(1, 2.5), missing="missing"),
            Attribute("t", categories=("a", "b"), other="other"),
            Attribute("w", bins=(0, 10, 20)),
            Attribute("r", bins=(0, 0.5, 1)),
            Attribute("m", categories=(1, 2), other="other", missing="missing"),
            Attribute("b", categories=(False, True)),
        ),
    )
    codes = np.array([[0, 1, 2], [0, 2, 1], [0, 1, 1], [0, 1, 0], [0, 2, 3], [0, 1, 1]], dtype=np.uint8)
    assert values_of(Table(schema, codes)) == [
        [1.0, 2.5, None],
        ["a", "other", "b"],
        [5, 15, 15],
        [0.25, 0.75, 0.25],
        ["1", "other", None],
        [False, True, True],
    ]
