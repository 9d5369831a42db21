"""``panbayes holder dataset``: what it says to people and to programs, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Panbayes
from tests.consortium.holder.ledgers import edit

TABLE = "patient,smokes\n" + "".join(f"p{number},no\n" for number in range(9))
DECLARE = ("holder", "dataset", "declare", "north", "--source", "north.csv", "--state", "state")


@pytest.fixture(autouse=True)
def table(tmp_path: Path) -> None:
    (tmp_path / "north.csv").write_text(TABLE, encoding="utf-8")


def test_a_dataset_is_declared_shown_listed_and_refreshed(panbayes: Panbayes, tmp_path: Path) -> None:
    options = ("--unit", "patient", "--changing", "--blocks", "yearly", "--cap", "2", "--delta", "1e-6")
    told = json.loads(panbayes(*DECLARE, *options, "--json").stdout)
    assert told["dataset"] == {
        "source": str(tmp_path / "north.csv"),
        "unit": {"column": "patient", "max_records": 1},
        "changing": True,
        "blocks": "yearly",
        "delta": "1/1000000",
        "delta_spent": "0",
        "renumbered": False,
    }
    refreshed = json.loads(panbayes("holder", "dataset", "refresh", "north", "--state", "state", "--json").stdout)
    assert refreshed["people"] == 9
    shown = panbayes("holder", "dataset", "show", "north", "--state", "state").stdout
    assert f"{refreshed['block']}  ε = 0  ε = 0\n" in shown
    assert "  Own δ spent: 0 of 1e-6." in shown
    listed = json.loads(panbayes("holder", "dataset", "list", "--state", "state", "--json").stdout)
    assert [(one["source"], one["changing"], one["blocks"]) for one in listed] == [
        (str(tmp_path / "north.csv"), True, "yearly")
    ]
    account = json.loads(panbayes("holder", "ledger", "show", "north", "--state", "state", "--json").stdout)[0]
    assert account["dataset"] == told["dataset"]
    assert [block["block"] for block in account["blocks"]] == [refreshed["block"]]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "--changing: is not given, nor is --fixed"),
        (("--changing", "--fixed"), "--changing: is given with --fixed"),
        (("--changing",), "--unit: is not given for a dataset that changes"),
        (("--fixed", "--blocks", "yearly"), "--blocks: is given for a fixed dataset"),
        (("--changing", "--unit", "patient", "--blocks", "weekly"), '--blocks: found "weekly"'),
        (("--changing", "--unit", "who"), '--unit: found "who"'),
        (("--fixed", "--delta", "2"), "--delta: found 2"),
        (("--fixed", "--config", "holder.toml"), "--config: is given with NAME or --state"),
    ],
)
def test_what_makes_no_sense_is_refused(options: tuple[str, ...], said: str, panbayes: Panbayes) -> None:
    done = panbayes(*DECLARE, *options)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("verb", ["show", "refresh", "renumber"])
def test_a_dataset_that_is_not_there_is_refused(verb: str, panbayes: Panbayes) -> None:
    options = ("--yes",) if verb == "renumber" else ()
    done = panbayes("holder", "dataset", verb, "nobody", "--state", "state", *options)
    assert (done.returncode, "no holder of that name has a ledger" in done.stderr) == (2, True), done.stderr
    assert "NAME: is not given" in panbayes("holder", "dataset", verb, *options).stderr
    panbayes("holder", "ledger", "cap", "nobody", "1", "--new", "--state", "state")
    done = panbayes("holder", "dataset", verb, "nobody", "--state", "state", *options)
    assert done.returncode == 2
    assert "dataset" in done.stderr or "has no blocks" in done.stderr


def test_without_datasets_the_list_says_so(panbayes: Panbayes) -> None:
    assert panbayes("holder", "dataset", "list", "--state", "state").stdout.endswith("no dataset is declared.\n")


def test_verify_says_that_the_sums_of_a_register_are_gone(panbayes: Panbayes, tmp_path: Path) -> None:
    verify = ("holder", "ledger", "verify", "north", "--state", "state")
    panbayes(*DECLARE, "--unit", "patient", "--changing", "--blocks", "yearly")
    assert "register" not in panbayes(*verify).stdout, "nobody is in it"
    panbayes("holder", "dataset", "refresh", "north", "--state", "state")
    assert "register" not in panbayes(*verify).stdout
    (path,) = (tmp_path / "state").rglob("*.ledger")
    edit(path, "DELETE FROM meta WHERE key = 'register'")
    told = panbayes(*verify)
    assert (told.returncode, "people are missing from the register" in told.stderr) == (5, True)
