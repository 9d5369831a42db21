"""``panbayes plan``: what is foreseen, what a wish takes, and what is refused, all without any data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from panbayes.cli.demo.population import clinic_schema
from panbayes.schema.schema import dump_schema
from tests.conftest import Panbayes

STUDY = """
version = 1
name = "three clinics"
schema = "clinic.toml"
epsilon = 1
"""
HERE = ("--holders", "3", "--records", "20000")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clinic.toml").write_text(dump_schema(clinic_schema()), encoding="utf-8")
    write(tmp_path)
    return tmp_path


def write(folder: Path, more: str = "", name: str = "study.toml") -> None:
    (folder / name).write_text(STUDY + more, encoding="utf-8")


def test_a_study_is_foreseen_without_data(folder: Path, panbayes: Panbayes) -> None:
    before = sorted(folder.iterdir())
    done = panbayes("plan", "study.toml", *HERE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "study.toml: three clinics, with 3 holders and 20,000 records in all. Nothing is read"
    )
    for words in ("costs", "protects", "the number of records", "marginals", "pairs", "round trips", "at most"):
        assert words in done.stdout
    assert "Noisy sufficient statistics is worth choosing from ε = " in done.stdout
    assert "Keep adaptive: " in done.stdout
    assert sorted(folder.iterdir()) == before
    assert max(map(len, done.stdout.splitlines())) < 240


@pytest.mark.parametrize("strategy", ["independent", "noisy-majority-voting", "noisy-model", "privbayes"])
def test_every_strategy_has_its_plan(folder: Path, panbayes: Panbayes, strategy: str) -> None:
    write(folder, f'strategy = "{strategy}"\n')
    done = panbayes("plan", "study.toml", "--records", "20000", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["strategy"] == strategy
    assert found["holders"] == 1
    assert 0 < found["expected_error"]["marginals"] < 1
    assert (found["expected_error"]["pairs"] is None) == (strategy == "independent")
    assert found["round_trips"]["expected"] <= found["round_trips"]["at_most"]
    assert all(one["loss"]["class"] == "pure" for one in found["spends"])


def test_strategies_side_by_side(folder: Path, panbayes: Panbayes) -> None:
    write(folder, 'delta = 1e-9\nadjacency = "add-remove"\n')
    done = panbayes("plan", "study.toml", *HERE, "--compare")
    assert done.returncode == 0, done.stderr
    rows = [line.split()[0] for line in done.stdout.splitlines() if line.startswith("  ") and line.count("%")]
    assert {"adaptive", "independent*", "noisy-majority-voting*"} <= set(rows)
    assert "* pure ε and replacing one record" in done.stdout
    data = json.loads(panbayes("plan", "study.toml", *HERE, "--compare", "--json").stdout)
    assert data["compared"]["adaptive"]["grant"]["class"] == "zcdp"
    assert data["compared"]["independent"]["grant"]["class"] == "pure"


@pytest.mark.usefixtures("folder")
def test_records_of_each_holder(panbayes: Panbayes) -> None:
    one, other = (
        json.loads(panbayes("plan", "study.toml", "--holders", "4", *more, "--json").stdout)
        for more in (("--records", "20000"), ("--records", "5000", "--each"))
    )
    assert one == other


@pytest.mark.usefixtures("folder")
def test_a_wish_asks_for_what_is_not_given(panbayes: Panbayes) -> None:
    want = ("--want", "marginals within 1 %")
    asked = {
        "epsilon": (*HERE, *want),
        "records": ("--holders", "3", *want),
        "holders": ("--records", "20000", *want),
    }
    for name, arguments in asked.items():
        done = panbayes("plan", "study.toml", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        wish = found["wish"] if name == "epsilon" else found
        assert wish["asked"] == name
        assert wish["takes"] > 0
    text = panbayes("plan", "study.toml", *HERE, *want).stdout
    assert "Marginals within 1 %: takes ε = " in text
    text = panbayes("plan", "study.toml", "--holders", "3", *want).stdout
    assert "records in all or more, expected with 3 holders, at ε = 1." in text
    text = panbayes("plan", "study.toml", "--records", "20000", *want).stdout
    assert "holds for at most" in text
    text = panbayes("plan", "study.toml", "--records", "2000", "--each", *want).stdout
    assert "or more, expected with 2,000 records at each holder" in text


def test_what_cannot_be_reached(folder: Path, panbayes: Panbayes) -> None:
    write(folder, 'strategy = "independent"\n')
    want = ("--want", "pairs within 2 %")
    for arguments in (HERE, ("--holders", "3"), ("--records", "20000"), ("--records", "20000", "--each")):
        done = panbayes("plan", "study.toml", *arguments, *want)
        assert done.returncode == 0, done.stderr
        assert "Pairs within 2 %: cannot be reached" in done.stdout
    want = ("--want", "marginals within 0.0000000001 %")
    done = panbayes("plan", "study.toml", "--holders", "3", *want)
    assert "cannot be reached with up to 2,147,483,647 records in all, expected with 3 holders" in done.stdout
    done = panbayes("plan", "study.toml", "--records", "20000", "--each", *want)
    assert "cannot be reached with up to 1,000 holders, expected with 20,000 records at each holder" in done.stdout


def test_what_a_wish_takes_is_what_is_foreseen_with_it(folder: Path, panbayes: Panbayes) -> None:
    want = ("--want", "marginals within 1 %")
    for strategy in ("adaptive", "noisy-majority-voting"):
        write(folder, f'strategy = "{strategy}"\n')
        epsilon = json.loads(panbayes("plan", "study.toml", *HERE, *want, "--json").stdout)["wish"]["takes"]
        records = json.loads(panbayes("plan", "study.toml", "--holders", "3", *want, "--json").stdout)["takes"]
        (folder / "other.toml").write_text(
            (folder / "study.toml").read_text(encoding="utf-8").replace("epsilon = 1", f"epsilon = {epsilon:g}"),
            encoding="utf-8",
        )
        for study, here in (("other.toml", HERE), ("study.toml", ("--holders", "3", "--records", str(records)))):
            found = json.loads(panbayes("plan", study, *here, "--json").stdout)
            assert 0.005 < found["expected_error"]["marginals"] <= 0.01


@pytest.mark.usefixtures("folder")
def test_no_threshold_is_told_where_the_text_says_that_there_is_none(panbayes: Panbayes) -> None:
    little = ("plan", "study.toml", "--records", "10")
    assert "no ε makes its scores as good" in panbayes(*little).stdout
    assert json.loads(panbayes(*little, "--json").stdout)["statistics_threshold"] is None
    assert json.loads(panbayes("plan", "study.toml", *HERE, "--json").stdout)["statistics_threshold"] > 0


def test_a_picture_is_drawn_and_never_replaces_anything(folder: Path, panbayes: Panbayes) -> None:
    pytest.importorskip("matplotlib")
    done = panbayes("plan", "study.toml", *HERE, "--picture", "plan.png", "--want", "pairs within 5 %")
    assert done.returncode == 0, done.stderr
    drawn = (folder / "plan.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert len(drawn) > 20_000
    done = panbayes("plan", "study.toml", *HERE, "--picture", "plan.png")
    assert done.returncode == 2
    assert "--picture: plan.png exists" in done.stderr
    assert (folder / "plan.png").read_bytes() == drawn


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--records", "20000", "--holders", "0"), "--holders: found 0"),
        (("--records", "2", "--holders", "3"), "--records: found 2 for 3 holders"),
        (("--records", "0"), "--records: found 0"),
        (("--holders", "3"), "--records: is missing"),
        (("--records", "99", "--want", "all of it"), '--want: found "all of it"; give "marginals within 1 %" or'),
        (("--records", "99", "--picture", "plan.txt"), "--picture: found plan.txt; give a name that ends in .png"),
        (("--records", "99", "--picture", "absent/plan.png"), "--picture: "),
        (
            ("--want", "pairs within 5 %", "--picture", "a.png"),
            "--picture: is given, and --holders or --records is not",
        ),
    ],
)
def test_bad_input_is_refused_in_words(panbayes: Panbayes, arguments: tuple[str, ...], words: str) -> None:
    done = panbayes("plan", "study.toml", *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_studies_that_cannot_be_planned(folder: Path, panbayes: Panbayes) -> None:
    (folder / "half.toml").write_text('version = 1\nname = "half"\nschema = "clinic.toml"\n', encoding="utf-8")
    done = panbayes("plan", "half.toml", *HERE)
    assert done.returncode == 2
    assert "epsilon" in done.stderr
    write(folder, 'strategy = "non-private"\n')
    done = panbayes("plan", "study.toml", *HERE)
    assert done.returncode == 2
    assert "adds no noise" in done.stderr
    assert panbayes("plan", "absent.toml", *HERE).returncode == 2


def test_advice_says_what_the_strategy_does_not_know(folder: Path, panbayes: Panbayes) -> None:
    little, words = ("plan", "study.toml", "--records", "10"), "It knows pure ε and replacing one record alone"
    for more, told in (("", False), ('adjacency = "add-remove"\n', True), ("delta = 1e-9\n", True)):
        write(folder, more)
        text = panbayes(*little).stdout
        assert "Pick independent: " in text
        assert (words in text) == told
    write(folder, "delta = 1e-9\n")
    assert words not in panbayes("plan", "study.toml", "--holders", "3", "--records", "200000").stdout
