"""Public mappings: which group takes which code."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.code_map import CodeMap, CodeRange
from panbayes.schema.map_files import read_map
from panbayes.schema.public_list import public_lists

ROWS = CodeMap(
    (
        CodeRange("sugar", prefix="25"),
        CodeRange("type 1", prefix="250.0"),
        CodeRange("low", low="001", high="139"),
        CodeRange("low too", prefix="13"),
        CodeRange("one", value="250.01"),
        CodeRange("letters", low="C00", high="D49"),
    )
)


@pytest.mark.parametrize(
    ("code", "group"),
    [
        ("25", "low"),
        ("250", "sugar"),
        ("250.0", "type 1"),
        ("2500", "type 1"),
        ("250.02", "type 1"),
        ("250.01", "one"),
        (" 250.01 ", "one"),
        ("8", "low"),
        ("008.45", "low"),
        ("00845", "low"),
        ("139", "low"),
        ("13", "low"),
        ("14", "low"),
        ("140", None),
        ("0", None),
        ("000", None),
        ("c7a.1", "letters"),
        ("C509", "letters"),
        ("D49", "letters"),
        ("D50", None),
        ("cancer", None),
        ("CAT", None),
        ("C5", None),
        ("letters", "letters"),
        ("", None),
        ("?", None),
        ("²5", None),
        ("C٣٣", None),
    ],
)
def test_the_longest_rule_takes_a_code(code: str, group: str | None) -> None:
    found = ROWS.inside(code)
    assert (ROWS.labels[found] if found is not None else None) == group


def test_of_equals_the_first_wins() -> None:
    rows = [CodeRange("a", prefix="123"), CodeRange("b", low="100", high="200"), CodeRange("c", prefix="1.23")]
    assert CodeMap(tuple(rows)).inside("1234") == 0
    assert CodeMap(tuple(rows[1:])).inside("1234") == 0
    assert CodeMap((CodeRange("a", value="x"), CodeRange("x", prefix="y"))).inside("x") == 1, (
        "a group's name comes first"
    )


@given(st.text(max_size=6))
def test_no_text_is_refused(text: str) -> None:
    for groups in (ROWS, *(one.groups for one in public_lists().values())):
        found = groups.inside(text)
        assert found is None or 0 <= found < len(groups.labels)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"group": "a"}, "without one of value, prefix, or from and to"),
        ({"group": "a", "value": "1", "prefix": "2"}, "without one of"),
        ({"group": "a", "from": "1"}, "without one of"),
        ({"group": " ", "value": "1"}, "without a group"),
        ({"group": "a", "prefix": "."}, "an empty prefix"),
        ({"group": "a", "from": "A00", "to": "B9"}, "two codes of one length"),
        ({"group": "a", "from": "B00", "to": "A99"}, "the lower one first"),
        ({"group": "a", "from": "1.1", "to": "1.9"}, "without dots"),
        ({"value": "1"}, "no such table"),
        ({"group": "a", "values": "1"}, "no such table"),
        ("a", "no such table"),
    ],
)
def test_rows_that_say_nothing_are_refused(row: object, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        CodeMap.of([row])


def test_a_value_has_one_group() -> None:
    with pytest.raises(InputError, match='the value "1" twice'):
        CodeMap.of([{"value": "1", "group": "a"}, {"value": "1", "group": "b"}])
    with pytest.raises(InputError, match="found 0 rows"):
        CodeMap(())


GOLDEN = {
    "atc-groups": "7d88e8d415f6a635d8f176fbcbb0f3cbc9736d595b0a564e002875d546052271",
    "icd10-chapters": "a097949782168bb5741b1ff78c34aa7c5b886e61846e5cb388d22ee88fadd316",
    "icd9-chapters": "23896b252bffd56b3f176115b2df1fe7ef5d060d5f7b5bf5385d0b6922ae0376",
}


def test_published_lists_never_change() -> None:
    assert set(public_lists()) == set(GOLDEN)
    for name, digest in GOLDEN.items():
        rows = json.dumps(public_lists()[name].groups.table)
        assert hashlib.sha256(rows.encode()).hexdigest() == digest, name


def group(name: str, code: str) -> str | None:
    groups = public_lists()[name].groups
    found = groups.inside(code)
    return None if found is None else groups.labels[found].partition(" ")[0]


def test_icd10_codes_are_in_one_chapter_each() -> None:
    letters = [f"{letter}{number:02}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ" for number in range(100)]
    outside = [code for code in letters if group("icd10-chapters", code) is None]
    gaps = {("D", 90, 100), ("E", 91, 100), ("H", 96, 100), ("K", 96, 100), ("P", 97, 100), ("T", 99, 100)}
    assert outside == [f"{letter}{number}" for letter, low, high in sorted(gaps) for number in range(low, high)]
    expected = {
        "A00": "A00-B99", "b99.9": "A00-B99", "C7A.00": "C00-D49", "D48": "C00-D49", "D50.0": "D50-D89",
        "E119": "E00-E90", "e11.9": "E00-E90", "H59": "H00-H59", "H60": "H60-H95", "O9A": "O00-O9A", "M1A": "M00-M99",
        "U07.1": "U00-U99", "V00": "V00-Y99", "Y99": "V00-Y99", "Z3A": "Z00-Z99", "T98": "S00-T98", "G01*": "G00-G99",
    }  # fmt: skip
    assert {code: group("icd10-chapters", code) for code in expected} == expected
    assert [group("icd10-chapters", word) for word in ("AIDS", "flu", "?", "250.01", "A")] == [None] * 5


def test_icd9_codes_are_in_one_chapter_each() -> None:
    assert [group("icd9-chapters", f"{code:03}") is None for code in range(1000)] == [True] + [False] * 679 + [
        False
    ] * 320
    expected = {
        "250.01": "240-279", "250": "240-279", "25001": "240-279", "8": "001-139", "38": "001-139", "008.45": "001-139",
        "V57": "V01-V91", "v57.1": "V01-V91", "E909": "E000-E999", "E8490": "E000-E999", "e849.0": "E000-E999",
        "999.9": "800-999", "428": "390-459", "648.0": "630-679",
    }  # fmt: skip
    assert {code: group("icd9-chapters", code) for code in expected} == expected
    assert [group("icd9-chapters", code) for code in ("E11", "V", "0", "?", "VIRUS", "A00")] == [None] * 6


def test_atc_codes_are_in_one_main_group_each() -> None:
    letters = "ABCDGHJLMNPRSV"
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        own = letter if letter in letters else None
        for code in (letter, f"{letter}01", f"{letter}10BA02", f"{letter.lower()}10ba02"):
            assert group("atc-groups", code) == own
    assert [group("atc-groups", word) for word in ("aspirin", "Aspirin", "insulin", "metformin", "N")] == [None] * 4 + [
        "N"
    ]


def test_mapping_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("\ufeffprefix;group;value\n250;sugar;\n;odd; x \n\n", encoding="utf-8")
    (tmp_path / "b.toml").write_text(
        '[[rows]]\nprefix = "250"\ngroup = "sugar"\n[[rows]]\nvalue = "x"\ngroup = "odd"\n'
    )
    assert read_map(tmp_path / "a.csv") == read_map(tmp_path / "b.toml")
    assert read_map(tmp_path / "a.csv").labels == ("sugar", "odd")
    bad = {
        "c.csv": ("code,group\n1,a\n", "found the columns code, group in c.csv"),
        "d.csv": ("prefix,group\n1,a,b\n", "more or fewer fields in d.csv"),
        "e.csv": ('prefix,group\n"1,a\n', "quotes that do not match in e.csv"),
        "f.toml": ("rows = 1", "found no [[rows]] alone in f.toml"),
        "g.toml": ("rows =", "found no valid TOML"),
        "h.csv": ("", "found the columns none in h.csv"),
        "i.csv": ("prefix,group\n", "found 0 rows in i.csv"),
        "j.csv": ("prefix,group\n1,\n", "no such table in j.csv"),
    }
    for name, (text, message) in bad.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(InputError) as caught:
            read_map(tmp_path / name)
        assert message in str(caught.value), name
    (tmp_path / "k.csv").write_bytes(b"prefix,group\n\xff,a\n")
    for name, message in (("k.csv", "is not UTF-8"), ("none.csv", "is no file"), (".", "is no file")):
        with pytest.raises(InputError, match=message):
            read_map(tmp_path / name)


def test_a_mapped_attribute_takes_names_of_lists() -> None:
    assert Attribute("d", mapping="icd10-chapters").size == 22
    with pytest.raises(InputError, match='attribute "d", mapping: found "icd10"; known: atc-groups, icd10-chapters'):
        Attribute("d", mapping="icd10")
