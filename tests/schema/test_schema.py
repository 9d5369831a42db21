from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.domains import Scalar, label_text
from panbayes.schema.schema import Schema, Unit, dump_schema
from tests.tables.strategies import attributes, schemas

GOOD = """\
version = 1
name = "clinic"
status = "approved"

[[attributes]]
name = "age"
bins = [0, 40, 65, 120]
missing = true

[[attributes]]
name = "insulin"
categories = ["No", "Steady", "Up", "Down"]
other = "elsewhere"
impute = "No"
"""


def test_a_good_schema() -> None:
    schema = Schema.parse(GOOD)
    assert schema.names == ("age", "insulin")
    assert schema.sizes == (4, 5)
    assert schema.attributes[0].labels == ("[0, 40)", "[40, 65)", "[65, 120]", "missing")
    assert schema.attributes[1].labels == ("No", "Steady", "Up", "Down", "elsewhere")
    schema.require_approved()


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("version = 1", "version = 4", 1, "version: found 4; this panbayes reads version 1"),
        ("version = 1", "version = true", 1, "version: found a boolean"),
        ('status = "approved"', 'status = "signed"', 3, 'status: found "signed"; give "draft" or "approved"'),
        ('name = "clinic"', "name = 3", 2, "name: found an integer"),
        ('name = "clinic"', 'name = " "', 2, "name: found an empty text"),
        ("bins = [0, 40, 65, 120]", "bins = [0, 65, 40]", 7, "attributes[1].bins: found edges out of order"),
        ("bins = [0, 40, 65, 120]", "bins = [0]", 7, "attributes[1].bins: found 1 edge"),
        ("bins = [0, 40, 65, 120]", "bins = [0, inf]", 7, "attributes[1].bins: found an edge that is not a finite"),
        ("bins = [0, 40, 65, 120]", 'bins = ["a", "b"]', 7, "attributes[1].bins: found 'a' in the list"),
        ("bins = [0, 40, 65, 120]", "bins = []", 7, "attributes[1].bins: found an empty list"),
        ("bins = [0, 40, 65, 120]", "bin = [0, 40]", 7, 'attributes[1].bin: is not a known key; did you mean "bins"?'),
        ("bins = [0, 40, 65, 120]", "", 5, "attributes[1]: found neither categories nor bins"),
        ('categories = ["No", ', 'categories = ["No", "No", ', 12, 'found the value "No" twice'),
        ('categories = ["No", ', 'categories = ["No", 1, ', 12, "mixed; quote them all as texts"),
        ('"Down"]', '"elsewhere"]', 12, 'found the value "elsewhere" twice'),
        ('impute = "No"', 'impute = "Never"', 14, "attributes[2].impute: found 'Never'; give a value inside"),
        ("missing = true", "missing = 1", 8, "attributes[1].missing: found 1; give true, false or a label"),
        ('name = "insulin"', 'name = "age"', None, 'found "age" twice'),
        ("[[attributes]]", "[attributes]", None, ""),
        (
            "bins = [0, 40, 65, 120]",
            f"bins = [0, {10**400}]",
            7,
            "attributes[1].bins[2]: found an integer beyond 64 bits",
        ),
        ("bins = [0, 40, 65, 120]", f"bins = [0, {'9' * 5000}]", None, "is not valid TOML"),
        ("version = 1", f"version = {2**63}", 1, "version: found an integer beyond 64 bits"),
    ],
)
def test_errors_name_the_file_the_line_and_the_key(old: str, new: str, line: int | None, message: str) -> None:
    text = GOOD.replace(old, new)
    assert text != GOOD
    with pytest.raises(InputError) as caught:
        Schema.parse(text, source="clinic.toml")
    shown = str(caught.value)
    assert shown.startswith("clinic.toml")
    assert message in shown
    assert "\n" not in shown
    if line is not None:
        assert f"line {line}," in shown


@pytest.mark.parametrize(
    "domain",
    [
        {"categories": (1, 10**400)},
        {"bins": (0, 10**400)},
        {"bins": (0, 1), "impute": 10**400},
        {"categories": (1, float("nan"))},
    ],
)
def test_numbers_that_no_float_holds(domain: dict[str, Any]) -> None:
    with pytest.raises(InputError, match='attribute "age"'):
        Attribute("age", **domain)


@pytest.mark.parametrize("key", ["version", "name", "status", "attributes"])
def test_required_keys(key: str) -> None:
    text = re.sub(rf"^{key} = .*$", "", GOOD, count=1, flags=re.MULTILINE)
    if key == "attributes":
        text = "\n".join(GOOD.splitlines()[:3])
    with pytest.raises(InputError, match=f"{key}: is missing; add {key} = "):
        Schema.parse(text, source="clinic.toml")


def test_toml_errors_keep_their_line() -> None:
    with pytest.raises(InputError, match=r"clinic.toml: is not valid TOML: .*line 4"):
        Schema.parse("version = 1\n\n\nname = \n", source="clinic.toml")


def test_unit() -> None:
    text = GOOD.replace(
        '\n[[attributes]]\nname = "age"',
        '\n[unit]\ncolumn = "patient"\nmax_records = 3\n\n[[attributes]]\nname = "age"',
    )
    assert Schema.parse(text).unit == Unit("patient", 3)
    with pytest.raises(InputError, match=r"line 7, unit\.max_records: found 0"):
        Schema.parse(text.replace("max_records = 3", "max_records = 0"))
    with pytest.raises(InputError, match=r"unit\.column: \"age\" is also an attribute"):
        Schema.parse(text.replace('"patient"', '"age"'))


def test_a_draft_is_refused_until_a_person_approves_it() -> None:
    draft = Schema.parse(GOOD.replace("approved", "draft"), source="clinic.toml")
    with pytest.raises(InputError, match=r'clinic\.toml: is a draft .* set status = "approved"'):
        draft.require_approved()


@pytest.mark.parametrize("content", [b"\x00\xff\xfe", b"[" * 100_000, b"\x89PNG\r\n"])
def test_files_that_are_no_schema(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "schema.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"schema\.toml"):
        Schema.load(path)
    with pytest.raises(InputError, match="cannot be read"):
        Schema.load(tmp_path / "absent.toml")
    with pytest.raises(InputError, match="directory"):
        Schema.load(tmp_path)
    with pytest.raises(InputError, match="has more than 4,000,000 bytes"):
        Schema.load("/dev/zero")  # it has no end


@given(schemas())
def test_dump_and_parse_give_the_same_schema(schema: Schema) -> None:
    again = Schema.parse(dump_schema(schema, header=["a", ""], remarks={schema.names[0]: "b"}, footer=["c"]))
    assert again == schema
    assert again.hash == schema.hash


def test_the_hash_is_stable_and_covers_what_holders_must_share() -> None:
    schema = Schema.parse(GOOD)
    assert schema.hash == "43a9e2df2efb36973dd23daf6c5c7fc71cef330902020c61cfb72d06dbc3b81d"
    assert Schema.parse("# a comment\n" + GOOD.replace("approved", "draft")).hash == schema.hash
    for old, new in [("40", "41"), ("Steady", "steady"), ("elsewhere", "there"), ('impute = "No"', 'impute = "Up"')]:
        assert Schema.parse(GOOD.replace(old, new)).hash != schema.hash


@given(attributes())
def test_every_label_has_its_own_code(attribute: Attribute) -> None:
    assert [attribute.code_of(label) for label in attribute.labels] == list(range(attribute.size))
    assert 0 <= attribute.missing_code < attribute.size
    assert 0 <= attribute.outside_code < attribute.size


@given(st.one_of(st.text(), st.integers(), st.floats(allow_nan=False), st.booleans()), attributes())
def test_code_of_never_fails_and_never_guesses(value: Scalar, attribute: Attribute) -> None:
    code = attribute.code_of(value)
    if code is not None and attribute.categories and not attribute.numeric:
        text = label_text(value)
        assert attribute.labels[code] in (text, text.lower() if attribute.boolean else text)


def test_lists_stand_for_tuples_and_a_text_for_nothing() -> None:
    listed: Any = ["F", "M"]
    sex = Attribute("sex", categories=listed)
    assert sex == Attribute("sex", categories=("F", "M"))
    several: Any = [sex]
    missing: Any = ["?"]
    schema = Schema("s", several, missing_values=missing)
    assert schema == Schema("s", (sex,), missing_values=("?",))
    assert len({schema, Schema("s", (sex,), missing_values=("?",))}) == 1
    text: Any = "FM"
    with pytest.raises(InputError, match='attribute "sex", categories: found a text; give a list of values'):
        Attribute("sex", categories=text)


def test_an_unknown_name_or_value_comes_with_the_nearest() -> None:
    schema = Schema.parse(GOOD)
    with pytest.raises(InputError, match='--target: "dose" is not in schema "clinic"; known: age, insulin'):
        schema.index("dose", argument="--target")
    with pytest.raises(InputError, match=r'attribute: "insuline" is not in schema "clinic"; did you mean "insulin"\?'):
        schema.index("insuline")
    age, insulin = schema.attributes
    assert (age.index(70), insulin.index("Up")) == (2, 2)
    with pytest.raises(InputError, match=r'--given: "Stedy" is not a value of "insulin"; did you mean "Steady"\?'):
        insulin.index("Stedy", argument="--given")
    with pytest.raises(InputError, match=r'value: "400" is not a value of "age"; known: \[0, 40\), \[40, 65\)'):
        age.index(400)


def test_large_and_deep_schemas_are_refused_in_time() -> None:
    many = tuple(map(str, range(65_535)))
    with pytest.raises(InputError, match='found the value "65534" twice'):
        Attribute("x", categories=(*many, "65534"))
    for text in ("a." * 2_000 + "b = 1", f"[{'a.' * 2_000}b]", "a." * 1_000_000 + "b = 1"):
        with pytest.raises(InputError, match=r"^s, line 2: found keys in keys without end; mend that line$"):
            Schema.parse(f"# a comment. {'.' * 100}\n{text}\n", source="s")
    # Lines on which a careless pattern tries every beginning and every end: that would take hours.
    quoted, headed = '"' + '\\"' * 500_000, f'name = """\n[{" " * 500_000}b\n"""\n'
    for text in (quoted, f"{quoted}\\", headed, headed.replace("b\n", "]b\n"), headed.replace("[", "[[ a")):
        with pytest.raises(InputError):
            Schema.parse(text)
    with pytest.raises(InputError, match="is not valid TOML"):
        Schema.parse("a = " + "[" * 2_000 + "]" * 2_000)
    for text in (f"name = {'[' * 40}{']' * 40}", "name = {" + 'a."b".' * 20 + "c = 1}"):
        with pytest.raises(InputError, match="found keys in keys without end"):
            Schema.parse(text)
    dotted = Schema(
        "s",
        (Attribute("x", categories=("." * 100, "a.b" * 100)), Attribute("y", bins=tuple(i + 0.5 for i in range(99)))),
    )
    assert Schema.parse(dump_schema(dotted).replace(",\n", ",")) == dotted
    with pytest.raises(InputError, match="found an integer beyond 64 bits"):
        Schema.parse("a = [[[9223372036854775808]]]")
    with pytest.raises(InputError, match="holds a NUL, which no path can"):
        Schema.load("a\0.toml")
