"""Feature files: what they say is read strictly, means one thing, and gives one schema."""

from __future__ import annotations

import pytest

from panbayes.errors import InputError
from panbayes.schema.omop.features import FEATURE_FILE, ConceptSet, Features, dump_features
from panbayes.schema.schema import Schema, Unit, dump_schema

EXAMPLE = FEATURE_FILE.example
HASH = "43fc6d40b5616d33fa787b7127fb21dd51a4bc2d3bcdaae16b4847602e7ddc97"


def parse(text: str = EXAMPLE) -> Features:
    return Features.parse(text, source="features.toml")


def test_writing_and_reading_gives_the_same() -> None:
    features = parse()
    assert parse(dump_features(features, header=["a", "b"])) == features
    every = parse(
        EXAMPLE.replace('index = "first-ever"', 'index = "first"').replace("prior_days = 365", "alive = true")
        + '[[features]]\nname = "smokes"\nkind = "latest"\ntable = "observation"\nconcepts = "insulin"\n'
        'window = [-9, 9]\ngroups = {"a \\"b\\"" = [3, 1], c = 2}\n'
        '[[features]]\nname = "dead"\nkind = "died"\nwindow = [0, 30]\n'
    )
    assert parse(dump_features(every)) == every
    assert every.features[-2].groups == (('a "b"', (1, 3)), ("c", (2,)))


def test_the_hash_never_moves_and_is_of_what_was_meant() -> None:
    assert parse().hash == HASH
    same = (
        EXAMPLE.replace("[201254, 201826]", "[201826, 201254, 201826]")
        .replace('status = "approved"', 'status = "draft"')
        .replace("{female = 8532, male = 8507}", '{"female" = [8532], male = 8507}')
    )
    assert parse(f"# a comment\n{same}").hash == HASH
    for old, new in (
        ("prior_days = 365", "prior_days = 364"),
        ("[-365, 0]", "[-364, 0]"),
        ("201254, ", ""),
        ("8554", "8555"),
        ("{female = 8532, male = 8507}", "{male = 8507, female = 8532}"),
    ):
        assert parse(EXAMPLE.replace(old, new, 1)).hash != HASH, old


def test_the_schema_follows_from_the_features() -> None:
    schema = parse().schema
    assert (schema.status, schema.unit, schema.features, schema.drafted) == ("approved", Unit("person_id", 1), HASH, ())
    assert [(one.name, one.labels) for one in schema.attributes] == [
        ("sex", ("female", "male", "other", "missing")),
        ("age", ("[18, 45)", "[45, 65)", "[65, 120]")),
        ("insulin", ("no", "yes")),
        ("a1c", ("[3, 5.7)", "[5.7, 6.5)", "[6.5, 8)", "[8, 20]", "missing")),
    ]
    assert Schema.parse(dump_schema(schema)) == schema
    # Without an age to belong, there may be none.
    without = parse(EXAMPLE.replace("age = [18, 120]\n", "")).schema
    assert without.attributes[1].labels[-1] == "missing"
    assert parse(EXAMPLE.replace('status = "approved"', 'status = "draft"')).schema.status == "draft"


def test_a_schema_names_features_by_their_hash() -> None:
    text = dump_schema(parse().schema)
    with pytest.raises(InputError, match=r"features: found \"features.toml\"; give the hash"):
        Schema.parse(text.replace(HASH, "features.toml"))


def test_sets_that_are_not_lists_make_no_records() -> None:
    features = parse(EXAMPLE.replace("[1596977]", "[1596977]\ndescendants = true"))
    with pytest.raises(InputError, match=r'concept set "insulin" has descendants = true.*panbayes omop expand'):
        assert features.schema


def test_a_set_has_what_is_listed_less_what_is_left_out() -> None:
    assert ConceptSet("s", (5, 3, 5, 4), (4,)).ids == (3, 5)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[201254, 201826]", "[]", "concept_sets[1].concepts: found an empty list"),
        ("[201254, 201826]", "[0]", "concepts: found 0; give concept ids, from 1"),
        ("[201254, 201826]", '["201826"]', "concepts: found '201826' in the list"),
        ("[201254, 201826]", "[2147483648]", "found 2147483648"),
        ("[201254, 201826]", "[1]\nwithout = [1]", "found no concept that is not left out"),
        ('name = "insulin"\nkind', 'name = "SEX"\nkind', 'found "SEX" twice, apart from case'),
        ('name = "insulin"\nconcepts', 'name = "Diabetes"\nconcepts', 'found "Diabetes" twice'),
        ('name = "sex"', 'name = "PERSON_ID"', "whom a row belongs to"),
        ('name = "sex"', f'name = "{"é" * 32}"', "at most 63 bytes"),
        ("window = [-365, 0]", "window = [0, -365]", "window: found [0, -365]; give the earlier day first"),
        ("window = [-365, 0]", "window = [-36526, 0]", "at most 36525 days"),
        ("window = [-365, 0]", "window = [-365]", "two numbers of days"),
        ("window = [-365, 0]", "windows = [-365, 0]", 'windows: is not a known key; did you mean "window"?'),
        ("window = [-365, 0]", "", 'window: is missing, and kind "any" needs it'),
        ('concepts = "insulin"\n', 'concepts = "insuline"\n', 'found concepts "insuline" in feature "insulin"'),
        ('concepts = "diabetes"\n', 'concepts = "diabetis"\n', 'cohort.concepts: found concepts "diabetis"'),
        ('kind = "any"', 'kind = "some"', 'kind: found "some"; give "any" or'),
        ('kind = "any"', 'kind = "any"\nbins = [0, 1]', 'bins: is given, and kind "any" has none'),
        ("units = [8554]\n", "", 'units: is missing, and kind "latest" needs it'),
        ("units = [8554]\n", "units = [-1]", "units: found -1; give concept ids, from 0"),
        ('"measurement"', '"drug_exposure"', 'table: found "drug_exposure", which has no values'),
        ('"measurement"', '"concept"', 'table: found "concept"'),
        ("bins = [18, 45, 65, 120]", "bins = [18, 18]", "bins: found edges out of order"),
        ("{female = 8532, male = 8507}", "{female = 8507, male = 8507}", "groups: found concept 8507 twice"),
        ("{female = 8532, male = 8507}", "{other = 8507}", "leave them out: every feature has them"),
        ("{female = 8532, male = 8507}", "{female = true}", "groups.female: found a boolean"),
        ("{female = 8532, male = 8507}", "{}", "groups: found no group"),
        ("{female = 8532, male = 8507}", "{female = 0}", "groups: found 0"),
        ('index = "first-ever"', 'index = "last"', 'index: found "last"'),
        ('index = "first-ever"', 'index = "date"', "cohort.date: is missing"),
        ('index = "first-ever"', 'index = "first"\ndate = "2020-01-01"', 'is given beside index = "first"'),
        ('table = "condition_occurrence"\n', "", "cohort.table: is missing"),
        ('concepts = "diabetes"\n', "", "cohort.concepts: is missing"),
        ('["2015-01-01", "2024-12-31"]', '["2024-12-31", "2015-01-01"]', "give the earlier day first"),
        ('["2015-01-01", "2024-12-31"]', '["1815-01-01", "2024-12-31"]', "found 1815-01-01, beyond 1900-01-01"),
        ('["2015-01-01", "2024-12-31"]', '["2015-01-01"]', "give two dates"),
        ('["2015-01-01", "2024-12-31"]', '["soon", "later"]', "give two dates"),
        ("age = [18, 120]", "age = [120, 18]", "cohort.age: found [120, 18]"),
        ("prior_days = 365", "prior_days = -1", "cohort.prior_days: found -1"),
        ("version = 1", "version = 2", "this panbayes reads version 1"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(old: str, new: str, said: str) -> None:
    assert old in EXAMPLE
    with pytest.raises(InputError) as caught:
        parse(EXAMPLE.replace(old, new, 1))
    assert said in str(caught.value)
    assert str(caught.value).startswith("features.toml, ")


def test_a_fixed_date_needs_no_records() -> None:
    head = 'version = 1\nname = "all"\nstatus = "approved"\n[cohort]\nindex = "date"\ndate = 2024-01-01\n'
    tail = '[[features]]\nname = "age"\nkind = "age"\nbins = [0, 50, 100]\n'
    assert parse(head + tail).cohort.date == "2024-01-01"
    with pytest.raises(InputError, match=r'between: is given beside index = "date"'):
        parse(f'{head}between = ["2020-01-01", "2020-02-01"]\n{tail}')
