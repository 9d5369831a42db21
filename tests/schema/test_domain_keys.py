"""The keys that declare a domain in a schema file: what they mean, what is hashed, what is written back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, dump_schema

HEAD = 'version = 1\nname = "t"\nstatus = "approved"\n[[attributes]]\nname = "x"\n'


def attribute(keys: str) -> Attribute:
    return Schema.parse(HEAD + keys).attributes[0]


@pytest.mark.parametrize(
    ("written", "edges"),
    [
        ("{from = 0, to = 120, width = 40}", (0, 40, 80, 120)),
        ("{from = 0, to = 1, width = 0.1}", tuple(k / 10 for k in range(11))),
        ("{from = -1.5, to = 1.5, parts = 3}", (-1.5, -0.5, 0.5, 1.5)),
        ("{from = 0, to = 10, parts = 4}", (0.0, 2.5, 5.0, 7.5, 10.0)),
        ("{from = 10, to = 70, mean = 26.7, sd = 5.2, parts = 4}", (10.0, 23.19, 26.7, 30.21, 70.0)),
        ("{from = 0, to = 9, mean = 5, sd = 100, parts = 1}", (0.0, 9.0)),
        ("{from = 0.0, to = 10, parts = 2}", (0.0, 5.0, 10.0)),
    ],
)
def test_bins_may_be_reckoned(written: str, edges: tuple[float, ...]) -> None:
    found = Schema.parse(f"{HEAD}bins = {written}\n")
    assert found.attributes[0].bins == edges
    listed = Schema("t", (Attribute("x", bins=edges),))
    assert found.hash == listed.hash, "edges are hashed, however they were written"
    assert Schema.parse(dump_schema(found)) == found


def test_quantiles_are_those_of_the_law() -> None:
    edges = attribute("bins = {from = 0, to = 200, mean = 100, sd = 15, parts = 10}").bins
    law = NormalDist(100, 15)
    shares = [law.cdf(edge) for edge in edges[1:-1]]
    assert shares == pytest.approx([k / 10 for k in range(1, 10)], abs=1e-3)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ("bins = {from = 0, to = 100, width = 15}", "line 6, attributes[1].bins: found a table"),
        ("bins = {from = 0, to = 100, width = 0}", "makes no whole number of bins"),
        ("bins = {from = 0, to = 100, width = -10}", "makes no whole number of bins"),
        ("bins = {from = 0, to = 100, parts = 0}", "makes no whole number of bins"),
        ("bins = {from = 0, to = 100, parts = 70000}", "makes no whole number of bins"),
        ("bins = {from = 0, to = 100, parts = 2.5}", "makes no whole number of bins"),
        ("bins = {from = 5, to = 5, parts = 2}", "from that is not below to"),
        ("bins = {from = 0, to = 100}", "found a table"),
        ("bins = {from = 0, to = inf, parts = 2}", "found a table"),
        ("bins = {from = 0, to = nan, parts = 2}", "found a table"),
        ("bins = {from = 0, to = true, parts = 2}", "found a table"),
        ("bins = {from = 0, to = 100, mean = 500, sd = 1, parts = 3}", "leave the range"),
        ("bins = {from = 0, to = 100, mean = 50, sd = 0, parts = 3}", "sd that is not above 0"),
        ('bins = "0-100"', "found a text"),
        ("bins = [0, true]", "found True in the list"),
        ('period = "month"', "attributes[1].between: found 0 bounds; give the first and the last month"),
        ('period = "moon"', 'period: found "moon"; give "year" or'),
        ('period = "month"\nbetween = ["2020-01"]', "between: found a list"),
        ('period = "month"\nbetween = ["2020-01", "x"]', 'line 7, attributes[1].between: found "x"'),
        ('period = "hour"\nformat = "%d.%m.%Y"', 'format: "%d.%m.%Y" has no %H or %I'),
        ('period = "weekday"\nbins = [0, 1]', "found both bins and period"),
        ('age_at = "2026-01-01"', "found neither categories nor bins"),
        ('age_at = "2026-01-01"\ncategories = ["a"]', "age_at: found no bins"),
        ('age_at = "01/02/2026"\nbins = [0, 1]', 'age_at: found "01/02/2026"'),
        ('age_at = "2026-01-01"\nbins = [0, 0.5]', "bins: found an edge that is no age"),
        ('between = ["2020", "2021"]\nbins = [0, 1]', "between: found no period"),
        ('format = "%d"\nbins = [0, 1]', "format: found neither a period nor age_at"),
        ('mapping = "icd11"', 'mapping: found "icd11"; give one of atc-groups'),
        ('mapping = "groups.csv"', "only a schema that is a file itself can name one"),
        ("mapping = []", "mapping: found 0 rows"),
        ("mapping = 3", "mapping: found an integer"),
        ('mapping = [{group = "a"}]', "mapping: found a row of"),
        ('mapping = "icd9-chapters"\nother = "001-139 infections"', 'found the value "001-139 infections" twice'),
        ('period = "weekday"\nimpute = "Someday"', "impute: found 'Someday'"),
    ],
)
def test_errors_name_the_key(keys: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        attribute(keys)
    assert message in str(caught.value)


def test_one_meaning_has_one_hash() -> None:
    ways = [
        'period = "month"\nbetween = ["2020-01", "2021-12"]',
        'period = "month"\nbetween = ["2020-01-31", "2021-12-01"]',
        'period = "month"\nbetween = [2020-01-01, 2021-12-31T23:59:59]',
    ]
    schemas = [Schema.parse(HEAD + way) for way in ways]
    assert len({schema.hash for schema in schemas}) == 1
    assert schemas[0] == schemas[1] == schemas[2]
    assert schemas[0].attributes[0] == Attribute("x", period="month", between=("2020-01", "2021-12"))
    years = [Schema.parse(f'{HEAD}period = "year"\nbetween = {way}') for way in ("[2019, 2020]", '["2019", "2020-06"]')]
    assert years[0].hash == years[1].hash
    ages = [Schema.parse(f"{HEAD}age_at = {way}\nbins = [0, 9]") for way in ("2026-01-01", '"2026-01-01"')]
    assert ages[0].hash == ages[1].hash


KINDS = [
    Attribute("x", period="quarter", between=("2020-Q1", "2021-Q4"), missing="missing"),
    Attribute("x", period="weekday", other="other", format="%d.%m.%Y"),
    Attribute("x", age_at="2026-01-01", bins=(0, 18, 120), impute="2000-01-01"),
    Attribute("x", mapping="icd10-chapters", other="other"),
]


@pytest.mark.parametrize("kind", KINDS, ids=["quarter", "weekday", "age", "mapping"])
def test_every_kind_is_written_and_read_back(kind: Attribute) -> None:
    schema = Schema("t", (kind,))
    text = dump_schema(schema)
    again = Schema.parse(text)
    assert (again, again.hash) == (schema, schema.hash)
    assert repr(kind).startswith("Attribute('x', ")


def test_every_key_of_a_domain_is_hashed() -> None:
    changed = [
        replace(KINDS[0], period="month", between=("2020-01", "2021-12")),
        replace(KINDS[0], between=("2020-Q1", "2021-Q3")),
        replace(KINDS[1], format="%m/%d/%Y"),
        replace(KINDS[2], age_at="2026-01-02"),
        replace(KINDS[2], age_at=None, impute=20),
        replace(KINDS[3], mapping="icd9-chapters"),
    ]
    hashes = [Schema("t", (one,)).hash for one in (*KINDS, *changed)]
    assert len(set(hashes)) == len(hashes)


def test_a_mapping_travels_with_its_schema_not_its_path(tmp_path: Path) -> None:
    (tmp_path / "groups.csv").write_text('prefix,group\n250,sugar\n4,"he""art"\n')
    (tmp_path / "s.toml").write_text(HEAD + 'mapping = "groups.csv"\n')
    schema = Schema.load(tmp_path / "s.toml")
    assert schema.attributes[0].labels == ("sugar", 'he"art')
    text = dump_schema(schema)
    assert "groups.csv" not in text
    (tmp_path / "groups.csv").write_text("prefix,group\n250,sugar\n")
    assert Schema.parse(text) == schema
    assert Schema.load(tmp_path / "s.toml").hash != schema.hash
    assert "icd10-chapters" in dump_schema(Schema("t", (KINDS[3],))), "a list of panbayes is written by its name"
    folder = tmp_path / "below"
    folder.mkdir()
    elsewhere = "put the file beside the schema file"
    for name, message in (
        ("../groups.csv", elsewhere),
        (f"{tmp_path}/groups.csv", elsewhere),
        ("a\\\\b.csv", elsewhere),
        ("none.csv", "is no file"),
    ):
        (folder / "s.toml").write_text(f'{HEAD}mapping = "{name}"\n')
        with pytest.raises(InputError) as caught:
            Schema.load(folder / "s.toml")
        assert "s.toml, line 6, attributes[1].mapping: " in str(caught.value)
        assert message in str(caught.value)


def test_questions_take_raw_values() -> None:
    assert Attribute("d", mapping="icd9-chapters").code_of("250.01") == 2
    assert Attribute("d", mapping="icd9-chapters").code_of(250.01) == 2
    assert KINDS[0].code_of("2020-05-17") == 1
    assert KINDS[0].code_of("2020-Q2") == 1
    assert KINDS[0].code_of("2025-01-01") is None
    assert KINDS[2].code_of("2000-06-01") == 1
    assert KINDS[2].code_of("[18, 120]") == 1
    assert Attribute("x", categories=("a", " b")).code_of("b ") == 1
    assert [kind.ordered for kind in KINDS] == [True, True, True, False]
    assert KINDS[2].numbers == (9.0, 69.0)
