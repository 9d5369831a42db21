"""From an OMOP database to a model, as a site and its partners would do it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from panbayes.bayesnet.network import Network
from panbayes.consortium.agent.configuration import HOLDER_FILE
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.records import read_for
from panbayes.schema.omop.features import Features, dump_features
from tests.conftest import Panbayes
from tests.effort import soak
from tests.tables.omop.databases import in_duckdb
from tests.tables.omop.example import features_of, made_up


@pytest.fixture
def features(tmp_path: Path) -> Features:
    found = features_of("everybody on a day")
    (tmp_path / "features.toml").write_text(dump_features(found), encoding="utf-8")
    return found


def test_schema_study_model(panbayes: Panbayes, tmp_path: Path, features: Features) -> None:
    holders = []
    for seed, name in enumerate(("north", "south")):
        place = in_duckdb(made_up(seed, 900), tmp_path)
        holders += ["--holder", f"{name}={place}&features=features.toml"]
    for line in (
        ["omop", "schema", "features.toml", "-o", "people.toml"],
        ["study", "new", "study.toml", "--schema", "people.toml", "--epsilon", "4"],
    ):
        assert panbayes(*line).returncode == 0
    done = panbayes("learn", "study.toml", *holders, "-o", "model.json", "--state", "ledgers")
    assert done.returncode == 0, done.stderr
    assert "Protects: adding or removing one person" in done.stdout
    model = Network.load(tmp_path / "model.json")
    assert model.schema == features.schema
    assert model.posterior("sex")["female"] == pytest.approx(0.25, abs=0.15)
    again = panbayes("learn", "study.toml", *holders, "-o", "again.json", "--state", "ledgers")
    assert again.returncode == 0
    assert Network.load(tmp_path / "again.json").posterior("sex")["female"] == model.posterior("sex")["female"]
    shown = panbayes("query", "model.json", "sex | died=yes")
    assert "sex given died = yes" in shown.stdout


def test_a_draft_learns_nothing(panbayes: Panbayes, tmp_path: Path, features: Features) -> None:
    (tmp_path / "features.toml").write_text(dump_features(features).replace('"approved"', '"draft"'))
    panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    panbayes("study", "new", "study.toml", "--schema", "people.toml", "--epsilon", "1")
    place = in_duckdb(made_up(1, 20), tmp_path)
    done = panbayes(
        "learn", "study.toml", "--holder", f"north={place}&features=features.toml", "-o", "m.json", "--state", "."
    )
    assert (done.returncode, "is a draft" in done.stderr) == (2, True)


def test_the_model_does_not_replace_the_features(panbayes: Panbayes, tmp_path: Path, features: Features) -> None:
    panbayes("omop", "schema", "features.toml", "-o", "people.toml")
    panbayes("study", "new", "study.toml", "--schema", "people.toml", "--epsilon", "1")
    place = in_duckdb(made_up(1, 20), tmp_path)
    holder = f"north={place}&features=features.toml"
    done = panbayes("learn", "study.toml", "--holder", holder, "-o", "features.toml", "--state", ".")
    assert done.returncode == 2
    assert Features.load(tmp_path / "features.toml") == features


@soak
def test_a_site_elsewhere_answers_by_letters(panbayes: Panbayes, tmp_path: Path, features: Features) -> None:
    place = in_duckdb(made_up(4, 300), tmp_path)
    people = ("--officer", "mary=officer.pub", "--analyst", "uni=analyst.pub")
    for line in (
        ["omop", "schema", "features.toml", "-o", "people.toml"],
        ["study", "new", "study.toml", "--schema", "people.toml", "--epsilon", "1", "--name", "omop"],
        ["keygen", "analyst"],
        ["keygen", "officer"],
        ["holder", "init", "--name", "south", "--source", f"{place}&features=features.toml", "--cap", "3", *people],
        ["analyst", "enroll", "south", "south.pub"],
    ):
        done = panbayes(*line)
        assert done.returncode == 0, done.stderr
    text = (tmp_path / "holder.toml").read_text()
    (tmp_path / "holder.toml").write_text(text.replace("# [time]", "[time]\ngrid = 0", 1))
    (tmp_path / "letters").mkdir()
    learn = ["analyst", "learn", "study.toml", "--post", "letters", "-o", "model.json", "--state", "."]
    assert panbayes(*learn).returncode == 6
    panbayes("holder", "answer", "letters")
    words = panbayes("holder", "approve", "omop", "--key", "officer.key", "--yes").stdout
    assert f"hash must begin with {features.hash[:12]}" in " ".join(words.split())
    for _ in range(5):
        assert panbayes("holder", "answer", "letters").returncode == 0
        if panbayes(*learn).returncode == 0:
            break
    assert Network.load(tmp_path / "model.json").schema == features.schema


def test_a_holders_file_names_the_database(tmp_path: Path, features: Features) -> None:
    place = in_duckdb(made_up(2, 200), tmp_path)
    url = place.removeprefix("omop+").partition("?")[0]
    said = f'kind = "omop"\nurl = "{url}"\nfeatures = "features.toml"\nschema = "cdm"'
    text = HOLDER_FILE.example.replace('file = "north.csv"', said)
    (tmp_path / "holder.toml").write_text(text, encoding="utf-8")
    holder = HOLDER_FILE.load(tmp_path / "holder.toml")
    study = Study("s", features.schema, epsilon=1, adjacency="add-remove")
    with ExitStack() as stack:
        records = read_for(study, holder.data, argument="source", stack=stack)
        assert records.facts.records > 20
