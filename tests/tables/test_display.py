"""What objects show at a prompt and in a notebook: few lines, public facts, everything escaped."""

from __future__ import annotations

import ast

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from panbayes.display import Card, shortened
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.diabetes import diabetes_schema
from panbayes.tables.table import Table
from tests.tables.strategies import attributes, schemas

EVIL = "<script>alert('&')</script>"


METHOD = "_repr_html_"


def html_of(shown: Schema | Table) -> str:
    """Ask as a notebook does."""
    return str(getattr(shown, METHOD)())


def test_a_table_shows_its_schema_and_no_record() -> None:
    schema = Schema("clinic", (Attribute("sex", categories=("F", "M")), Attribute("age", bins=(0, 50, 100))))
    one = Table.read(pl.DataFrame({"sex": ["F"], "age": [1]}), schema)
    many = Table(schema, np.ones((2, 4711), dtype=np.uint8))
    assert repr(one) == repr(many) == 'Table under schema "clinic", 2 attributes; records are not shown'
    assert html_of(one) == html_of(many)
    assert "[0, 50), [50, 100]" in html_of(one)


def test_a_schema_shows_its_attributes_in_a_few_lines() -> None:
    shown = repr(diabetes_schema())
    lines = shown.splitlines()
    assert lines[0] == 'Schema "diabetes", approved, 43 attributes'
    assert lines[-1] == "  … and 31 more"
    assert len(lines) <= 15
    assert max(map(len, lines)) <= 120
    unit = Schema("s", (Attribute("x", categories=("a",)),), "draft", unit=Unit("who", 2))
    assert repr(unit) == 'Schema "s", draft, 1 attribute, at most 2 records for each who\n  x: a'
    assert html_of(diabetes_schema()).count("<tr>") == 44


def test_everything_is_escaped_in_a_notebook() -> None:
    schema = Schema(EVIL, (Attribute(EVIL, categories=(EVIL,)),))
    for shown in (schema, Table(schema, np.zeros((1, 1), dtype=np.uint8))):
        assert "<script>" not in html_of(shown)
        assert html_of(shown).count("&lt;script&gt;") >= 3
    assert "<script>" not in Card((EVIL,), [(EVIL,)], title=EVIL).html()


@given(attributes())
def test_an_attribute_shows_how_to_write_it(attribute: Attribute) -> None:
    """Eight values are shown, and strategies make no more: what is shown is the attribute."""
    call = ast.parse(repr(attribute), mode="eval").body
    assert isinstance(call, ast.Call)
    options = {str(keyword.arg): ast.literal_eval(keyword.value) for keyword in call.keywords}
    assert Attribute(*map(ast.literal_eval, call.args), **options) == attribute


def test_an_attribute_with_many_values_is_short() -> None:
    attribute = Attribute("n", categories=tuple(range(300)), missing="missing")
    assert repr(attribute) == "Attribute('n', categories=(0, 1, 2, 3, 4, 5, 6, 7, … 292 more), missing='missing')"


@given(schemas())
def test_any_schema_can_be_shown(schema: Schema) -> None:
    assert repr(schema).startswith('Schema "')
    assert "<table>" in html_of(schema)


@given(st.lists(st.text(max_size=30), min_size=1, max_size=20), st.integers(20, 60))
def test_shortened_texts_fit(texts: list[str], width: int) -> None:
    shown = shortened(texts, width=width)
    assert len(shown) <= width + len(", … 20 more")
    if shown != ", ".join(texts):
        assert shown.endswith(" more") or len(texts) == 1
