"""One person with one file: learn, sample, ask, classify, score, show, export, as a newcomer would type them."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.cli.demo.population import clinic_network, clinic_schema
from panbayes.consortium.agreement.strategy import strategies
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, dump_schema
from panbayes.tables.table import Table
from tests.conftest import Panbayes
from tests.running import run_here

STUDY = """\
version = 1
name = "clinic"
schema = "clinic.toml"
strategy = "privbayes"
epsilon = 1.0
"""


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files and one learned model, made once."""
    folder = tmp_path_factory.mktemp("clinic")
    population = clinic_network()
    (folder / "clinic.toml").write_text(dump_schema(clinic_schema()))
    (folder / "study.toml").write_text(STUDY)
    population.sample_table(3000, 1).decoded().write_csv(folder / "clinic.csv")
    population.sample_table(3000, 3).decoded().write_csv(folder / "south.csv")
    population.sample_table(1000, 2).decoded().write_csv(folder / "test.csv")
    command = ("learn", "study.toml", "--holder", "clinic=clinic.csv", "-o", "model.json", "--state", "state")
    done = run_here(*command, folder=folder)
    assert done.returncode == 0, done.stderr
    assert "ε = 1 (pure differential privacy)" in done.stdout
    assert done.stderr == ""
    return folder


@pytest.fixture
def folder(prepared: Path, tmp_path: Path) -> Path:
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def model(folder: Path) -> Path:
    return folder / "model.json"


def told(panbayes: Panbayes, *arguments: str) -> dict[str, Any]:
    done = panbayes(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert isinstance(found, dict)
    return found


def test_the_whole_job(model: Path, panbayes: Panbayes) -> None:
    folder = model.parent
    assert told(panbayes, "sample", "model.json", "-n", "500", "-o", "out.csv", "--seed", "7")["records"] == 500
    first = (folder / "out.csv").read_text()
    told(panbayes, "sample", "model.json", "-n", "500", "-o", "out.csv", "--seed", "7")
    assert (folder / "out.csv").read_text() == first
    told(panbayes, "sample", "model.json", "-n", "50", "-o", "up.parquet", "--given", "insulin=Up", "--given", "sex=F")
    drawn = pl.read_parquet(folder / "up.parquet")
    assert set(drawn["insulin"]) == {"Up"}
    assert set(drawn["sex"]) == {"F"}

    found = told(panbayes, "query", "model.json", 'readmitted, sex | insulin=Up, age="[75, 120]"')
    rows = found["posterior"]
    assert isinstance(rows, list)
    assert sum(row["probability"] for row in rows) == pytest.approx(1)
    assert rows[0]["values"] == ["NO", "F"]

    scored = told(panbayes, "score", "model.json", "test.csv")
    assert scored["records"] == 1000
    test = Table.read(folder / "test.csv", clinic_schema())
    bits = -float(Network.load(model).log_prob(test).mean()) / math.log(2)
    assert float(str(scored["cross_entropy_bits"])) == pytest.approx(bits)
    assert 14 < bits < 40  # the noise of one run moves it by 0.3, around 16
    assert "holder's eyes" in str(scored["notice"])

    classified = told(panbayes, "classify", "model.json", "test.csv", "--target", "insulin", "-o", "classes.csv")
    classes = pl.read_csv(folder / "classes.csv")
    right = (classes["insulin_predicted"] == classes["insulin"]).mean()
    assert float(str(classified["accuracy"])) == pytest.approx(right)
    assert classes.height == 1000
    assert set(classes["insulin_predicted"]) <= {"No", "Steady", "Up", "Down"}
    pl.read_csv(folder / "test.csv").drop("insulin").write_csv(folder / "blind.csv")
    blind = told(panbayes, "classify", "model.json", "blind.csv", "--target", "insulin", "-o", "blind_out.csv")
    assert "accuracy" not in blind
    assert pl.read_csv(folder / "blind_out.csv")["insulin_predicted"].equals(classes["insulin_predicted"])

    shown = told(panbayes, "show", "model.json")
    assert shown["private"] is True
    structure = shown["structure"]
    assert isinstance(structure, dict)
    assert len(structure) == 10
    told(panbayes, "export", "model.json", "model.bif")
    again = Network.load(folder / "model.bif")
    assert again.schema.names == Network.load(model).schema.names


def test_a_model_that_knows_no_error_says_so(model: Path, panbayes: Panbayes) -> None:
    assert model.exists()
    found = told(panbayes, "query", "model.json", "age | insulin=Up")
    assert found["interval"] is None
    assert found["remarks"] == ["No error is known: the model does not keep what its measurements would also allow."]
    assert set(found["expectation"]) == {"mean"}
    assert all("low" not in row for row in found["posterior"])
    assert "No error is known" in panbayes("query", "model.json", "insulin").stdout
    assert "No error is known" in panbayes("show", "model.json").stdout
    assert told(panbayes, "show", "model.json")["error"] is None
    told(panbayes, "classify", "model.json", "test.csv", "--target", "insulin", "-o", "classes.csv")
    assert "insulin_low" not in pl.read_csv(model.parent / "classes.csv").columns


def test_classify_finds_columns_with_blanks_around_their_names(panbayes: Panbayes, tmp_path: Path) -> None:
    """The schema may name a column with the blanks that its file has, as learning allows."""
    schema = Schema("blanks", tuple(Attribute(name, categories=("x", "y")) for name in (" a", "b")))
    same = np.array([[0.9, 0.1], [0.1, 0.9]])
    network = Network(schema, Structure.of([(0, ()), (1, (0,))]), (np.array([0.5, 0.5]), same))
    network.save(tmp_path / "blanks.json")
    (tmp_path / "rows.csv").write_text(" a, b\nx,x\ny,y\n")
    for target in (" a", "b"):
        told(panbayes, "classify", "blanks.json", "rows.csv", "--target", target, "-o", "out.csv")
        assert pl.read_csv(tmp_path / "out.csv")[f"{target}_predicted"].to_list() == ["x", "y"]
        assert network.classify(tmp_path / "rows.csv", target)["predicted"].to_list() == ["x", "y"]
        (tmp_path / "out.csv").unlink()


def test_classify_replaces_no_column_of_the_file(model: Path, panbayes: Panbayes) -> None:
    told(panbayes, "classify", "model.json", "test.csv", "--target", "insulin", "-o", "classes.csv")
    again = panbayes("classify", "model.json", "classes.csv", "--target", "insulin", "-o", "again.csv")
    assert again.returncode == 2
    assert 'classes.csv: has a column "insulin_predicted", which the output needs; rename or drop it' in again.stderr
    assert not (model.parent / "again.csv").exists()


def test_no_more_records_are_drawn_than_can_be(model: Path, panbayes: Panbayes) -> None:
    for many in ("1000000001", "99999999999999999999"):
        found = panbayes("sample", "model.json", "-n", many, "-o", "many.csv")
        assert found.returncode == 2
        assert "draw at most 1,000,000,000 records at a time" in found.stderr
    assert not (model.parent / "many.csv").exists()


def test_a_file_that_states_nothing_is_not_said_to_be_learned_without_privacy(model: Path, panbayes: Panbayes) -> None:
    told(panbayes, "export", "model.json", "model.bif")
    shown = panbayes("show", "model.bif").stdout
    assert "nothing in this file states what it was learned from" in shown
    assert "learned without privacy" not in shown
    assert "nothing in this file states" in panbayes("sample", "model.bif", "-n", "5", "-o", "few.csv").stdout
    (model.parent / "open.toml").write_text(STUDY.replace("privbayes", "non-private"))
    learned = panbayes("learn", "open.toml", "--holder", "clinic=clinic.csv", "-o", "open.json", "--state", "open")
    assert "this model was learned without privacy" in learned.stdout, learned.stderr
    assert "this model was learned without privacy" in panbayes("show", "open.json").stdout


def test_one_is_one(folder: Path, panbayes: Panbayes) -> None:
    law = (np.array([0.25, 0.75]),)
    Network(Schema("one", (Attribute("a", categories=("x", "y")),)), Structure(((0, ()),)), law).save(folder / "a.json")
    assert "1 attribute, 0 dependencies, 1 free parameter\n" in panbayes("show", "a.json").stdout


def test_what_has_no_number_is_answered_without_a_mean(folder: Path, panbayes: Panbayes) -> None:
    age = Attribute("age", bins=(0, 40, 120), missing="missing")
    asked = Attribute("asked", categories=("no", "yes"))
    tables = (np.array([0.5, 0.5]), np.array([[0.0, 0.0, 1.0], [0.6, 0.4, 0.0]]))
    structure = Structure(((0, ()), (1, (0,))))
    Network(Schema("ages", (asked, age)), structure, tables).save(folder / "ages.json")
    found = told(panbayes, "query", "ages.json", "age | asked=no")
    assert found["expectation"] is None
    assert [row["probability"] for row in found["posterior"]] == [0.0, 0.0, 1.0]
    assert told(panbayes, "query", "ages.json", "age | asked=yes")["expectation"] == {"mean": pytest.approx(44.0)}
    assert told(panbayes, "query", "ages.json", "age, asked")["expectation"] is None
    binned = panbayes("query", "ages.json", "asked | age=17").stdout
    assert binned.splitlines()[0] == "asked given age = 17, counted as [0, 40):"
    assert told(panbayes, "query", "ages.json", "asked | age=17")["counted"] == {"age": "[0, 40)"}
    assert panbayes("query", "ages.json", "age | asked=no").stdout.splitlines()[0] == "age given asked = no:"


def test_answers_come_with_intervals(folder: Path, panbayes: Panbayes) -> None:
    (folder / "adaptive.toml").write_text(STUDY.replace("privbayes", "adaptive"))
    learned = ("learn", "adaptive.toml", "--holder", "clinic=clinic.csv", "-o", "known.json", "--state", "known")
    assert panbayes(*learned).returncode == 0
    network = Network.load(folder / "known.json")
    found = told(panbayes, "query", "known.json", "age | insulin=Up")
    answer = network.posterior("age", {"insulin": "Up"})
    assert found["interval"] == 0.9
    for row in found["posterior"]:
        assert (row["low"], row["high"]) == answer.interval(*row["values"])
        assert row["low"] <= row["probability"] <= row["high"]
    mean = network.expectation("age", {"insulin": "Up"})
    assert mean.interval is not None
    assert found["expectation"] == {"mean": mean.mean, "low": mean.interval[0], "high": mean.interval[1]}
    text = panbayes("query", "known.json", "age | insulin=Up").stdout
    assert "probability  90 % interval" in text
    assert str(mean) in text
    assert told(panbayes, "query", "known.json", "insulin")["expectation"] is None
    assert told(panbayes, "query", "known.json", "age, sex")["expectation"] is None

    shown = told(panbayes, "show", "known.json")["error"]
    intervals = network.intervals()
    assert intervals is not None
    assert shown["largest"]["age"] == pytest.approx(float((intervals["age"][:, 1] - intervals["age"][:, 0]).max()) / 2)
    assert 1 <= shown["groups"]["age"] <= network.schema.sizes[network.schema.index("age")]
    assert "groups  error    depends on" in " ".join(panbayes("show", "known.json").stdout.split("\n"))

    done = panbayes("classify", "known.json", "test.csv", "--target", "insulin", "-o", "classes.csv")
    assert "goes from insulin_low to insulin_high" in done.stdout
    classes = pl.read_csv(folder / "classes.csv")
    assert (classes["insulin_low"] <= classes["insulin_probability"]).all()
    assert (classes["insulin_probability"] <= classes["insulin_high"]).all()


def test_the_same_study_again_is_free_and_the_same(model: Path, panbayes: Panbayes) -> None:
    arguments = ("learn", "study.toml", "--holder", "clinic=clinic.csv", "--state", "state")
    panbayes(*arguments, "-o", "again.json")
    assert (model.parent / "again.json").read_bytes() == model.read_bytes()


@pytest.mark.parametrize("strategy", [name for name, strategy in strategies().items() if strategy.several])
def test_two_holders(strategy: str, folder: Path, panbayes: Panbayes) -> None:
    (folder / "study.toml").write_text(STUDY.replace("privbayes", strategy))
    found = told(
        panbayes,
        "learn",
        "study.toml",
        "--holder",
        "a=clinic.csv",
        "--holder",
        "b=south.csv",
        "-o",
        "m.json",
        "--state",
        "s",
    )
    assert found["private"] is (strategy != "non-private")
    if strategy == "non-private":
        assert "NOT PRIVATE" in panbayes("show", "m.json").stdout
        assert "NOT PRIVATE" in panbayes("sample", "m.json", "-n", "5", "-o", "x.csv").stdout


def test_simulated_results_are_stamped(folder: Path, panbayes: Panbayes) -> None:
    done = panbayes("learn", "study.toml", "--holder", "a=clinic.csv", "-o", "m.json", "--simulate", "5")
    assert "NOT PRIVATE" in done.stdout
    assert "NOT PRIVATE" in panbayes("show", "m.json").stdout
    again = panbayes("learn", "study.toml", "--holder", "a=clinic.csv", "-o", "n.json", "--simulate", "5")
    assert again.returncode == 0
    assert (folder / "m.json").read_bytes() == (folder / "n.json").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("learn", "study.toml", "--holder", "clinic.csv", "-o", "x.json"),
            '--holder: found "clinic.csv"; give NAME=FILE',
        ),
        (("learn", "study.toml", "--holder", "a=clinic.csv", "--holder", "a=south.csv", "-o", "x.json"), '"a" twice'),
        (
            ("learn", "study.toml", "--holder", "a=clinic.csv", "--holder", "b=south.csv", "-o", "x.json"),
            "learns from one holder",
        ),
        (("learn", "study.toml", "--holder", "a=absent.csv", "-o", "x.json"), "absent.csv: cannot be read"),
        (("learn", "draft.toml", "--holder", "a=clinic.csv", "-o", "x.json"), "is a draft"),
        (("learn", "magic.toml", "--holder", "a=clinic.csv", "-o", "x.json"), 'strategy: found "magic"'),
        (("learn", "deep.toml", "--holder", "a=clinic.csv", "-o", "x.json"), "degree: found 10"),
        (
            ("learn", "study.toml", "--holder", "a=clinic.csv", "-o", "no/x.json"),
            "--output: no/x.json cannot be written",
        ),
        (("sample", "model.json", "-n", "5", "-o", "x.doc"), "--output: found x.doc"),
        (
            ("sample", "model.json", "-n", "5", "-o", "x.csv", "--given", "insulin=Much"),
            '"Much" is not a value of "insulin"',
        ),
        (("sample", "study.toml", "-n", "5", "-o", "x.csv"), "study.toml"),
        (("query", "model.json", "height"), '"height" is not in schema'),
        (("query", "model.json", "age | insulin=Much"), '"Much" is not a value of "insulin"; known: No, Steady'),
        (("query", "model.json", "age |"), "question: found nothing"),
        (("query", "cut.json", "age"), "cut.json"),
        (("query", "edited.json", "age"), "edited.json"),
        (("query", "newer.json", "age"), "newer.json"),
        (
            ("classify", "model.json", "test.csv", "--target", "height", "-o", "x.csv"),
            '--target: "height" is not in schema',
        ),
        (("score", "model.json", "study.toml"), "study.toml"),
        (("export", "model.json", "x.txt"), "OUT: found x.txt"),
    ],
)
def test_bad_input(arguments: tuple[str, ...], message: str, model: Path, panbayes: Panbayes) -> None:
    folder = model.parent
    text = model.read_text()
    (folder / "cut.json").write_text(text[: len(text) // 2])
    (folder / "edited.json").write_text(text.replace("0.1", "0.2", 1))
    (folder / "newer.json").write_text(re.sub(r'"version": ?\d+', '"version":99', text, count=1))
    (folder / "draft-schema.toml").write_text(dump_schema(clinic_schema()).replace("approved", "draft"))
    (folder / "draft.toml").write_text(STUDY.replace("clinic.toml", "draft-schema.toml"))
    (folder / "magic.toml").write_text(STUDY.replace("privbayes", "magic"))
    (folder / "deep.toml").write_text(STUDY + "degree = 10\n")
    before = sorted(folder.rglob("*"))
    done = panbayes(*arguments)
    assert done.returncode == 2, done.stdout
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert [p for p in sorted(folder.rglob("*")) if "ledger" not in str(p)] == [
        p for p in before if "ledger" not in str(p)
    ]


def test_a_statement_names_its_holders_and_leads_with_epsilon_and_delta(panbayes: Panbayes, tmp_path: Path) -> None:
    network = clinic_network()
    (tmp_path / "clinic.toml").write_text(dump_schema(network.schema), encoding="utf-8")
    study = 'version = 1\nname = "s"\nschema = "clinic.toml"\nepsilon = "4/3"\ndelta = 1e-9\n'
    (tmp_path / "study.toml").write_text(study, encoding="utf-8")
    holders: list[str] = []
    for seed, name in enumerate(("west", "north")):
        network.sample_table(300, seed).decoded().write_csv(tmp_path / f"{name}.csv")
        holders += ["--holder", f"{name}={name}.csv"]
    assert "(ε, δ) = (1.33333 (4/3), 1e-09), through ρ = " in panbayes("study", "show", "study.toml").stdout
    done = panbayes("learn", "study.toml", *holders, "-o", "m.json", "--state", ".")
    assert done.returncode == 0, done.stderr
    for shown in (done.stdout, panbayes("show", "m.json").stdout):
        assert "\nGuarantee: (ε, δ) = (1.33333 (4/3), 1e-09)\nThrough: ρ = " in shown
        assert re.search(r"^  by north(, west: ρ = .* each|: ρ = .*)$", shown, re.MULTILINE)
        assert "separate tables" not in shown
    assert "(ε, δ) = (1.33333 (4/3), 1e-09)" in panbayes("sample", "m.json", "-n", "5", "-o", "s.csv").stdout
