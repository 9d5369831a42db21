from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit, dump_schema
from panbayes.tables.check import check_table
from panbayes.tables.draft import draft_schema, suggest
from panbayes.tables.draft_choice import BINS
from panbayes.tables.draft_summary import KEPT, ColumnSummary
from panbayes.tables.sources.batch import Column
from panbayes.tables.table import Table
from tests.effort import often


def drafted(frame: pl.DataFrame, *, other: tuple[str, ...] = (), unit: Unit | None = None) -> Schema:
    return Schema.parse(draft_schema(frame, name="t", other=other, unit=unit).text)


def test_a_draft_says_what_it_is_and_what_to_check() -> None:
    text = draft_schema(pl.DataFrame({"x": ["a", "b"]}), name="t").text
    assert re.search(r'^status = "draft"$', text, re.MULTILINE)
    comments = " ".join(line for line in text.splitlines() if line.startswith("#"))
    for phrase in ("read off private data", "does not make it private", "rare category", "highest value", "identify"):
        assert phrase in comments
    with pytest.raises(InputError, match="draft"):
        Schema.parse(text).require_approved()


def test_what_becomes_of_a_column() -> None:
    frame = pl.DataFrame(
        {
            "few": [i % 20 for i in range(600)],
            "whole": [i % 21 for i in range(600)],
            "many": [i % 257 for i in range(600)],
            "real": [(i % 3) / 2 for i in range(600)],
            "text": [f"v{i % 5}" for i in range(600)],
            "open": [f"v{i % 6}" for i in range(600)],
            "texts": [f"v{i % 256}" for i in range(600)],
            "flag": [i % 2 == 0 for i in range(600)],
            "day": [dt.date(2026, 1, 1 + i % 3) for i in range(600)],
            "code": [f"{i % 5:03d}" for i in range(600)],
            "blank": [f" {'ab'[i % 2]} " for i in range(600)],
        }
    )
    attributes = {a.name: a for a in drafted(frame).attributes}
    assert attributes["few"].categories == tuple(range(20))
    assert attributes["whole"].bins == tuple(range(21))
    assert attributes["many"].bins == tuple(range(0, 261, 20))
    assert (len(attributes["text"].categories), attributes["text"].other) == (5, None)
    assert (len(attributes["open"].categories), attributes["open"].other) == (6, "other")
    assert (len(attributes["texts"].categories), attributes["texts"].other) == (256, "other")
    assert attributes["real"].categories == (0, 0.5, 1)
    assert attributes["flag"].categories == (False, True)
    assert (attributes["day"].period, attributes["day"].between) == ("day", ("2026-01-01", "2026-01-03"))
    assert attributes["code"].categories == ("000", "001", "002", "003", "004")
    assert attributes["blank"].categories == ("a", "b")
    assert {name for name, found in attributes.items() if found.missing} == {"whole", "many", "day"}


@pytest.mark.parametrize(
    ("days", "period", "bounds"),
    [
        (61, "day", ("2020-01-01", "2020-03-02")),
        (62, "month", ("2020-01", "2020-03")),
        (5 * 366, "quarter", ("2020-Q1", "2025-Q1")),
        (15 * 366, "year", ("2020", "2035")),
    ],
)
def test_dates_get_a_period_by_their_span(days: int, period: str, bounds: tuple[str, str]) -> None:
    first = dt.date(2020, 1, 1)
    frame = pl.DataFrame({"seen": [f"{first} 08:00:00", str(first + dt.timedelta(days)), None]})
    attribute = drafted(frame).attributes[0]
    assert (attribute.period, attribute.between, attribute.missing) == (period, bounds, "missing")


def test_dates_of_birth_become_ages() -> None:
    attribute = drafted(pl.DataFrame({"Date_of_birth": ["1950-01-01", "2001-02-03"]})).attributes[0]
    assert attribute.age_at == f"{dt.date.today().year}-01-01"
    assert attribute.bins == tuple(range(0, 121, 10))


def test_other_dates_are_left_out_with_the_format_to_declare() -> None:
    for texts, told in (
        (["31.12.2020", "1.2.2020"], 'format = "%d.%m.%Y"'),
        (["01/02/2020", "11/12/2020"], 'format = "%d/%m/%Y" or "%m/%d/%Y", only you can know which'),
        (["12/31/2020", "01/02/2020"], 'format = "%m/%d/%Y"'),
        (["20201231", "20200101"], 'format = "%Y%m%d"'),
        (["31DEC2020"], 'format = "%d%b%Y"'),
        (["12/31/2020 01:15 PM"], 'format = "%m/%d/%Y %I:%M %p"'),
    ):
        frame = pl.DataFrame({"d": texts, "x": ["a"] * len(texts)})
        found = suggest(frame, other=(), missing_values=(), unit_column=None)
        assert [a.name for a in found.attributes] == ["x"], texts
        assert found.left_out["d"].endswith(told), texts


def test_codes_of_public_lists_are_known() -> None:
    frame = pl.DataFrame(
        {
            "medicine": [f"{'ABCN'[i % 4]}{i % 9 + 1:02}AA{i % 50:02}" for i in range(600)],
            "cause": [f"{'ABCDE'[i % 5]}{i % 90:02}.{i % 10}" for i in range(600)],
            "diag_1": [["V57", "250.01", "8", "428", f"{i % 300 + 200}"][i % 5] for i in range(600)],
            "number": [f"{i % 300 + 200}" for i in range(600)],
            "word": [f"x{i % 300}" for i in range(600)],
            "room": [f"A{i % 3:02}" for i in range(600)],
            "patient": [f"P{i % 300}" for i in range(600)],
            "drug": [f"A{i % 30:02}AA{i % 50:02}" for i in range(600)],
        }
    )
    found = suggest(frame, other=(), missing_values=(), unit_column=None)
    lists = {a.name: a.mapping for a in found.attributes}
    assert lists["medicine"] == Attribute("x", mapping="atc-groups").mapping
    assert lists["cause"] == Attribute("x", mapping="icd10-chapters").mapping
    assert lists["diag_1"] == Attribute("x", mapping="icd9-chapters").mapping
    assert (lists["number"], lists["room"]) == (None, None)
    assert set(found.left_out) == {"word", "patient"}
    assert lists["drug"] == lists["medicine"]
    assert all(a.other for a in found.attributes if a.mapping)


def test_a_few_words_among_numbers_count_as_missing() -> None:
    numbers = [str(i % 100) for i in range(95)]
    attribute = drafted(pl.DataFrame({"x": [*numbers, *["<5"] * 5]})).attributes[0]
    assert (attribute.bins[0], attribute.bins[-1], attribute.missing) == (0, 95, "missing")
    few = [str(i % 20) for i in range(95)]
    attribute = drafted(pl.DataFrame({"x": [*few, *["<5"] * 5]})).attributes[0]
    assert (attribute.bins, attribute.missing) == ((), None), "few distinct values: the word is one of them"
    many = [str(i) for i in range(950)]
    attribute = drafted(pl.DataFrame({"x": [*many, *["<5"] * 50]})).attributes[0]
    assert (attribute.bins[0], attribute.bins[-1], attribute.missing) == (0, 950, "missing")
    assert suggest(
        pl.DataFrame({"x": [*many, *(f"w{i}" for i in range(51))], "y": ["a"] * 1001}),
        other=(),
        missing_values=(),
        unit_column=None,
    ).left_out


@pytest.mark.parametrize(("gaps", "binned"), [(95, True), (96, False)])
def test_one_word_may_stand_in_every_second_place_of_numbers(gaps: int, binned: bool) -> None:
    """As SAS writes a dot where a number is missing."""
    frame = pl.DataFrame({"x": [*(str(i) for i in range(95)), *["."] * gaps]})
    found = suggest(frame, other=(), missing_values=(), unit_column=None)
    assert (len(found.attributes[0].bins) > 0, found.attributes[0].missing == "missing") == (binned, binned)
    if binned:
        assert 'some values are no numbers, such as ".", and count as missing' in found.remarks["x"]
    assert found.advice == ('"." seems to mean missing: then draft with --missing-value="."',)


def test_more_than_a_few_words_are_values_of_their_own() -> None:
    wards = [*(str(i) for i in range(90)), *(f"x{i}" for i in range(6))]
    assert drafted(pl.DataFrame({"ward": wards})).attributes[0].categories


def test_a_few_words_among_dates_count_as_missing() -> None:
    days = [f"2024-01-{i % 28 + 1:02}" for i in range(95)]
    for words, period in ((5, "day"), (50, "day")):
        found = suggest(
            pl.DataFrame({"d": [*days, *["unknown"] * words]}), other=(), missing_values=(), unit_column=None
        )
        assert found.attributes[0].period == period
        assert found.attributes[0].missing == "missing"
    german = [f"{i % 28 + 1:02}.01.2024" for i in range(95)]
    frame = pl.DataFrame({"d": [*german, *["unknown"] * 5], "x": ["a"] * 100})
    assert suggest(frame, other=(), missing_values=(), unit_column=None).left_out["d"].endswith('format = "%d.%m.%Y"')


def test_dates_that_are_written_in_several_ways_are_left_out() -> None:
    days = [dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(90)]
    ways = ("%Y-%m-%d", "%d.%m.%Y", "%m/%d/%Y")
    texts = [day.strftime(ways[i % 3]) for i, day in enumerate(days)]
    found = suggest(pl.DataFrame({"d": texts, "x": ["a"] * 90}), other=(), missing_values=(), unit_column=None)
    assert found.left_out["d"] == "dates that are written in several ways: write them in one, best as 2024-12-31"


@pytest.mark.parametrize("form", ["{} kg", "{}cm", "{}%", "{}.5 mg/dl", "{},000", "< {} U"])
def test_numbers_with_units_are_pointed_at(form: str) -> None:
    for values in (30, 300):
        texts = [form.format(100 + i) for i in range(values)]
        frame = pl.DataFrame({"w": texts, "x": ["a"] * values})
        found = suggest(frame, other=(), missing_values=(), unit_column=None)
        told = (found.remarks if values == 30 else found.left_out)["w"]
        assert told == f'numbers with a unit, such as "{form.format(100)}"? Write the number alone, and it gets bins'
    codes = pl.DataFrame({"w": [f"{i:03}" for i in range(30)]})
    assert not suggest(codes, other=(), missing_values=(), unit_column=None).remarks


def test_a_file_that_seems_to_be_read_otherwise_than_it_was_written_gets_advice(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for content, told in (
        (b"Report of May\n\nsex,age\nF,1\n", None),
        (b"sex age\nF 1\n", "one column only: are there lines above the header"),
        (b"name,sex\nM\xfcller,F\n", '"name" holds letters that are no UTF-8: then declare the encoding'),
        (b"sex,age\nF,#NULL!\n", '"#NULL!" seems to mean missing'),
        (b"sex,age\nF,1\n", ""),
    ):
        path.write_bytes(content)
        if told is None:
            with pytest.raises(InputError, match="has no value in any column; see that its first line is the header"):
                suggest(path, other=(), missing_values=("",), unit_column=None)
        else:
            advice = suggest(path, other=(), missing_values=("",), unit_column=None).advice
            assert [line[: len(told)] for line in advice] == ([told] if told else [])


@pytest.mark.parametrize("name", ["SUBJID", "USUBJID", "id", "Patient-Nr", "Patientennummer", "patient_id", "mrn"])
def test_names_of_columns_that_say_whom_a_record_belongs_to(name: str) -> None:
    ids = pl.DataFrame({name: [f"p{i // 2}" for i in range(60)], "sex": ["F", "M"] * 30})
    found = suggest(ids, other=(), missing_values=(), unit_column=None)
    assert found.advice
    assert [attribute.name for attribute in found.attributes] == ["sex"]
    assert found.left_out == {name: "it seems to say whom a record belongs to"}
    kept = suggest(ids, other=(), missing_values=(), unit_column=None, keep=(name,))
    assert [attribute.name for attribute in kept.attributes] == [name]


def test_a_unit_is_no_text() -> None:
    unit: Any = "patient"
    with pytest.raises(InputError, match=r'^unit: found a str; give a Unit, such as Unit\("patient"\)$'):
        Schema.draft(pl.DataFrame({"patient": ["a"]}), unit=unit)


def test_whom_a_record_belongs_to_is_suggested() -> None:
    twice = [f"p{i // 2}" for i in range(800)]
    frame = pl.DataFrame({"patient_id": twice, "visit": [f"v{i}" for i in range(800)], "x": ["a", "b"] * 400})
    found = suggest(frame, other=(), missing_values=(), unit_column=None)
    assert found.advice == (
        '"patient_id" seems to say whom a record belongs to, and comes again: then draft with --unit "patient_id"',
    )
    assert suggest(frame, other=(), missing_values=(), unit_column="patient_id").advice == ()
    once = frame.with_columns(pl.Series("patient_id", [f"p{i}" for i in range(800)]))
    assert suggest(once, other=(), missing_values=(), unit_column=None).advice == ()


def test_columns_are_chosen_freely() -> None:
    frame = pl.DataFrame({"a": [1], "b": [2], "c": [3]})
    assert Schema.draft(frame, keep=["c", "a"]).names == ("a", "c")
    assert Schema.draft(frame, drop=["a"]).names == ("b", "c")
    assert Schema.draft(frame, keep=["a", "b"], drop=["a"]).names == ("b",)
    with pytest.raises(InputError, match=r'^keep: "d" is not a column of the data; known: a, b, c'):
        Schema.draft(frame, keep=["d"])
    with pytest.raises(InputError, match=r'^drop: "\*" is not a column'):
        Schema.draft(frame, drop=["*"])
    with pytest.raises(InputError, match="keep at least one column"):
        Schema.draft(frame, drop=["a", "b", "c"])


def test_a_draft_is_the_same_in_one_batch_and_in_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = 3000
    frame = pl.DataFrame(
        {
            "n": [i * 7 % 1000 for i in range(rows)],
            "t": [f"v{i % 250}" for i in range(rows)],
            "d": [dt.date(2020, 1, 1) + dt.timedelta(i % 900) for i in range(rows)],
            "patient": [f"p{i % 1500}" for i in range(rows)],
            "late": [None] * (rows - 1) + ["x"],
        }
    )
    whole = draft_schema(frame, name="t")
    monkeypatch.setattr("panbayes.tables.sources.batch.BATCH_RECORDS", 100)
    assert draft_schema(frame, name="t").text == whole.text
    assert whole.suggestion.advice, "a person's records may lie in different batches"


def test_the_sample_of_many_values_does_not_depend_on_batches() -> None:
    texts = pl.Series([f"v{i}" for i in range(3000)])
    whole, parts = ColumnSummary("x"), ColumnSummary("x")
    whole.add(Column(texts), (), decimal_comma=False)
    for start in range(0, 3000, 100):
        parts.add(Column(texts[start : start + 100]), (), decimal_comma=False)
    assert whole.values == parts.values
    assert (len(whole.values), whole.many, whole.repeats) == (KEPT, True, False)


@settings(max_examples=often(10, 200))
@given(st.floats(-1e9, 1e9), st.floats(1e-3, 1e9))
def test_bins_are_of_one_width_and_cover_the_data(low: float, spread: float) -> None:
    values = [low + spread * i / 300 for i in range(301)]
    if len({f"{v:.15g}" for v in values}) <= 256:
        return
    bins = drafted(pl.DataFrame({"x": values})).attributes[0].bins
    assert bins[0] <= min(values)
    assert bins[-1] >= max(values)
    widths = [b - a for a, b in pairwise(bins)]
    assert max(widths) - min(widths) < 1e-6 * max(widths) + 1e-9 * max(abs(bins[0]), abs(bins[-1]))
    assert BINS / 3 <= len(widths) <= BINS + 2


def test_missing_only_where_missing_other_only_where_asked() -> None:
    frame = pl.DataFrame({"a": ["x", None], "b": ["x", "?"], "c": ["x", "y"], "d": [1.0, float("nan")]})
    plain = drafted(frame)
    assert [a.missing for a in plain.attributes] == ["missing", "missing", None, "missing"]
    assert [a.other for a in plain.attributes] == [None] * 4
    assert [a.other for a in drafted(frame, other=("c",)).attributes] == [None, None, "other", None]
    assert all(a.other for a in drafted(frame, other=("*",)).attributes)


def test_labels_give_way_to_values_of_the_same_name() -> None:
    frame = pl.DataFrame({"a": ["other", "missing", None]})
    attribute = drafted(frame, other=("a",)).attributes[0]
    assert (attribute.other, attribute.missing) == ("(other)", "(missing)")


def test_texts_beyond_256_are_left_out_and_ids_are_pointed_at() -> None:
    frame = pl.DataFrame(
        {"name": [f"p{i}" for i in range(300)], "id": range(300), "x": ["a", "b"] * 150, "none": [None] * 300}
    )
    text = draft_schema(frame, name="t").text
    assert Schema.parse(text).names == ("id", "x")
    assert '# left out: "name" (257 distinct texts or more: an identifier or free text?)' in text
    assert '# left out: "none" (every value is missing)' in text
    assert "an identifier? Then remove it" in text


def test_the_unit_is_not_an_attribute() -> None:
    schema = drafted(pl.DataFrame({"who": ["a", "b"], "x": [1, 2]}), unit=Unit("who", 3))
    assert schema.names == ("x",)
    assert schema.unit == Unit("who", 3)


def test_unknown_columns_are_named() -> None:
    frame = pl.DataFrame({"x": [1]})
    with pytest.raises(InputError, match='--other: "y" is not a column of the data; known: x'):
        draft_schema(frame, name="t", other=("y",))
    with pytest.raises(InputError, match='--unit: "y" is not a column of the data; known: x'):
        draft_schema(frame, name="t", unit=Unit("y"))


def test_the_public_way_to_a_draft(tmp_path: Path) -> None:
    frame = pl.DataFrame({"who": ["a", "b"], "x": [1, None], "y": ["u", "?"]})
    schema = Schema.draft(frame, name="t", other=["x"], unit=Unit("who", 2), missing_values=())
    assert schema == Schema.parse(
        draft_schema(frame, name="t", other=["x"], unit=Unit("who", 2), missing_values=()).text
    )
    assert (schema.status, schema.names, schema.attributes[1].categories) == ("draft", ("x", "y"), ("?", "u"))
    frame.write_csv(tmp_path / "t.csv")
    assert Schema.draft(str(tmp_path / "t.csv")).names == ("who", "x", "y")
    with pytest.raises(InputError, match=r'^other: "z" is not a column of the data; known: who, x, y'):
        Schema.draft(frame, other=["z"])
    with pytest.raises(InputError, match=r'^unit: "whom" is not a column of the data; did you mean "who"'):
        Schema.draft(frame, unit=Unit("whom"))
    with pytest.raises(InputError, match="draft"):
        schema.require_approved()


def test_schemas_alone_load_nothing_that_reads_data() -> None:
    code = "import sys, panbayes.schema.schema; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "panbayes.schema.schema" in loaded
    assert not {"polars", "numpy", "narwhals", "panbayes.tables"} & set(loaded)


@given(st.data())
@settings(max_examples=often(12, 60))
def test_a_table_fits_its_own_draft(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 30))
    kinds = {
        "text": st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=3)),
        "int": st.one_of(st.none(), st.integers(-(2**40), 2**40)),
        "float": st.one_of(st.none(), st.floats(-1e9, 1e9)),
        "bool": st.one_of(st.none(), st.booleans()),
    }
    frame = pl.DataFrame(
        {
            kind: pl.Series(data.draw(st.lists(values, min_size=n, max_size=n)), strict=False)
            for kind, values in kinds.items()
        }
        | {"constant": pl.Series(["x"] * n)}
    )
    schema = drafted(frame)
    fit = check_table(frame, schema)
    assert fit.clean
    assert all(a.outside == 0 for a in fit.attributes)
    Table.read(frame, schema)


def test_a_column_without_a_name_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(",sex\n0,F\n1,M\n")  # as pandas writes a frame with its index
    text = draft_schema(tmp_path / "t.csv", name="t").text
    assert "# left out: a column without a name (row numbers?)" in text
    assert Schema.parse(text).names == ("sex",)


def test_texts_that_say_true_and_false_are_not_drafted_as_numbers() -> None:
    found = suggest(pl.DataFrame({"x": ["True", "False"]}), other=(), missing_values=(), unit_column=None)
    assert found.attributes[0].categories == ("False", "True")


KURU = pl.DataFrame({"disease": ["flu"] * 999 + ["kuru"], "sex": ["F", "M"] * 500})


def test_learning_warns_of_every_attribute_that_nobody_has_checked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "clinic.toml"
    text = draft_schema(KURU, name="t").text.replace('status = "draft"', 'status = "approved"')
    path.write_text(text)
    learn(KURU, path, epsilon=1, simulate=7)
    told = capsys.readouterr().err
    assert told.startswith(f"warning: {path}: 2 of 2 attributes are as a draft read them off the data")
    assert "(disease, sex)" in told
    assert "kuru" not in told
    path.write_text(text.replace('"flu", "kuru"]\ndrafted = true', '"flu"]\nother = true'))
    learn(KURU, path, epsilon=1, simulate=7)
    assert "1 of 2 attributes are as a draft read them off the data, and every model names their values (sex)" in (
        capsys.readouterr().err
    )
    path.write_text(text.replace("drafted = true\n", ""))
    learn(KURU, path, epsilon=1, simulate=7)
    assert capsys.readouterr().err == ""


def test_a_drafts_marks_survive_approval_and_change_no_hash() -> None:
    draft = Schema.draft(KURU)
    assert draft.drafted == ("disease", "sex")
    assert replace(draft, status="approved").drafted == draft.drafted
    assert Schema.parse(dump_schema(draft)).drafted == draft.drafted
    plain = Schema("draft", tuple(replace(one, drafted=None) for one in draft.attributes))
    assert (plain.drafted, plain.hash) == ((), draft.hash)
    assert "drafted" not in dump_schema(plain)
