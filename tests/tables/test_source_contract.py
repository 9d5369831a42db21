"""What every source promises, tried on every source that is found."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import panbayes.tables.sources as folder
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.codes import Codes, code_type
from panbayes.tables.sources.dispatch import convert_frame, frame_kind, read_columns, read_frame, sources, write_frame
from panbayes.tables.sources.source import Source
from panbayes.tables.table import Table
from panbayes.tables.texts import value_text
from tests.effort import often
from tests.tables.databases import PUT
from tests.tables.lakes import as_delta, as_iceberg
from tests.tables.strategies import schemas
from tests.tables.workbooks import Text, workbook

APART = {
    "OMOP": "its rows are made of other tables, and cannot be any that a frame has: tables/omop",
    "services": "nobody can start them here, and what they are told is held by sql/test_golden.py",
}
"""Sources that this suite cannot hold, and why."""

FORMS = [
    pytest.param(source, suffix, id=f"{source.name}{suffix}")
    for source in sources()
    if source.name not in APART
    for suffix in source.suffixes or [""]
]


def _text_cell(value: object) -> Text | None:
    text = value_text(value)
    return None if text is None else Text(text)


def _as_workbook(frame: pl.DataFrame, path: Path) -> Path:
    rows: list[list[object]] = [[Text(name) for name in frame.columns]]
    rows += [[_text_cell(value) for value in row] for row in frame.rows()]
    path.with_suffix(".xlsx").write_bytes(workbook({"first": rows}))
    return path.with_suffix(".xlsx")


def _for_spark(frame: pl.DataFrame, path: Path) -> str:
    """Write files that Spark's workers would read: whoever only reads them needs no Spark."""
    place = Path(tempfile.mkdtemp(dir=path.parent)) / "t.parquet"
    frame.write_parquet(place, row_group_size=3)
    return f"spark:///?path={quote(str(place))}"


EXAMPLES: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    "Arrow stream": lambda frame, _path: frame.to_arrow().to_reader(3),
    "Delta": as_delta,
    "Excel": _as_workbook,
    **PUT,
    "Iceberg": as_iceberg,
    "Spark": _for_spark,
}

every_source = pytest.mark.parametrize(("source", "suffix"), FORMS)


def put(frame: pl.DataFrame, source: Source, suffix: str, path: Path) -> object:
    """Make a file or data frame of this source: what its reader will be given."""
    if source.convert is not None:
        return source.convert(frame)
    if source.name in EXAMPLES:
        return EXAMPLES[source.name](frame, path)
    assert source.write is not None, "a source that cannot be written needs an example here"
    source.write(frame, path.with_suffix(suffix), suffix)
    return path.with_suffix(suffix)


def codes_by(frame: pl.DataFrame, source: Source, suffix: str, schema: Schema) -> Codes:
    with tempfile.TemporaryDirectory() as place:
        return Table.read(put(frame, source, suffix, Path(place) / "t"), schema).codes


SCHEMA = Schema(
    "s",
    (
        Attribute("text", categories=("a", "b c", "7", "ü", '"', "x,y", "l\nm"), other="other", missing="missing"),
        Attribute("whole", bins=(-5, 0, 5, 10), other="other", missing="missing"),
        Attribute("real", categories=(0.5, 1.5, 2), other="other", missing="missing"),
        Attribute("flag", categories=(False, True), missing="missing"),
    ),
)
texts = st.sampled_from(["a", "b c", "7", "ü", '"', "x,y", "l\nm", "z", " a", "\t", "NA", "1e5", "true"]) | st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4
)
cells = {
    "text": st.none() | texts,
    "whole": st.none() | st.integers(-(2**40), 2**40) | st.integers(-6, 11),
    "real": st.none() | st.floats(allow_nan=False) | st.sampled_from([0.5, 1.5, 2.0]),
    "flag": st.none() | st.booleans(),
}
TYPES = {"who": pl.Int64, "text": pl.String, "whole": pl.Int64, "real": pl.Float64, "flag": pl.Boolean}


def frame_of(rows: list[dict[str, object]]) -> pl.DataFrame:
    return pl.DataFrame([{"who": i, **row} for i, row in enumerate(rows)], schema=TYPES)


frames = st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=8)


@every_source
@settings(max_examples=often(2, 12))
@given(rows=frames, data=st.data())
def test_the_codes_are_those_of_the_values_and_no_value_changes_the_code_of_another(
    source: Source, suffix: str, rows: list[dict[str, object]], data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, len(rows) - 1))
    name = data.draw(st.sampled_from(sorted(cells)))
    changed = [dict(one) for one in rows]
    changed[row][name] = data.draw(cells[name])
    before, after = (codes_by(frame_of(given), source, suffix, SCHEMA) for given in (rows, changed))
    np.testing.assert_array_equal(before, Table.read(frame_of(rows), SCHEMA).codes)
    different = np.argwhere(before != after).tolist()
    assert different in ([], [[SCHEMA.names.index(name), row]])


@every_source
@settings(max_examples=often(2, 12))
@given(schema=schemas(), data=st.data())
def test_a_written_table_is_read_back_to_the_same_codes(
    source: Source, suffix: str, schema: Schema, data: st.DataObject
) -> None:
    # NUL is no text in a CSV file. Without markers of missing values: a category may be written as one of them.
    readable = tuple(a for a in schema.attributes if not any("\0" in text for text in (a.name, *a.labels)))
    assume(readable)
    schema = Schema("s", readable, missing_values=())
    size = data.draw(st.integers(1, 6))
    rows = [data.draw(st.lists(st.integers(0, a.size - 1), min_size=size, max_size=size)) for a in schema.attributes]
    table = Table(schema, np.array(rows, dtype=code_type(schema)))
    whole = table.decoded().insert_column(0, pl.Series("number of the record", range(size)))
    np.testing.assert_array_equal(codes_by(whole, source, suffix, schema), table.codes)


@every_source
def test_named_columns_come_in_the_order_asked_for(source: Source, suffix: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": ["1"], "b": ["2"], "c": ["3"]})
    assert read_columns(put(frame, source, suffix, tmp_path / "t"), ["c", "a"], argument="t").rows() == [("3", "1")]
    assert read_frame(put(frame, source, suffix, tmp_path / "t"), argument="t").equals(frame)


SECRET = pl.DataFrame({"who": [1, 2], "text": ["Jane Doe", "secret"], "whole": [4711, 815]})


@every_source
def test_errors_name_the_argument_and_no_value(source: Source, suffix: str, tmp_path: Path) -> None:
    for frame, names, message in (
        (SECRET, ["text", "real"], 'has no column "real", which the schema names'),
        (SECRET, ["x", "y"], 'has no columns "x", "y", which the schema names'),
        (SECRET.clear(), ["text"], "holds no records"),
    ):
        with pytest.raises(InputError) as caught:
            read_columns(put(frame, source, suffix, tmp_path / "t"), names, argument="--holder A")
        assert str(caught.value).startswith(f"--holder A: {message}; ")


@every_source
def test_a_damaged_file_is_an_error_about_the_file(source: Source, suffix: str, tmp_path: Path) -> None:
    path = put(pl.concat([SECRET] * 20), source, suffix, tmp_path / "t")
    if not isinstance(path, Path):
        return
    whole = path.read_bytes()
    damages = [whole[:length] for length in range(0, len(whole), max(1, len(whole) // 60))]
    damages += [whole[: len(whole) // 2] + b'\xff"\x00\x01' + whole[len(whole) // 2 :]]
    complaints = set()
    for damage in damages:
        path.write_bytes(damage)
        try:
            read_columns(path, ["text"], argument="--holder A")
        except InputError as error:
            complaints.add(str(error))
    assert complaints
    for text in complaints:
        assert text.startswith("--holder A: ")
        assert not any(value in text for value in ("Jane", "Doe", "secret", "4711", "815"))


@every_source
def test_a_frame_comes_back_as_what_it_was(source: Source, suffix: str, tmp_path: Path) -> None:
    given = put(SECRET, source, suffix, tmp_path / "t")
    kind = frame_kind(given)
    assert kind == (source.name if source.convert else "polars")
    assert frame_kind(convert_frame(SECRET, kind)) == kind
    taken = [one.name for one in sources() if one.takes(given)]
    assert taken == ([] if isinstance(given, Path | str) else [source.name]), "one source takes it, no other"


@every_source
def test_a_full_disk_is_an_error_about_the_output(source: Source, suffix: str) -> None:
    if source.write is not None:
        with pytest.raises(InputError, match=rf"^--output: t{suffix} cannot be written \(.*\); make room"):
            write_frame(SECRET, Path("/dev/full"), kind=Path(f"t{suffix}"))


def test_an_unknown_kind_of_frame_or_file() -> None:
    with pytest.raises(InputError, match=r'kind: found "panda"; did you mean "pandas"\?'):
        convert_frame(SECRET, "panda")
    with pytest.raises(
        InputError,
        match=r"--output: found t\.doc; give an Arrow \(.*\) or CSV \(\.csv, \.tsv\) or Parquet",
    ):
        write_frame(SECRET, Path("t"), kind=Path("t.doc"))


NEW_SOURCE = """
from panbayes.tables.sources.source import Source, whole
import polars as pl

def read(given, *, argument):
    return pl.read_ndjson(given.path)

def write(frame, path, suffix):
    frame.write_ndjson(path)

LINES = Source("JSON lines", whole(read), suffixes=(".jsonl",), write=write)
"""


@pytest.fixture
def with_a_new_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "json_lines.py").write_text(NEW_SOURCE)
    monkeypatch.setattr(folder, "__path__", [*folder.__path__, str(tmp_path)])
    sources.cache_clear()
    yield
    sys.modules.pop("panbayes.tables.sources.json_lines", None)
    sources.cache_clear()


@pytest.mark.usefixtures("with_a_new_file")
def test_a_new_source_is_one_new_file(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_frame(SECRET, path, kind=path)
    assert read_columns(path, ["whole"], argument="t").rows() == [(4711,), (815,)]
    with pytest.raises(InputError, match=r"CSV \(\.csv, \.tsv\) or .* or JSON lines \(\.jsonl\) or Parquet"):
        read_frame(7, argument="t")
