from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import BLANKS, stripped
from panbayes.schema.domains import Scalar
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.decoding import decode_column
from panbayes.tables.encoding import encode_column, encode_values
from panbayes.tables.numbers import as_numbers
from panbayes.tables.table import Table
from panbayes.tables.texts import value_text
from tests.effort import often, some
from tests.tables.strategies import anything, attributes, numbers, schemas


def reference_code(value: object, attribute: Attribute, missing_values: Sequence[str]) -> int:
    """Encode one value by the rules as panbayes.tables.encoding writes them down, one value at a time."""
    labels = attribute.labels[: attribute.regular]
    own = labels if attribute.categories else ()
    written = value_text(value)
    outside = attribute.regular if attribute.other is not None else attribute.regular - 1
    if attribute.missing is not None:
        missing = attribute.size - 1
    elif attribute.impute is not None:
        missing = reference_code(attribute.impute, replace(attribute, impute=None), ())
    else:
        missing = outside
    if written is None or (written in missing_values and written not in own):
        return missing
    bare = stripped(written)
    blank_markers = {stripped(marker) for marker in missing_values} - {stripped(label) for label in own}
    if attribute.numeric:
        if bare in blank_markers:
            return missing
        try:
            number = float({"true": "1", "false": "0"}.get(bare.lower(), bare))
        except ValueError:
            number = math.nan
        if math.isnan(number):
            return outside if attribute.other is not None and bare == stripped(attribute.other) else missing
        if attribute.bins:
            edges = attribute.bins
            for i in range(attribute.regular):
                closed = i == attribute.regular - 1
                if edges[i] <= number < edges[i + 1] or (closed and number == edges[i + 1]):
                    return i
            if attribute.other is not None:
                return attribute.regular
            return 0 if number < edges[0] else attribute.regular - 1
        return next((i for i, known in enumerate(attribute.categories) if float(known) == number), outside)
    text = written.lower() if attribute.boolean else written
    if text in labels:
        return labels.index(text)
    text = bare.lower() if attribute.boolean else bare
    if text in labels:
        return labels.index(text)
    alike = [i for i, label in enumerate(labels) if stripped(label) == text]
    return alike[0] if alike else missing if bare in blank_markers else outside


MARKERS = ("?", "NA", "1", "true")


@given(anything, attributes())
@settings(max_examples=often(60, 300))
def test_any_value_gets_the_code_the_rules_give(values: pl.Series, attribute: Attribute) -> None:
    codes = encode_column(values, attribute, MARKERS)
    assert codes.shape == (values.len(),)
    assert np.all((codes >= 0) & (codes < attribute.size))
    if values.dtype in (pl.String, pl.Float64, pl.Boolean, pl.Int64):
        plain = [v for v in values.to_list() if not (isinstance(v, str) and _python_only(v))]
        again = encode_column(pl.Series("x", plain, dtype=values.dtype), attribute, MARKERS)
        assert again.tolist() == [reference_code(value, attribute, MARKERS) for value in plain]


def _python_only(text: str) -> bool:
    """Texts that Python's float() reads as numbers and a data frame does not: 1_0, ٣, other spaces."""
    bare = text.strip()
    return not bare.isascii() or "_" in bare or bare != stripped(text)


SMALL = [
    first + middle + last for first in ("", " ", "\t") for middle in ("", "a", "a b", "1", "?") for last in ("", " ")
]


def test_blanks_around_texts_exhaustively() -> None:
    """Every pair of categories and half the pairs of markers (in soak all) out of texts that differ by blanks alone."""
    values = pl.Series(SMALL)
    domains = [
        Attribute("x", categories=pair, other="other", missing="missing")
        for pair in permutations(("a", " a", "a ", "1", " ?"), 2)
    ]
    domains.append(Attribute("x", categories=(1, 2), other="\ta", missing="missing"))
    domains.append(Attribute("x", bins=(0, 1), other="a b", missing="missing"))
    for attribute, markers in product(domains, some(permutations(("", " a", "a", "1", "?", " 1"), 2), 15)):
        expected = [reference_code(value, attribute, markers) for value in SMALL]
        assert encode_column(values, attribute, markers).tolist() == expected


def test_blanks_are_what_data_frames_strip() -> None:
    characters = [chr(code) for code in range(0x11_0000) if not 0xD800 <= code < 0xE000]
    bare = pl.Series([f"{one}a{one}" for one in characters]).str.strip_chars()
    assert [one for one, text in zip(characters, bare, strict=True) if text == "a"] == sorted(BLANKS)


def test_labels_come_before_markers_that_differ_by_blanks() -> None:
    day = Attribute("x", categories=("2020-01-01", "b"), missing="missing")
    values = pl.Series(["2020-01-01 00:00:00", " 2020-01-01 00:00:00", " 2020-01-01"])
    assert encode_column(values, day, ("2020-01-01 00:00:00",)).tolist() == [2, 0, 0]


def test_words_where_numbers_belong_are_missing() -> None:
    words = pl.Series(["ten", "1,5", "nan", "12", "inf", "-inf", "other", "1e400"])
    age = Attribute("age", bins=(0, 10, 20), missing="missing")
    assert encode_column(words, age, ()).tolist() == [2, 2, 2, 1, 1, 0, 2, 1]
    assert encode_column(words, age, (), decimal_comma=True).tolist() == [2, 0, 2, 1, 1, 0, 2, 1]
    wide = Attribute("age", bins=(0, 10, 20), other="other", missing="missing")
    assert encode_column(words, wide, ()).tolist() == [3, 3, 3, 1, 2, 2, 2, 2]
    few = Attribute("n", categories=(1.5, 12), missing="missing")
    assert encode_column(words, few, (), decimal_comma=True).tolist() == [2, 0, 2, 1, 1, 1, 2, 1]
    text = Attribute("n", categories=("1,5", "1.5"), other="other")
    assert encode_column(pl.Series(["1,5", "1.5", "1,50"]), text, (), decimal_comma=True).tolist() == [0, 1, 2]


def comma_number(text: str) -> float | None:
    """Read one text that has a comma, letter by letter."""
    text = text.strip()
    sign = -1.0 if text.startswith("-") else 1.0
    whole, comma, rest = text.removeprefix("-").removeprefix("+" if text.startswith("+") else "").partition(",")
    mantissa, power, exponent = rest.partition("e")
    if not comma or not set(mantissa) <= set("0123456789") or not (whole or mantissa):
        return None
    if power and not exponent.removeprefix("-").isdigit():
        return None
    first, *groups = whole.split(next((mark for mark in ". \u00a0\u202f" if mark in whole), "."))
    if groups and (not 1 <= len(first) <= 3 or any(len(group) != 3 for group in groups)):
        return None
    digits = first + "".join(groups)
    if digits and not (digits.isascii() and digits.isdigit()):
        return None
    return sign * float(f"{digits or '0'}.{mantissa or '0'}e{exponent or '0'}")


@given(
    st.lists(
        st.one_of(
            st.text("0123.,- e\u00a0", max_size=9),
            st.from_regex(r"[+-]?[0-9]{0,4}([. \u00a0\u202f][0-9]{2,3}){0,3},[0-9]{0,3}(e-?[0-9])?", fullmatch=True),
        ),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=often(60, 300))
def test_a_decimal_comma_is_read_value_by_value(texts: list[str]) -> None:
    values = pl.Series(texts, dtype=pl.String)
    plain = as_numbers(values).to_list()
    for text, without, found in zip(texts, plain, as_numbers(values, decimal_comma=True).to_list(), strict=True):
        assert found == (comma_number(text) if "," in text else without), text
        assert without is None or "," not in text


def test_thousands_are_never_guessed() -> None:
    texts = ["1.234", "1,234", "1.234,5", "1 234,5", "1.234.567", "1,234.5", "12.34,5", "1.234 567,5", ",5", "5,", ","]
    found = as_numbers(pl.Series(texts), decimal_comma=True).to_list()
    assert found == [1.234, 1.234, 1234.5, 1234.5, None, None, None, None, 0.5, 5.0, None]


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
    found = encode_values(values, attribute, MARKERS)
    gone, outside, codes = found.missing, found.outside, found.codes
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
