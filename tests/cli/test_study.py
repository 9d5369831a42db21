"""``panbayes study``: a file that a data officer can read, and that means what was asked for."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import fields
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from panbayes.cli.demo.population import clinic_schema
from panbayes.cli.study_file import study_text
from panbayes.consortium.agreement.about import About
from panbayes.consortium.agreement.study import Study
from panbayes.schema.schema import dump_schema
from tests.conftest import Panbayes


def changed(
    name: str = "clinics", strategy: str = "adaptive", epsilon: Fraction | None = Fraction(1), **more: Any
) -> Study:
    return Study(name, clinic_schema(), strategy, epsilon, **more)


PLAIN = changed()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.toml").write_text(dump_schema(clinic_schema()), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "study",
    [
        PLAIN,
        changed(name='a "quoted" \\ name, ä', epsilon=Fraction(1, 3)),
        changed(epsilon=Fraction("2.5"), delta=Fraction("1e-9"), adjacency="add-remove"),
        changed(strategy="privbayes", degree="auto", theta=Fraction(6), first="sex", score="R"),
        changed(target="sex", choices="together"),
        changed(strategy="noisy-model", degree=2, split=Fraction("0.25"), mechanism="exponential"),
        changed(strategy="noisy-sufficient-statistics", clip="analyst", learner="chow-liu"),
        changed(strategy="non-private", epsilon=None),
        changed(missing="stop", patience=Fraction("0.5")),
        changed(adjacency="add-remove", edition='the "second"', blocks=("2026-Q3", "2026-Q4")),
        changed(missing="continue", quorum=2, patience=Fraction(1, 3), about=About(until=date(2027, 3, 1))),
        changed(about=About('to find "who" \\ and = [why]', "A. Author", "North", "a@north.example", "1/2", None, "#")),
    ],
    ids=lambda study: study.strategy,
)
def test_reading_the_file_gives_the_same_study(study: Study, folder: Path) -> None:
    (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
    again = Study.load(folder / "study.toml")
    assert again == study
    assert again.hash == study.hash


def test_every_key_is_there_with_its_default(folder: Path) -> None:
    text = study_text(PLAIN, schema="clinic.toml")
    assert set(tomllib.loads(text)) == {"version", "name", "schema", "strategy", "epsilon"}
    # Without their signs, the keys that were commented out say what holds anyway.
    bare = re.sub(r"^# (\w+ = |\[)", r"\1", text, flags=re.MULTILINE).replace('"wait"\n', '"continue"\n')
    (folder / "study.toml").write_text(bare, encoding="utf-8")
    keys = set(tomllib.loads((folder / "study.toml").read_text(encoding="utf-8")))
    assert keys == {"version", *(field.name for field in fields(Study))} - {"source"}
    # But for the target, the rule for missing holders, the edition and what the study is about: there is none.
    found = Study.load(folder / "study.toml")
    assert set(found.about.given) == {field.name for field in fields(About)}
    assert found == changed(
        first="age",
        target="readmitted",
        missing="continue",
        quorum=2,
        patience=72,
        edition="2026-11",
        about=found.about,
    )
    assert "If left out, all attributes count alike. target =" in text.replace("\n#", "")
    assert max(map(len, text.splitlines())) <= 100


def test_any_path_of_a_schema_can_be_written() -> None:
    text = study_text(PLAIN, schema='a "quoted" \\ folder/clinic.toml')
    assert tomllib.loads(text)["schema"] == 'a "quoted" \\ folder/clinic.toml'


def test_a_new_study_can_be_loaded_from_another_folder(folder: Path, panbayes: Panbayes) -> None:
    (folder / "agreed").mkdir()
    done = panbayes("study", "new", "agreed/spring.toml", "--schema", "clinic.toml", "--epsilon", "0.1")
    assert done.returncode == 0, done.stderr
    study = Study.load(folder / "agreed" / "spring.toml")
    assert (study.name, study.strategy, study.epsilon) == ("spring", "adaptive", Fraction(1, 10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("clinic.toml", "--schema", "clinic.toml", "--epsilon", "1"), "STUDY: clinic.toml exists"),
        (("s.toml", "--schema", "absent.toml", "--epsilon", "1"), "absent.toml: cannot be read"),
        (
            ("s.toml", "--schema", "clinic.toml", "--epsilon", "1", "--strategy", "magic"),
            's.toml, strategy: found "magic"',
        ),
        (("s.toml", "--schema", "clinic.toml", "--epsilon", "much"), "--epsilon: found 'much'"),
        (
            ("s.toml", "--schema", "clinic.toml", "--epsilon", "1", "--target", "sexx"),
            's.toml, target: "sexx" is not in schema "clinic"; did you mean "sex"?',
        ),
        (("no/s.toml", "--schema", "clinic.toml", "--epsilon", "1"), "STUDY: no/s.toml cannot be written"),
        (("s.toml", "--schema", "clinic.toml", "--epsilon", "1", "--name", " "), "s.toml, name: found an empty text"),
    ],
)
def test_errors_are_one_line_and_leave_nothing_behind(
    arguments: tuple[str, ...], message: str, folder: Path, panbayes: Panbayes
) -> None:
    before = (folder / "clinic.toml").read_bytes()
    done = panbayes("study", "new", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in folder.iterdir()] == ["clinic.toml"]
    assert (folder / "clinic.toml").read_bytes() == before


@pytest.mark.parametrize("path", ["a\\u0000b", "a\\u001b[2J\\nb", "a" * 5000, "clinic.toml/b", ".", "~"])
def test_a_path_in_a_file_that_no_file_can_have_is_one_line_and_exit_2(
    path: str, folder: Path, panbayes: Panbayes
) -> None:
    text = f'version = 1\nname = "n"\nschema = "{path}"\nstrategy = "independent"\nepsilon = 1\n'
    (folder / "odd.toml").write_text(text)
    for arguments in (("study", "show", "odd.toml"), ("learn", "odd.toml", "--holder", "a=a.csv", "-o", "m.json")):
        done = panbayes(*arguments)
        assert done.returncode == 2
        assert done.stderr.startswith("error: ")
        assert len(done.stderr.splitlines()) == 1
        assert done.stderr.rstrip("\n").isprintable()


def test_show_tells_what_a_holder_has_to_know(folder: Path, panbayes: Panbayes) -> None:
    study = changed(epsilon=Fraction("0.5"), delta=Fraction("1e-6"), adjacency="add-remove")
    (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
    before = sorted(folder.rglob("*"))
    shown = panbayes("study", "show", "study.toml").stdout
    for fact in (
        study.hash,
        str(study.grant),
        "the number of records is private",
        "at most 10 round trips, and 2 more for every holder, which choose in turns",
        "clinic (approved), 10 attributes",
        "delta = 1e-06",
    ):
        assert fact in shown
    told = json.loads(panbayes("study", "show", "study.toml", "--json").stdout)
    assert (told["hash"], told["grant"], told["content"]) == (study.hash, study.grant.json(), study.canonical())
    assert sorted(folder.rglob("*")) == before


def test_show_tells_who_asks_and_what_happens_without_a_holder(folder: Path, panbayes: Panbayes) -> None:
    about = About("to learn who is readmitted", contact="a@north.example", until=date(2027, 3, 1))
    study = changed(missing="continue", quorum=2, patience=36, about=about)
    (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
    shown = panbayes("study", "show", "study.toml").stdout
    for fact in (
        r"purpose +to learn who is readmitted\n",
        r"contact +a@north\.example\n",
        r"until +2027-03-01\n",
        r"a holder that has not answered within 36 hours is left out from then on, as long as 2 holders are left\n",
        r'chosen +missing = "continue", quorum = 2, patience = 36\n',
    ):
        assert re.search(fact, shown), fact
    told = json.loads(panbayes("study", "show", "study.toml", "--json").stdout)["content"]
    assert told["about"] == about.given
    assert (told["missing"], told["quorum"], told["patience"]) == ("continue", 2, "36")
    (folder / "plain.toml").write_text(study_text(PLAIN, schema="clinic.toml"), encoding="utf-8")
    assert "missing" not in panbayes("study", "show", "plain.toml").stdout


def test_show_says_which_keys_have_no_effect(folder: Path, panbayes: Panbayes) -> None:
    for strategy, read in (("adaptive", ""), ("independent", ' ("independent" does not read it)')):
        study = changed(strategy=strategy, epsilon=Fraction(1), target="sex", choices="together")
        (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
        shown = panbayes("study", "show", "study.toml").stdout
        assert f'target = "sex"{read}, choices = "together"{read}\n' in shown


def test_show_warns_of_a_study_without_privacy(folder: Path, panbayes: Panbayes) -> None:
    study = changed(strategy="non-private", epsilon=None)
    (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
    assert "NOT PRIVATE" in panbayes("study", "show", "study.toml").stdout
    assert json.loads(panbayes("study", "show", "study.toml", "--json").stdout)["private"] is False


def test_show_prints_the_plan(folder: Path, panbayes: Panbayes) -> None:
    study = changed(strategy="noisy-majority-voting", epsilon=Fraction(1, 3), split=Fraction(1, 4))
    (folder / "study.toml").write_text(study_text(study, schema="clinic.toml"), encoding="utf-8")
    shown = panbayes("study", "show", "study.toml").stdout
    votes = r"9 +9 choices of an attribute and its parents +25 candidates +ε = 0.00925926 \(1/108\) each time"
    assert re.search(votes, shown)
    assert re.search(r"1 +counts of 10 tables +250 cells +ε = 0.25 each time", shown)
    asks = json.loads(panbayes("study", "show", "study.toml", "--json").stdout)["asks"]
    assert [(stage["times"], stage["loss"]["epsilon"]) for stage in asks] == [(9, "1/108"), (1, "1/4")]
    assert [stage["most"] for stage in asks] == ["25 candidates", "250 cells"]
