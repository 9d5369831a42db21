"""Filters on fields: which records count, record by record, the same in every format and as plain Python would say."""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from panbayes.errors import InputError
from panbayes.stream.distinct_counter import DistinctCounter
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.records import Records, as_texts, field_chunks
from panbayes.stream.ids.selection import selected, selected_runs
from panbayes.stream.ids.universes.hashed import HashedUniverse
from panbayes.stream.ids.universes.kind import Saved
from panbayes.stream.ids.where import Condition, Where, parse_where, which
from panbayes.stream.saved_setup import load_setup, save_setup
from panbayes.stream.setup import StreamSetup, configure_hashed
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator

KEY = bytes(range(16))
TEXTS = ("DE", " DE", "DE\u00a0", "de", "DEU", "D", "Ame\u0301lie", "Amélie", "", "  ", 'a"b', "a,b", "x=y", "true")
NUMBERS = ("18", "18.0", "017", "-3", "0.1", "0.10000000000000001", "1e3", "1E+2", "1e-400", "9007199254740993", "0")
ODD = ("1.", ".5", "+18", "18 years", "--1", "nan", "inf", "1e99999999999", "0x12", "1_8", "٣")
VALUES = TEXTS + NUMBERS + ODD
WHERES = (
    "f=DE",
    "f!=DE",
    "f=Amélie",
    "f!=18",
    "f=18",
    "f<18",
    "f<=18",
    "f>18",
    "f>=18",
    "f>0.1",
    "f<=0.1",
    "f>=900719925474099",
    "f<0",
    "f=true",
    "f=x=y",
    'f=a"b',
)


def meets(value: str | None, written: str) -> bool:
    """What a condition means, said in another way."""
    sign = re.search("!=|<=|>=|=|<|>", written)
    assert sign is not None
    bound = written[sign.end() :]
    text = unicodedata.normalize("NFC", value or "").strip()
    if not text:
        return False
    if sign[0] in ("=", "!="):
        return (text == bound) is (sign[0] == "=")
    if not re.fullmatch(r"-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]{1,6})?", text, re.ASCII):
        return False
    number, other = Decimal(text), Decimal(bound)
    return {"<": number < other, "<=": number <= other, ">": number > other, ">=": number >= other}[sign[0]]


def kept(found: Iterator[object], where: Where) -> set[str]:
    ids: set[str] = set()
    for records in found:
        assert isinstance(records, Records)
        arena = Arena()
        for run, names in selected_runs(records, where):
            for block, *values in run.blocks(arena):
                texts = {name: as_texts(value, arena) for name, value in zip(names, values, strict=True)}
                marks = selected(where, texts, block.size, arena)
                assert marks is not None
                ids |= {one for one, mark in zip(spans(as_texts(block, arena)), marks.tolist(), strict=True) if mark}
    return ids - {""}


def spans(texts: Texts) -> list[str]:
    return [
        texts.data[start : start + length].tobytes().decode()
        for start, length in zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)
    ]


@pytest.mark.parametrize("written", WHERES)
def test_a_condition_means_the_same_in_every_format(written: str, tmp_path: Path) -> None:
    rows = [(f"user-{i}", value) for i, value in enumerate(VALUES)]
    expected = {one for one, value in rows if meets(value, written)}
    where = parse_where([written])
    with (tmp_path / "v.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("other", "user", "f"), *(("x", *row) for row in rows)])
    lines = [json.dumps({"f": value, "user": one}, ensure_ascii=i % 2 == 0) for i, (one, value) in enumerate(rows)]
    (tmp_path / "v.ndjson").write_text("\n".join(lines), encoding="utf-8")
    pl.DataFrame(rows, schema=["user", "f"], orient="row").write_parquet(tmp_path / "v.parquet")
    pl.DataFrame(rows, schema=["user", "f"], orient="row").cast({"f": pl.Categorical}).write_parquet(tmp_path / "c.pq")
    for name in ("v.csv", "v.ndjson", "v.parquet", "c.pq"):
        found = kept(batches(str(tmp_path / name), column="user", fields=("f",)), where)
        assert found == expected, name
    assert kept(iter([Records([r[0] for r in rows], {"f": [r[1] for r in rows]})]), where) == expected


@pytest.mark.parametrize("written", WHERES)
def test_values_of_json_are_their_texts(written: str, tmp_path: Path) -> None:
    values = [True, False, None, 18, 18.0, -3, 0.1, 17.5, [18], {"f": 18}, "18", "DE", "D\\E", 9007199254740993, 1e30]
    lines, expected = [], set()
    for i, value in enumerate(values):
        raw = json.dumps(value)
        text = value if isinstance(value, str) else "" if value is None or raw[0] in "[{" else raw
        for one, line in ((f"p{i}", '{"f":%s,"u":"p%d"}'), (f"e{i}", '{"f":%s,"u":"\\u0065%d"}')):
            lines.append(line % (raw, i))
            if meets(text, written):
                expected.add(one)
    lines += ['{"u":"absent"}', '{"u":"twice","f":"DE","f":18}', "{broken", '{"f":"DE"}', '{"u":true,"f":"DE"}']
    if meets("18", written):
        expected.add("twice")
    (tmp_path / "v.ndjson").write_text("\n".join(lines), encoding="utf-8")
    assert kept(batches(str(tmp_path / "v.ndjson"), column="u", fields=("f",)), parse_where([written])) == expected


def test_typed_columns_of_parquet(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "user": [1, 2, 3, 4],
            "int": [18, -1, None, 7],
            "float": [18.0, 0.5, None, float("nan")],
            "bool": [True, False, None, True],
            "day": pl.Series(["2026-01-01", "2026-01-02", None, "2026-01-01"]).str.to_date(),
            "bytes": [b"DE", b"\xff", None, b"FR"],
        }
    )
    frame.write_parquet(tmp_path / "v.parquet")
    for written, expected in {
        "int=18": {"1"},
        "int<10": {"2", "4"},
        "float=18": {"1"},
        "float>0.4": {"1", "2"},
        "float!=18": {"2"},
        "bool=true": {"1", "4"},
        "bool!=true": {"2"},
        "day=2026-01-01": {"1", "4"},
        "bytes=DE": {"1"},
        "bytes!=DE": {"2", "4"},
    }.items():
        where = parse_where([written])
        found = kept(batches(str(tmp_path / "v.parquet"), column="user", fields=(where[0].field,)), where)
        assert found == expected, written
        column = {where[0].field: frame[where[0].field].to_list()}
        if not written.startswith(("day", "bytes")):
            assert kept(iter([Records(frame["user"], column)]), where) == expected, written
    pl.DataFrame({"user": [1], "list": [[1]]}).write_parquet(tmp_path / "l.parquet")
    with pytest.raises(InputError, match=r"'list' is of type List"):
        list(batches(str(tmp_path / "l.parquet"), column="user", fields=("list",)))


def test_all_conditions_must_hold_and_numbers_are_random(tmp_path: Path) -> None:
    draw = np.random.default_rng(5)
    numbers = [f"{draw.uniform(-20, 20):.{draw.integers(6)}f}" for _ in range(3000)]
    rows = [(str(i), "DE" if draw.random() < 0.5 else "FR", number) for i, number in enumerate(numbers)]
    pl.DataFrame(rows, schema=["u", "c", "n"], orient="row").write_csv(tmp_path / "v.csv")
    where = parse_where(["c=DE", "n>-7.5", "n<=11.25"])
    expected = {one for one, c, n in rows if c == "DE" and Decimal("-7.5") < Decimal(n) <= Decimal("11.25")}
    assert 600 < len(expected) < 750
    assert kept(batches(str(tmp_path / "v.csv"), column="u", fields=("c", "n")), where) == expected


def test_the_id_may_be_a_field_too(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text('user\nann\n"bo ""b"""\nroot\n', encoding="utf-8")
    (tmp_path / "v.ndjson").write_text('{"user":"ann"}\n{"user":"bo \\"b\\""}\n{"user":"root"}\n', encoding="utf-8")
    for name in ("v.csv", "v.ndjson"):
        found = batches(str(tmp_path / name), column="user", fields=("user",))
        assert kept(found, parse_where(["user!=root"])) == {"ann", 'bo "b"'}


def test_numbered_columns(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("ann,DE\nbob,FR\n", encoding="utf-8")
    assert kept(batches(str(tmp_path / "v.csv"), column="1", fields=("2",)), parse_where(["2=FR"])) == {"bob"}


@pytest.mark.parametrize(
    ("name", "column", "field", "match"),
    [
        ("v.csv", "user", "land", "first line does not name 'land' exactly once"),
        ("v.csv", "user", "twice", "first line does not name 'twice' exactly once"),
        ("v.csv", "1", "country", "found a number, and filter or groups look at 'country'"),
        ("v.parquet", "user", "land", "no column 'land'"),
        ("v.txt", None, "land", "text lines have no field 'land'"),
        ("v.ndjson", None, "land", "name the field"),
    ],
)
def test_what_no_file_of_this_kind_can_answer(
    name: str, column: str | None, field: str, match: str, tmp_path: Path
) -> None:
    (tmp_path / "v.csv").write_text("user,country,twice,twice\nann,secret-land,1,2\n", encoding="utf-8")
    (tmp_path / "v.txt").write_text("secret-land\n", encoding="utf-8")
    (tmp_path / "v.ndjson").write_text('{"land":"secret-land"}\n', encoding="utf-8")
    pl.DataFrame({"user": ["ann"], "country": ["secret-land"]}).write_parquet(tmp_path / "v.parquet")
    with pytest.raises(InputError, match=match) as refused:
        list(batches(str(tmp_path / name), column=column, fields=(field,)))
    assert "secret-land" not in str(refused.value)


@pytest.mark.parametrize(
    ("written", "match"),
    [
        ("kind==buy", "no value begins with one"),
        ("price=>10", "no value begins with one"),
        ("price=<10", "no value begins with one"),
        ("country", "write FIELD=VALUE"),
        ("=DE", "write FIELD=VALUE"),
        ("country=", "name a field and a value"),
        (" = ", "name a field and a value"),
        ("a=" + "x" * 101, "1 to 100 printable"),
        ("a=\x1b[2J", "1 to 100 printable"),
        ("age>=old", "compare with a number"),
        ("age>=1e3", "compare with a number"),
        ("age<1234567890.123456", "at most 15 digits"),
    ],
)
def test_conditions_that_cannot_be(written: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        parse_where([written])


def test_too_many_conditions() -> None:
    with pytest.raises(InputError, match="16 at most"):
        parse_where(["a=1"] * 17)


def setup_where(*written: str) -> StreamSetup:
    plain = configure_hashed(HashedUniverse(1, 6400, 6400, KEY), epsilon=1)
    return StreamSetup(plain.universe, plain.calibration, plain.statistic, where=parse_where(written))


def test_a_state_keeps_its_filter() -> None:
    setup = setup_where("country = DE", "age>=18")
    saved = save_setup(setup)
    assert saved.header.endswith(b',"where":[["country","=","DE"],["age",">=","18"]]}')
    assert load_setup(saved) == setup
    assert "where country=DE and age>=18;" in repr(setup)
    assert setup.fields == ("country", "age")


@pytest.mark.parametrize(
    "written",
    [
        '["country","~","DE"]',
        '["country",">","DE"]',
        '["","=","DE"]',
        '["country","="," DE"]',
        '["a=b","=","DE"]',
        '["country","=",""]',
        '["country","="]',
        ",".join(['["a","=","1"]'] * 17),
    ],
)
def test_a_header_with_another_filter_is_refused(written: str) -> None:
    saved = save_setup(setup_where("country=DE"))
    header = saved.header.replace(b'["country","=","DE"]', written.encode())
    assert header != saved.header
    with pytest.raises(ValueError, match=r"condition|form|number|sign|Expected"):
        load_setup(Saved(header))


def test_only_what_meets_it_is_counted_and_bare_ids_are_refused(tmp_path: Path) -> None:
    plain = configure_hashed(HashedUniverse(1, 6400, 6400, KEY), epsilon=200)
    setup = StreamSetup(plain.universe, plain.calibration, plain.statistic, where=parse_where(["country=DE"]))
    with StreamEstimator[Answer].start(tmp_path / "s", setup) as estimator:
        ids = np.arange(4000)
        estimator.update(Records(ids, {"country": np.where(ids < 1000, "DE", "FR").tolist()}))
        with pytest.raises(InputError, match="looks at country, and ids alone do not say"):
            estimator.update([1])
        with pytest.raises(InputError, match="looks at country, and ids alone do not say"):
            estimator.add(1)
        with pytest.raises(InputError, match="different lengths"):
            estimator.update(Records(ids, {"country": ["DE"]}))
        with pytest.raises(InputError, match="different lengths"):
            estimator.update(Records(ids[:1], {"country": ["DE", "DE"]}))
        with pytest.raises(InputError, match="there is no 'country'"):
            estimator.update(Records(ids, {"land": ["DE"] * 4000}))
    with DistinctCounter.open(tmp_path / "s") as counter:
        assert counter.estimate().users == pytest.approx(1000, abs=200)


def test_values_and_what_they_are() -> None:
    arena = Arena()
    assert which(Texts.of(["b", " a ", "", "c"]), ("a", "b"), arena).tolist() == [1, 0, -1, -1]
    for column, wanted in (
        ([1, 2.5, 3.0, True, None, "x", b"y", [1]], ["1", "2.5", "3", "true", "", "x", "y", ""]),
        (np.array([3, -4, -(1 << 63)]), ["3", "-4", str(-(1 << 63))]),
        (np.array([0, (1 << 64) - 1], dtype=np.uint64), ["0", str((1 << 64) - 1)]),
    ):
        (chunk,) = field_chunks(column)
        assert spans(as_texts(chunk.block(0, chunk.size, arena), arena)) == wanted
    with pytest.raises(InputError, match="a str"):
        list(field_chunks("DE"))
    assert selected((), {}, 0, arena) is None
    with pytest.raises(ValueError, match="a field, a sign and a value"):
        Condition("a", "=", "")


def test_long_numbers_and_exponents_compare_as_their_decimals_do() -> None:
    rng = np.random.default_rng(5)
    bounds = ["0", "1", "-1", "0.05", "-0.05", "12.5", "100", "123456789012345", "-99.99", "0.00000000000001"]
    pieces = ["0", "00", "5", "05", "1", "12", "125", "99", "123456789012345", "000000000000000000", "9" * 20]
    exponents = ["", "0", "1", "2", "17", "000001", "9999999"]
    written = [
        f"{rng.choice(['', '-'])}{rng.choice(pieces)}{rng.choice(['', '.'])}{rng.choice(['', *pieces])}"
        f"{rng.choice(['', 'e', 'E'])}{rng.choice(['', '-', '+'])}{rng.choice(exponents)}"
        for _ in range(3_000)
    ]
    written += [bound + zeros for bound in bounds for zeros in ("", ".0", ".000000000000000000000", "e0", "0e-1")]
    for bound in bounds:
        for sign in ("<", "<=", ">", ">="):
            marks = np.ones(len(written), dtype=np.bool_)
            Condition("f", sign, bound).keep(Texts.of(written), marks, Arena())
            assert marks.tolist() == [meets(one, f"f{sign}{bound}") for one in written]
