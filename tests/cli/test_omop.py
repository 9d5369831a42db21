"""``panbayes omop``: from a feature file to a schema, in words, and as SQL."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.schema.omop.features import FEATURE_FILE, Features
from panbayes.schema.schema import Schema
from tests.conftest import Panbayes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "features.toml").write_text(FEATURE_FILE.example, encoding="utf-8")
    return tmp_path


def test_the_schema_is_written_from_the_features_alone(panbayes: Panbayes, folder: Path) -> None:
    done = panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    assert done.stdout == "people.toml: approved, 4 attributes, from features.toml alone.\n"
    assert Schema.load(folder / "people.toml") == Features.load(folder / "features.toml").schema
    again = panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    assert (again.returncode, "people.toml exists" in again.stderr) == (2, True)
    told = json.loads(panbayes("omop", "schema", "features.toml", "-o", "b.toml", "--json").stdout)
    assert told["features"] == Features.load(folder / "features.toml").hash
    assert told["hash"] == Schema.load(folder / "b.toml").hash


def test_a_draft_stays_one(panbayes: Panbayes, folder: Path) -> None:
    (folder / "features.toml").write_text(FEATURE_FILE.example.replace('"approved"', '"draft"'))
    done = panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    assert 'set status = "approved" in features.toml' in done.stdout
    assert Schema.load(folder / "people.toml").status == "draft"


def test_a_study_of_features_keeps_the_size_of_the_cohort_private(panbayes: Panbayes, folder: Path) -> None:
    panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    done = panbayes("study", "new", "study.toml", "--schema", "people.toml", "--epsilon", "1")
    assert done.returncode == 0
    study = Study.load(folder / "study.toml")
    assert study.adjacency == "add-remove"
    with pytest.raises(InputError, match=r"exact size of a cohort that the features choose; give adjacency"):
        Study("s", study.schema, epsilon=1)
    with pytest.raises(InputError, match="adjacency"):
        Study("s", study.schema, "noisy-model", epsilon=1)
    assert not Study("s", study.schema, "non-private").private


def test_features_in_words(panbayes: Panbayes, folder: Path) -> None:
    shown = panbayes("omop", "show", "features.toml").stdout
    assert shown.startswith("features.toml: diabetes, approved.\n")
    for line in (
        'Who: those whose first record of "diabetes" in condition_occurrence is from 2015-01-01 to 2024-12-31.',
        "Index date: the day of that record.",
        "Observed: from 365 days before the index date to 0 days after.",
        "Age: 18 to 120 in the year of the index date.",
        'whether there is a record of "insulin" in drug_exposure, from day -365 to day 0',
        f"Hash: {Features.load(folder / 'features.toml').hash}",
    ):
        assert line in shown
    told = json.loads(panbayes("omop", "show", "features.toml", "--json").stdout)
    assert told["concept_sets"]["insulin"] == [1596977]


def test_the_select_is_shown_in_dialects(panbayes: Panbayes, folder: Path) -> None:
    assert folder.exists()
    shown = panbayes("omop", "show", "features.toml", "--sql", "postgres", "--schema", "my cdm").stdout
    assert 'FROM "my cdm".person AS r' in shown
    told = json.loads(panbayes("omop", "show", "features.toml", "--sql", "duckdb", "--json").stdout)
    assert "FROM" in told["sql"]
    done = panbayes("omop", "show", "features.toml", "--sql", "cobol")
    assert (done.returncode, "give one of: duckdb" in done.stderr) == (2, True)


def test_what_is_not_installed_is_named_with_its_cure(
    panbayes: Panbayes, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert folder.exists()
    monkeypatch.delitem(sys.modules, "panbayes.tables.omop.select", raising=False)
    monkeypatch.delitem(sys.modules, "panbayes.tables.omop.expressions", raising=False)
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    done = panbayes("omop", "show", "features.toml", "--sql", "duckdb")
    assert (done.returncode, "pip install 'panbayes[databases]'" in done.stderr) == (2, True)
    assert panbayes("omop", "schema", "features.toml", "-o", "people.toml").returncode == 0


def test_sets_are_written_out(panbayes: Panbayes, folder: Path) -> None:
    text = FEATURE_FILE.example.replace("[1596977]", "[1]\ndescendants = true")
    (folder / "features.toml").write_text(text)
    (folder / "CONCEPT_ANCESTOR.csv").write_text(
        "ancestor_concept_id\tdescendant_concept_id\tmin_levels_of_separation\n1\t1\t0\n1\t2\t1\n2\t2\t0\n3\t1\t1\n"
    )
    done = panbayes("omop", "expand", "features.toml", "--vocabulary", "CONCEPT_ANCESTOR.csv", "-o", "listed.toml")
    assert done.stdout.splitlines() == [
        "listed.toml: 1 concept set written out, draft.",
        "  insulin: 2 concepts, from 1",
        'Read the lists, then set status = "approved".',
    ]
    listed = Features.load(folder / "listed.toml")
    assert (listed.ids("insulin"), listed.status) == ((1, 2), "draft")
    assert "# See that the vocabulary is a public one" in (folder / "listed.toml").read_text()
    before = panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    assert (before.returncode, "panbayes omop expand" in before.stderr) == (2, True)
