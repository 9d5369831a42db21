from __future__ import annotations

import datetime as dt
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pytest

from panbayes.consortium.agreement.about import MOST_CHARACTERS, About
from panbayes.consortium.agreement.study import Study, dump_study
from panbayes.errors import InputError
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit, dump_schema

SCHEMA = Schema("s", tuple(Attribute(name, categories=("x", "y", "z")) for name in "abc"))
GOOD = """\
version = 1
name = "clinics"
schema = "s.toml"
strategy = "privbayes"
epsilon = 0.1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "s.toml").write_text(dump_schema(SCHEMA))
    return tmp_path


def load(folder: Path, text: str) -> Study:
    path = folder / "study.toml"
    path.write_text(text)
    return Study.load(path)


def test_defaults_and_exact_numbers(folder: Path) -> None:
    study = load(folder, GOOD)
    assert study == Study("clinics", SCHEMA, "privbayes", Fraction(1, 10))
    assert (study.degree, study.split, study.delta) == (1, Fraction(1, 2), Fraction(0))
    assert (study.score, study.adjacency) == ("I", "replace")
    assert (study.mechanism, study.clip, study.first_attribute) == ("permute-and-flip", "holder", 0)
    assert study.grant == Pure(Fraction(1, 10))


def test_the_schema_is_found_beside_the_study(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "study.toml").write_text(GOOD.replace("s.toml", "../s.toml"))
    monkeypatch.chdir(tmp_path.parent)
    assert Study.load(folder / "sub" / "study.toml").schema == SCHEMA


def test_shares_of_epsilon_that_no_message_could_carry(folder: Path) -> None:
    text = GOOD.replace("0.1", "0.1234567890123456") + "split = 0.3333333333333333\n"
    with pytest.raises(InputError, match="line 6, split: too many digits in split, epsilon and theta together"):
        load(folder, text)
    assert load(folder, text.replace("0.3333333333333333", "0.333")).split == Fraction(333, 1000)
    assert load(folder, text.replace("privbayes", "independent")).strategy == "independent", "it does not read split"


def test_an_epsilon_whose_fractions_no_message_could_carry() -> None:
    most = "1." + "1" * 20
    assert Study("s", SCHEMA, "adaptive", most).epsilon == Fraction(most)
    with pytest.raises(InputError, match="study, epsilon: found more than 21 digits"):
        Study("s", SCHEMA, "adaptive", most + "1")
    assert Study("s", SCHEMA, "independent", most + "1").epsilon == Fraction(most + "1")


@pytest.mark.parametrize("degree", [1, "auto"])
def test_one_attribute_can_only_be_learned_alone(degree: Literal[1, "auto"]) -> None:
    alone = Schema("s", SCHEMA.attributes[:1])
    with pytest.raises(InputError, match='strategy: found "privbayes", and the schema has one attribute; give "indep'):
        Study("s", alone, "privbayes", Fraction(1), degree=degree)
    Study("s", alone, "independent", Fraction(1))


def test_non_private_needs_no_epsilon(folder: Path) -> None:
    study = load(folder, GOOD.replace("privbayes", "non-private").replace("epsilon = 0.1\n", ""))
    assert not study.private
    with pytest.raises(ValueError, match="grants nothing"):
        _ = study.grant


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"privbayes"',
            '"magic"',
            'line 4, strategy: found "magic"; known: adaptive, ',
        ),
        ('"privbayes"', '"privbays"', 'line 4, strategy: found "privbays"; did you mean "privbayes"?'),
        ("epsilon = 0.1", "", "epsilon: is missing; add epsilon = 1.0"),
        ("epsilon = 0.1", "epsilon = 0", "line 5, epsilon: found 0; give a decimal number above 0"),
        ("epsilon = 0.1", "epsilon = nan", "line 5, epsilon: found nan; give a finite number"),
        ("epsilon = 0.1", 'epsilon = "1"', "line 5, epsilon: found '1'; give a number without quotes"),
        ("epsilon = 0.1", "epsilon = 1\ndegree = 3", "line 6, degree: found 3, and the schema has 3 attributes"),
        ("epsilon = 0.1", "epsilon = 1\ndegree = 0", "line 6, degree: found 0; give 1 to 8; for no parents use"),
        ("epsilon = 0.1", 'epsilon = 1\ndegree = "many"', "line 6, degree: found a text ('many'); give a whole number"),
        ("epsilon = 0.1", "epsilon = 1\nsplit = 1.0", "line 6, split: found 1; give a fraction between 0 and 1"),
        ("epsilon = 0.1", "epsilon = 1\nsplit = inf", "line 6, split: found inf; give a finite number"),
        ("epsilon = 0.1", 'epsilon = 1\nscore = "F"', 'line 6, score: "F" needs binary attributes'),
        ("epsilon = 0.1", 'epsilon = 1\nfirst = "d"', '"d" is not in schema "s"; known: a, b, c'),
        ("epsilon = 0.1", 'epsilon = 1\ntarget = "d"', 'line 6, target: "d" is not in schema "s"; known: a, b, c'),
        ("epsilon = 0.1", 'epsilon = 1\nchoices = "all"', 'line 6, choices: found "all"; give "together" or "turns"'),
        ("epsilon = 0.1", "epsilon = 1\ndelat = 0", 'line 6, delat: is not a known key; did you mean "delta"?'),
        ("epsilon = 0.1", 'epsilon = 1\nmissing = "go"', 'found "go"; give "wait" or "stop" or "continue"'),
        ("epsilon = 0.1", 'epsilon = 1\nmissing = "stop"', "patience: is missing; say how many hours"),
        (
            "epsilon = 0.1",
            'epsilon = 1\nmissing = "continue"\npatience = 1',
            "quorum: is missing; say how many holders",
        ),
        ("epsilon = 0.1", "epsilon = 1\nquorum = 2", 'line 6, quorum: found with missing = "wait"; leave it out'),
        ("epsilon = 0.1", "epsilon = 1\npatience = 2", 'line 6, patience: found with missing = "wait"; leave it out'),
        (
            "epsilon = 0.1",
            'epsilon = 1\nmissing = "stop"\npatience = 2\nquorum = 2',
            'line 8, quorum: found with missing = "stop"; leave it out',
        ),
        (
            "epsilon = 0.1",
            'epsilon = 1\nmissing = "continue"\npatience = 2\nquorum = 0',
            "line 8, quorum: found 0; give a whole number of holders, 1 or more",
        ),
        ("epsilon = 0.1", 'epsilon = 1\nmissing = "stop"\npatience = 0', "line 7, patience: found 0; give hours above"),
        ("epsilon = 0.1", 'epsilon = 1\nmissing = "stop"\npatience = 1e6', "line 7, patience: found 1e+06; give hours"),
        (
            "epsilon = 0.1",
            'epsilon = 1\n[about]\npurpos = "x"',
            'about.purpos: is not a known key; did you mean "purpose"?',
        ),
        (
            "epsilon = 0.1",
            "epsilon = 1\n[about]\npurpose = 3",
            "line 7, about.purpose: found an integer (3); give a text",
        ),
        ("epsilon = 0.1", 'epsilon = 1\n[about]\npurpose = " "', "line 7, about.purpose: found an empty text"),
        ("epsilon = 0.1", 'epsilon = 1\n[about]\ncontact = "a\\nb"', "line 7, about.contact: found a line break"),
        ("epsilon = 0.1", 'epsilon = 1\n[about]\ncontact = "a\\u202eb"', "line 7, about.contact: found a line break"),
        (
            "epsilon = 0.1",
            f'epsilon = 1\n[about]\nethics = "{"x" * (MOST_CHARACTERS + 1)}"',
            "line 7, about.ethics: found 301 characters; give at most 300",
        ),
        (
            "epsilon = 0.1",
            "epsilon = 1\n[about]\nuntil = 2027-03-01T00:00:00",
            "line 7, about.until: found 2027-03-01T00:00:00; give a date such as 2027-03-01",
        ),
        (
            "epsilon = 0.1",
            'epsilon = 1\n[about]\nuntil = "1.3.27"',
            "line 7, about.until: found a text ('1.3.27'); give a",
        ),
        (
            "epsilon = 0.1",
            'epsilon = 1\n[about]\nuntil = "2027-02-29"',
            "line 7, about.until: found a text ('2027-02-29')",
        ),
        ("epsilon = 0.1", "epsilon = 1\nabout = 3", "line 6, about: found an integer (3); write a [about] table"),
        ('schema = "s.toml"', 'schema = "t.toml"', "t.toml: cannot be read (no such file or directory)"),
        ("version = 1", "version = 9", "line 1, version: found 9; this panbayes reads version 1"),
    ],
)
def test_errors(old: str, new: str, message: str, folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        load(folder, GOOD.replace(old, new))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_hash_covers_content_and_schema_not_spelling(folder: Path) -> None:
    study = load(folder, GOOD)
    respelled = (
        'epsilon = 0.10\nstrategy = "privbayes"\nschema = "./s.toml"\nname = "clinics"\nversion = 1\ndegree = 1\n'
    )
    assert load(folder, respelled).hash == study.hash
    assert load(folder, GOOD + 'choices = "turns"\n').hash == study.hash
    assert load(folder, GOOD + 'missing = "wait"\n[about]\n').hash == study.hash
    for more in (
        "degree = 2",
        "split = 0.3",
        'score = "R"',
        'clip = "analyst"',
        'first = "b"',
        'target = "b"',
        'choices = "together"',
        'missing = "stop"\npatience = 2',
        'missing = "continue"\npatience = 2\nquorum = 2',
        '[about]\npurpose = "x"',
        "[about]\nuntil = 2027-03-01",
    ):
        assert load(folder, GOOD + more + "\n").hash != study.hash
    (folder / "s.toml").write_text(dump_schema(SCHEMA).replace('"z"', '"w"'))
    assert load(folder, GOOD).hash != study.hash


AGREED = (
    Attribute("smoker", categories=("no", "yes")),
    Attribute("age", bins=(0, 40, 65, 120), missing="missing"),
    Attribute("cough", categories=("no", "yes")),
)
CLINIC, PATIENTS = Schema("clinic", AGREED), Schema("clinic", AGREED, unit=Unit("patient", 3))


@pytest.mark.parametrize(
    ("agreed", "known"),
    [
        (Study("a", CLINIC, epsilon=1), "5c91e7d79a1502ad419bdedb2f80c45dac039bd9f657fe466f9137e14c2a0323"),
        (
            Study("a", CLINIC, epsilon="1/3", adjacency="add-remove", delta=1e-9),
            "79cf55d3a4109c1f0ef4b53064ba15e1061d616bcea0418a788bfa359d4f3f82",
        ),
        (
            Study("b", PATIENTS, "privbayes", "7/3", degree="auto", theta=6, score="R", mechanism="exponential"),
            "cecab33c6b3a9b1137b21dd80ccf9f163194f89872337ea7fdaef28dec012366",
        ),
        (
            Study("c", CLINIC, "noisy-majority-voting", 0.1, degree=2, split=0.25, clip="analyst", first="cough"),
            "7326077f6f757b346e747d43c117fd323cc4a76b964ef3ce623565feddc50567",
        ),
        (
            Study("d", CLINIC, "noisy-sufficient-statistics", 2, learner="penalised"),
            "0b5a448d13d42f6e3c6a3535c7c29a56d435cf2096be5150b6f3dba76b5a9d27",
        ),
        (
            Study("e", CLINIC, epsilon=1, target="cough", choices="together"),
            "9fe8394ba246953be8f11853b4d3d23dded536d405332434b7310008a0fc5a7c",
        ),
        (Study("g", CLINIC, "non-private"), "2094095017f07ff31c471eaaa2da996d5fa159bc9fb5a6427d269147732c0589"),
        (
            Study("h", CLINIC, epsilon=1, degree=2, split="1/4"),  # options that the strategy does not read
            "00d96b6a4a690f1fcf2701f6293686321a222658c7131f73da9386aacb5dd867",
        ),
    ],
    ids=lambda value: value[:8] if isinstance(value, str) else value.strategy,
)
def test_hashes_of_the_first_version_stay(agreed: Study, known: str) -> None:
    """Ledgers know studies by them: a key that is added later must leave them as they are where it is absent."""
    assert agreed.hash == known


def test_numbers_are_read_as_people_write_them() -> None:
    for written in (1, 1.0, "1", "1.0", "3/3", Fraction(1)):
        assert Study("a", CLINIC, epsilon=written) == Study("a", CLINIC, "adaptive", Fraction(1))
    for wrong in (True, "one", "1/0", float("nan"), -1, None):
        with pytest.raises(InputError, match="study, epsilon: "):
            Study("a", CLINIC, epsilon=wrong)
    with pytest.raises(InputError, match=r"study, split: found 'half'; give a number such as 0\.5"):
        Study("a", CLINIC, epsilon=1, split="half")


def test_what_a_study_is_about_is_part_of_its_content_by_name(folder: Path) -> None:
    """So that a key which is added later leaves what was agreed before as it is."""
    dated = load(folder, GOOD + '[about]\nuntil = "2027-03-01"\nrequester = "A. Author"\n')
    assert dated == load(folder, GOOD + '[about]\nrequester = "A. Author"\nuntil = 2027-03-01\n')
    assert dated.about == About(requester="A. Author", until=dt.date(2027, 3, 1))
    assert dated.canonical()["about"] == {"requester": "A. Author", "until": "2027-03-01"}
    known = "d9d728548837de98fd735175b937771f07546ac2f36b5747ef66425c3a0b204b"
    assert Study("a", CLINIC, epsilon=1, missing="stop", patience=2, about=dated.about).hash == known
    each: list[dict[str, Any]] = [{key: "x"} for key in About.__match_args__ if key != "until"]
    every = [Study("a", CLINIC, epsilon=1, about=About(**given)).hash for given in each]
    assert len(set(every)) == 6


def test_an_about_that_is_none_is_refused() -> None:
    wrong: Any = {"purpose": "x"}
    with pytest.raises(InputError, match="study, about: found a dict; give an About"):
        Study("a", CLINIC, epsilon=1, about=wrong)
    for until in (dt.datetime(2027, 3, 1), "2027-03-01"):
        day: Any = until
        with pytest.raises(InputError, match=r"about\.until: found .*; give a date such as 2027-03-01"):
            About(until=day)
    number: Any = 3
    with pytest.raises(InputError, match=r"about\.purpose: found an integer \(3\); give a text, or leave it out"):
        About(purpose=number)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "every round waits until all holders have answered"),
        ({"missing": "stop", "patience": 1}, "the run stops if a holder has not answered within 1 hour"),
        (
            {"missing": "continue", "patience": "0.5", "quorum": 1},
            "a holder that has not answered within 0.5 hours is left out from then on, as long as one holder is left",
        ),
        (
            {"missing": "continue", "patience": 72, "quorum": 3},
            "a holder that has not answered within 72 hours is left out from then on, as long as 3 holders are left",
        ),
    ],
)
def test_what_happens_without_a_holder_is_said_in_words(more: dict[str, Any], words: str) -> None:
    assert Study("a", CLINIC, epsilon=1, **more).when_missing == words


def test_a_study_is_written_whole_and_read_without_its_files(tmp_path: Path) -> None:
    """What two institutions hold of a study is two texts; both must come to the same hash."""
    (tmp_path / "codes.csv").write_text("prefix,group\n25,diabetes\n9,rest\n")
    rows = 'version = 1\nname = "s"\nstatus = "approved"\n'
    rows += "".join(f'[[attributes]]\nname = "{name}"\nmapping = "{codes}"\nother = true\n' for name, codes in CODED)
    (tmp_path / "s.toml").write_text(rows)
    about = About('to find "who" \\ and why', until=dt.date(2027, 3, 1))
    given: list[dict[str, Any]] = [
        {"epsilon": "1/3", "missing": "continue", "quorum": 2, "patience": "1/3", "about": about, "target": "b"},
        {"epsilon": 0.1, "delta": "1e-9", "first": "b", "choices": "together"},
        {"epsilon": 1, "strategy": "privbayes", "degree": "auto", "mechanism": "exponential"},
    ]
    for study in (Study("a \x7f é", tmp_path / "s.toml", **more) for more in given):
        text, schema = dump_study(study), Schema.parse(dump_schema(study.schema), source="letter")
        found = Study.parse(text, schema=schema, source="letter")
        assert (found, found.hash, found.source) == (study, study.hash, "letter")
        assert str(tmp_path) not in text
    study = Study("a", CLINIC, epsilon=1)
    text, schema = dump_study(study), CLINIC
    with pytest.raises(InputError, match="letter, line 5, epsilon: found -1"):
        Study.parse(text.replace("epsilon = 1", "epsilon = -1"), schema=schema, source="letter")
    with pytest.raises(InputError, match="letter, line 2, nam: is not a known key"):
        Study.parse(text.replace("name", "nam"), schema=schema, source="letter")
    with pytest.raises(InputError, match="letter, line 1, version: found 2"):
        Study.parse(text.replace("version = 1", "version = 2"), schema=schema, source="letter")


CODED = (("a", "codes.csv"), ("b", "icd10-chapters"))


def test_editions_and_blocks_are_hashed_only_where_they_are_given() -> None:
    plain = Study("a", SCHEMA, epsilon=1)
    assert not {"edition", "blocks"} & plain.canonical().keys()
    assert plain.chosen_blocks is None
    editions = [Study("a", SCHEMA, epsilon=1, edition=edition) for edition in (None, "1", "2")]
    assert len({study.hash for study in editions}) == 3
    assert editions[0] == plain
    some = [Study("a", SCHEMA, epsilon=1, blocks=blocks) for blocks in (("2026", "2025"), ["2025", "2026", "2025"])]
    assert some[0] == some[1]
    assert some[0].hash == some[1].hash != plain.hash
    assert some[0].chosen_blocks == ("2025", "2026")


@pytest.mark.parametrize("blocks", [(), "2026", ("2026-13",), ("2026", "2026-Q1"), ("",), 2026, ("2026-1",), None])
def test_blocks_are_periods_of_one_calendar(blocks: Any) -> None:
    with pytest.raises(InputError, match=r'blocks: found .*; give "all", or a list of periods'):
        Study("a", SCHEMA, epsilon=1, blocks=blocks)
