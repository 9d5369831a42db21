"""What follows from a declaration: reading, complaints, writing, hashes. Tried on files that panbayes does not have."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema import kinds
from panbayes.schema.declaration import Declaration, Key, content, fields_of, read_fields, row
from panbayes.schema.reference import reference
from panbayes.schema.toml_reader import Document
from panbayes.schema.toml_writer import toml_text


@dataclass(frozen=True)
class Bed:
    ward: Annotated[str, Key(kinds.text('a text such as "north"'), "where the bed stands")]
    floor: Annotated[int, Key(kinds.whole_number(), "how far up")] = 0

    def __post_init__(self) -> None:
        if self.floor > 9:
            raise InputError(f'bed "{self.ward}", floor', found=f"found {self.floor}", remedy="give 0 to 9")


@dataclass(frozen=True)
class Owner:
    who: Annotated[str, Key(kinds.text("a name"), "who pays")]


@dataclass(frozen=True)
class Hospital:
    name: Annotated[str, Key(kinds.text('a text such as "St Mary"'), "what it is | was called")]
    kind: Annotated[Literal["public", "private"], Key(kinds.choice(("public", "private")), "whose it is")] = "public"
    share: Annotated[Fraction, Key(kinds.ratio(), "how much of ε it spends")] = Fraction(1, 2)
    degree: Annotated[
        int | Literal["auto"],
        Key(kinds.either(kinds.whole_number(), kinds.choice(("auto",))), "how many"),
    ] = 1
    first: Annotated[str | None, Key(kinds.text("a name"), "who is first", default="the first bed")] = None
    owner: Annotated[Owner | None, Key(kinds.table(Owner), "who owns it")] = None
    beds: Annotated[tuple[Bed, ...], Key(kinds.tables(Bed), "one for each bed")] = ()
    source: str = "hospital"

    def __post_init__(self) -> None:
        if self.share > 1:
            raise InputError(f"{self.source}, share", found="found more than all", remedy="give at most 1")
        if self.owner is not None and self.owner.who == self.name:
            raise InputError("owner.who", found="owns itself", remedy="name another")
        if self.kind == "private" and self.owner is None:
            raise InputError("owner", found="is missing", remedy="add [owner]")


HOSPITAL = Declaration("Hospital files", 2, Hospital, about="About hospitals.", example='version = 2\nname = "x"')

GOOD = """\
version = 2
name = "St Mary"
share = 0.1
degree = "auto"

[owner]
who = "the town"

[[beds]]
ward = "north"

[[beds]]
ward = "south"
floor = 3
"""


def test_a_file_becomes_its_object() -> None:
    found = HOSPITAL.parse(GOOD, source="mary.toml")
    assert found == Hospital(
        "St Mary",
        share=Fraction(1, 10),
        degree="auto",
        owner=Owner("the town"),
        beds=(Bed("north"), Bed("south", 3)),
        source="mary.toml",
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("version = 2", "version = 3", "line 1, version: found 3; this panbayes reads version 2"),
        ('name = "St Mary"', "", 'name: is missing; add name = a text such as "St Mary"'),
        ("share = 0.1", 'kind = "publik"', 'line 3, kind: found "publik"; give "public" or "private"'),
        ("share = 0.1", "shar = 0.1", 'line 3, shar: is not a known key; did you mean "share"?'),
        (
            "share = 0.1",
            "x = 1",
            "x: is not a known key; known: version, name, kind, share, degree, first, owner",
        ),
        ("share = 0.1", "share = 3", "line 3, share: found more than all; give at most 1"),
        ("share = 0.1", 'share = "much"', "line 3, share: found 'much'; give a number without quotes"),
        ("share = 0.1", "share = true", "line 3, share: found True; give a number without quotes"),
        ("share = 0.1", "share = nan", "line 3, share: found nan; give a finite number"),
        ("share = 0.1", 'share = "1/0"', "line 3, share: found '1/0'; give a number"),
        ('degree = "auto"', "degree = 1.5", 'degree: found a number (1.5); give a whole number, or "auto"'),
        ('degree = "auto"', "degree = true", 'degree: found a boolean (true); give a whole number, or "auto"'),
        ('who = "the town"', 'who = "St Mary"', "line 7, owner.who: owns itself; name another"),
        ('who = "the town"', 'whom = "x"', 'line 7, owner.whom: is not a known key; did you mean "who"?'),
        ('[owner]\nwho = "the town"', 'kind = "private"', "mary.toml, owner: is missing; add [owner]"),
        ('[owner]\nwho = "the town"', "owner = 1", "owner: found an integer (1); write a [owner] table"),
        ("floor = 3", "floor = 30", "line 14, beds[2].floor: found 30; give 0 to 9"),
        ("floor = 3", "flor = 3", 'line 14, beds[2].flor: is not a known key; did you mean "floor"?'),
        ('ward = "south"', "", 'line 12, beds[2].ward: is missing; add ward = a text such as "north"'),
    ],
)
def test_complaints_name_the_file_the_line_and_the_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError) as caught:
        HOSPITAL.parse(GOOD.replace(old, new), source="mary.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("mary.toml")


def test_an_unknown_key_is_told_before_a_key_that_is_wrong() -> None:
    """A misspelt key is most often the reason why another is missing."""
    with pytest.raises(InputError, match='nam: is not a known key; did you mean "name"'):
        HOSPITAL.parse(GOOD.replace("name =", "nam =").replace("0.1", "true"), source="mary.toml")


ratios = st.fractions(0, 1, max_denominator=10**9)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(
    lambda text: text.strip() != ""
)
hospitals = st.builds(
    Hospital,
    names.map(lambda name: f"h{name}"),
    share=ratios,
    degree=st.one_of(st.integers(-9, 9), st.just("auto")),
    first=st.none() | names,
    owner=st.none() | st.builds(Owner, names.map(lambda name: f"o{name}")),
    beds=st.lists(st.builds(Bed, names, st.integers(0, 9)), max_size=3).map(tuple),
)


@given(hospitals)
def test_what_is_written_is_read_back(hospital: Hospital) -> None:
    text = toml_text(hospital, 2, header=["a"], footer=["b"])
    assert "kind = " in text, "a default that is something is written out"
    assert ("first = " in text) == (hospital.first is not None)
    assert HOSPITAL.parse(text, source="hospital") == hospital


@pytest.mark.parametrize(
    ("written", "value"),
    [("0.1", Fraction(1, 10)), ("1", Fraction(1)), ('"1/3"', Fraction(1, 3)), ("1e-3", Fraction(1, 1000))],
)
def test_a_ratio_is_what_was_written(written: str, value: Fraction) -> None:
    assert HOSPITAL.parse(GOOD.replace("0.1", written), source="x").share == value


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "mary.toml"
    path.write_text(GOOD)
    assert HOSPITAL.load(path).source == str(path)


def test_fields_of_several_classes_can_be_read_together() -> None:
    document = Document.parse('ward = "north"\nwho = "me"\n', source="x")
    both = fields_of(Bed) + fields_of(Owner)
    assert read_fields(document.root(), both) == {"ward": "north", "who": "me"}
    with pytest.raises(InputError, match="who: is not a known key"):
        read_fields(document.root(), fields_of(Bed))


def test_shared_content_is_plain() -> None:
    hospital = HOSPITAL.parse(GOOD, source="x")
    assert content(hospital) == {
        "name": "St Mary",
        "kind": "public",
        "share": "1/10",
        "degree": "auto",
        "first": None,
        "owner": ["the town"],
        "beds": [["north", 0], ["south", 3]],
    }


@dataclass(frozen=True)
class Later:
    """A bed of a later version, with a key more, and one that nobody else needs to know."""

    ward: Annotated[str, Key(kinds.text("a text"), "where")]
    note: Annotated[str, Key(kinds.text("a text"), "a remark", shared=False)] = "none"
    lamp: Annotated[bool, Key(kinds.scalar("true or false"), "light", added=True)] = False


def test_an_added_key_is_hashed_only_where_it_says_something() -> None:
    plain = Later("north", note="new")
    assert content(plain) == {"ward": "north"}
    assert row(plain) == ["north"]
    assert content(replace(plain, lamp=True)) == {"ward": "north", "lamp": True}
    assert row(replace(plain, lamp=True)) == ["north", {"lamp": True}]


def test_the_manual_names_every_key_its_kind_its_default_and_its_meaning() -> None:
    page = reference(HOSPITAL)
    for line in (
        "## Hospital files",
        "| `version` | 2 | required | the version of the format |",
        r'| `name` | a text such as "St Mary" | required | what it is \| was called |',
        '| `kind` | "public" or "private" | `"public"` | whose it is |',
        '| `share` | a number such as 0.5, or a quotient such as "1/3" | `0.5` | how much of ε it spends |',
        '| `degree` | a whole number, or "auto" | `1` | how many |',
        "| `first` | a name | the first bed | who is first |",
        "| `owner` | a table, see below | none | who owns it |",
        "### `[owner]`",
        "### `[[beds]]`",
        "One for each bed.",
        "| `floor` | a whole number | `0` | how far up |",
    ):
        assert re.search(rf"^{re.escape(line)}$", page, re.MULTILINE), line
