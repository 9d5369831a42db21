"""``panbayes schema bounds`` and ``panbayes schema categories``: the price, agreement, what is proposed."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.privacy.classes.pure import Pure
from panbayes.schema.schema import Schema
from tests.cli.typing_person import at_terminal
from tests.conftest import Panbayes
from tests.consortium.holder.datasets import account, declare

STATE = ("--state", ".")
AGE = ("schema", "bounds", "clinic", "age", "--epsilon", "0.2", *STATE)
GRID = (*AGE, "--low", "0", "--high", "120", "--step", "10")
JOB = ("schema", "categories", "clinic", "job", "--epsilon", "0.2", *STATE)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    return declare(tmp_path, cap="2")


def spent(ledger: Path) -> Pure:
    with Ledger.open(ledger) as opened:
        found = opened.summary().spent
    assert isinstance(found, Pure)
    return found


def pasted(snippet: str) -> Schema:
    return Schema.parse(f'version = 1\nname = "clinic"\nstatus = "approved"\n\n{snippet}')


def test_the_price_comes_first_and_without_agreement_nothing_happens(clinic: Path, panbayes: Panbayes) -> None:
    done = panbayes(*AGE)
    assert done.returncode == 2
    assert done.stdout.splitlines() == [
        "Asks: how many records have age between 0 and 1, 2, 5 times each power of ten, with both signs.",
        "Costs: ε = 0.2, from the account of clinic.",
        "Protects: adding or removing one person; the number of persons is private.",
        "A person is one patient, with at most 1 record.",
        "Left: ε = 2 of the cap now, ε = 1.8 afterwards.",
    ]
    assert done.stderr == (
        "error: --yes: is not given, and nobody is at the keyboard to be asked; give --yes to agree: nothing was "
        "computed\n"
    )
    assert panbayes(*AGE, "--json").stdout == ""
    assert spent(clinic) == Pure(Fraction(0))


def test_an_agreed_price_is_paid_once(clinic: Path, panbayes: Panbayes) -> None:
    paid = panbayes(*AGE, "--yes")
    assert (paid.returncode, paid.stderr) == (0, "")
    assert "Charged: ε = 0.2; ε = 1.8 of the cap is left.\n" in paid.stdout
    again = panbayes(*AGE)
    assert again.returncode == 0
    assert "Costs: nothing; it was answered before, and this is the same answer.\n" in again.stdout
    cut = "  value"
    assert again.stdout.partition(cut)[2] == paid.stdout.partition(cut)[2]
    assert spent(clinic) == Pure(Fraction(1, 5))
    snippet = paid.stdout.partition("Proposed, to be put into a schema:\n")[2]
    attribute = pasted(snippet).attributes[0]
    assert any(20 <= edge <= 100 for edge in attribute.bins)
    assert attribute.proposed == "ε = 0.2, add-remove, for each patient with at most 1 record"


def test_a_person_at_the_terminal_agrees_by_typing_yes(clinic: Path) -> None:
    folder = clinic.parent.parent
    refused = at_terminal(*AGE, folder=folder, typed=("no",))
    assert refused.code == 2
    assert "nothing was computed, and nothing charged" in " ".join(refused.text.split())
    assert spent(clinic) == Pure(Fraction(0))
    agreed = at_terminal(*AGE, folder=folder, typed=("yes",))
    assert agreed.code == 0
    assert 'type "yes"' in agreed.text
    assert spent(clinic) == Pure(Fraction(1, 5))


@pytest.mark.usefixtures("clinic")
def test_edges_from_a_grid_become_bins(panbayes: Panbayes) -> None:
    told = json.loads(panbayes(*GRID, "--bins", "3", "--yes", "--json").stdout)
    bins = pasted(told["attribute"]).attributes[0].bins
    assert (bins[0], bins[-1]) == (0, 120)
    assert 40 <= bins[1] <= 70
    assert told["charged"] is True
    assert told["left"] == {"class": "pure", "epsilon": "9/5"}
    assert told["error"] > 0
    other = json.loads(panbayes(*GRID, "--quantiles", "0.5,0.1", "--yes", "--json").stdout)
    assert other["question"]["shares"] == "1/10 1/2"


@pytest.mark.usefixtures("clinic")
def test_dates_get_bounds_in_their_calendar(panbayes: Panbayes) -> None:
    asked = ("schema", "bounds", "clinic", "seen", "--epsilon", "1", *STATE, "--period", "year", "--yes", "--json")
    attribute = pasted(json.loads(panbayes(*asked).stdout)["attribute"]).attributes[0]
    assert attribute.between[0] <= "2020" <= attribute.between[1]


@pytest.mark.usefixtures("clinic")
def test_categories_of_a_list_by_name_by_file_and_by_mapping(panbayes: Panbayes, tmp_path: Path) -> None:
    (tmp_path / "jobs.txt").write_text("nurse\n\n baker \nking\nnurse\n", encoding="utf-8")
    (tmp_path / "jobs.csv").write_text("prefix,group\nnur,care\nbak,food\n", encoding="utf-8")
    found = {}
    for option, value in (("--values", "nurse,baker,king"), ("--list", "jobs.txt"), ("--list", "jobs.csv")):
        done = panbayes(*JOB, option, value, "--yes", "--json")
        assert done.returncode == 0, done.stderr
        told = json.loads(done.stdout)
        found[value] = (told["charged"], pasted(told["attribute"]).attributes[0].labels)
    charged, labels = found["nurse,baker,king"]
    assert charged is True
    assert labels[:2] == ("nurse", "baker")
    assert found["jobs.txt"] == (False, labels)  # the same question, however it was written
    charged, labels = found["jobs.csv"]
    assert charged is True
    assert labels[:3] == ("care", "food", "other")


@pytest.mark.usefixtures("clinic")
def test_frequent_values_need_a_delta_and_have_an_account_of_it(panbayes: Panbayes) -> None:
    pure = panbayes(*JOB, "--unknown", "--yes")
    assert pure.returncode == 2
    assert pure.stderr.startswith("error: --delta: found 0: under pure ε no value of an unknown domain can be named")
    done = panbayes(*JOB, "--unknown", "--delta", "1e-7", "--yes")
    assert "Costs: ε = 0.2, and δ = 1e-7, from the account of clinic.\n" in done.stdout
    assert "Left: δ = 1e-6 of the dataset's own now, δ = 9e-7 afterwards.\n" in done.stdout
    assert 'categories = ["nurse", "baker"]' in done.stdout
    assert "smith" not in done.stdout
    assert "king" not in done.stdout
    over = panbayes(*JOB, "--unknown", "--delta", "1e-6", "--yes")
    assert over.returncode == 2
    assert "leaves no room" in over.stderr


def test_the_proposal_is_written_and_no_approved_schema_or_table_over(
    clinic: Path, panbayes: Panbayes, tmp_path: Path
) -> None:
    (tmp_path / "approved.toml").write_text('status = "approved"\n', encoding="utf-8")
    refused = panbayes(*AGE, "-o", "approved.toml", "--yes")
    assert (refused.returncode, spent(clinic)) == (2, Pure(Fraction(0)))
    assert "is an approved schema" in refused.stderr
    done = panbayes(*AGE, "-o", "age.toml", "--yes")
    assert "age.toml: the proposed attribute, to be put into a schema.\n" in done.stdout
    assert pasted((tmp_path / "age.toml").read_text(encoding="utf-8")).names == ("age",)
    table = (tmp_path / "people.csv").read_bytes()
    assert panbayes(*AGE, "-o", "people.csv").returncode == 2
    assert (tmp_path / "people.csv").read_bytes() == table


def test_nothing_is_proposed_where_nothing_stands_out(tmp_path: Path, panbayes: Panbayes) -> None:
    declare(tmp_path, table="patient,age,job\n1,40,nurse\n")
    done = panbayes(*JOB, "--unknown", "--delta", "1e-9", "-o", "job.toml", "--yes")
    assert done.returncode == 0
    assert "Nothing stands out from the noise: a larger ε, or more people, would tell more.\n" in done.stdout
    assert done.stderr == "job.toml: not written, since nothing is proposed\n"
    assert "nurse" not in done.stdout
    assert not (tmp_path / "job.toml").exists()


@pytest.mark.usefixtures("clinic")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("schema", "bounds", "nobody", "age", "--epsilon", "1", *STATE), 'DATASET: "nobody" is no declared dataset'),
        ((*AGE[:5], "0", *STATE), "--epsilon: found 0"),
        ((*AGE, "--low", "0"), "--low: does not go with the others"),
        ((*AGE, "--quantiles", "0.5"), "--quantiles: does not go with the others"),
        ((*AGE, "--format", "%d"), "--format: does not go with the others"),
        ((*AGE, "--period", "year", "--step", "1"), "--step: does not go with the others"),
        ((*AGE, "--period", "hour"), '--period: found "hour"'),
        ((*AGE, "--low", "9", "--high", "1", "--step", "1"), "--high: found 1, not above the low end"),
        ((*AGE, "--low", "0", "--high", "10", "--step", "3"), "--step: found 3"),
        ((*AGE, "--low", "0", "--high", "1000000", "--step", "1"), "--step: makes 1,000,000 cells"),
        ((*AGE, "--low", "a", "--high", "10", "--step", "3"), "--low: found 'a'"),
        ((*GRID, "--quantiles", "0.5,1"), "--quantiles: found one that is not between 0 and 1"),
        ((*GRID, "--bins", "1"), "--bins: found 1"),
        ((*AGE, "--blocks", "2026-Q4"), "--blocks: found 2026-Q4, and the dataset has no blocks"),
        (JOB, "--values, --list, --unknown: found 0 of them"),
        ((*JOB, "--values", "a", "--unknown"), "--values, --list, --unknown: found 2 of them"),
        ((*JOB, "--values", " , "), "--values: found no value"),
        ((*JOB, "--values", "a", "--delta", "1e-9"), "--delta: is given for a public list"),
        ((*JOB, "--list", "nowhere"), '--list: "nowhere" is no list of panbayes'),
        (("schema", "bounds", "clinic", "height", "--epsilon", "1", *STATE, "--yes"), "height"),
    ],
)
def test_bad_input_is_one_line_that_names_the_option(
    arguments: tuple[str, ...], said: str, panbayes: Panbayes, tmp_path: Path
) -> None:
    done = panbayes(*arguments)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert spent(account(tmp_path)) == Pure(Fraction(0))
