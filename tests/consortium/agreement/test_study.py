from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Literal

import pytest

from panbayes.consortium.agreement.study import Study
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
        ('schema = "s.toml"', 'schema = "t.toml"', "t.toml: cannot be read (no such file or directory)"),
        ("version = 1", "version = 9", "line 1, version: found 9; this panbayes reads versions 1 to 1"),
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
    for more in (
        "degree = 2",
        "split = 0.3",
        'score = "R"',
        'clip = "analyst"',
        'first = "b"',
        'target = "b"',
        'choices = "together"',
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
