"""``panbayes schema draft`` and what it says; ``panbayes sample`` within bins."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from tests.conftest import Panbayes

TABLE = "patient_id,sex,seen,arrival\n" + "".join(
    f"p{i // 2}, {'FM'[i % 2]},2020-01-{i % 28 + 1:02},{i % 12 + 1:02}/28/2020\n" for i in range(600)
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.usefixtures("table")
def test_what_is_left_out_is_told(panbayes: Panbayes) -> None:
    done = panbayes("schema", "draft", "t.csv", "-o", "s.toml")
    assert done.stdout.splitlines() == [
        "s.toml: a draft with 2 attributes, read off private data.",
        "For the holder's eyes only: what follows was read off the data.",
        "  left out: patient_id: it seems to say whom a record belongs to",
        '  left out: arrival: dates, but not ISO 8601: declare a period, or age_at and bins, and format = "%m/%d/%Y"',
        "  seen: between the extremes of the data",
        '  "patient_id" seems to say whom a record belongs to, and comes again: then draft with --unit "patient_id"',
        'Check it as its first lines say, then set status = "approved".',
    ]
    told = json.loads(
        panbayes("schema", "draft", "t.csv", "-o", "s.toml", "--unit", "patient_id", "--drop", "seen", "--json").stdout
    )
    assert set(told["left_out"]) == {"arrival"}
    assert (told["attributes"], told["remarks"], told["advice"]) == (1, {}, [])
    kept = json.loads(panbayes("schema", "draft", "t.csv", "-o", "s.toml", "--keep", "sex", "--json").stdout)
    assert (kept["attributes"], kept["left_out"]) == (1, {})


@pytest.mark.parametrize("status", ["'approved'", '"approved"', '"""approved"""'])
def test_an_approved_schema_is_never_replaced(status: str, panbayes: Panbayes, table: Path) -> None:
    folder = table.parent
    approved = folder / "s.toml"
    text = f'version = 1\nname = "s"\n  status   =   {status} # signed\nbroken'
    approved.write_text(text)
    (folder / "link.toml").symlink_to(approved)
    os.link(approved, folder / "hard.toml")
    for name in ("s.toml", "link.toml", "hard.toml"):
        done = panbayes("schema", "draft", "t.csv", "-o", name)
        assert done.returncode == 2
        assert done.stderr == (
            f"error: --output: {name} is an approved schema; give another name, or remove the schema first\n"
        )
    assert approved.read_text() == text
    approved.write_text(text.replace("approved", "draft"))
    assert panbayes("schema", "draft", "t.csv", "-o", "s.toml").returncode == 0


def test_values_within_bins_are_the_same_in_python(panbayes: Panbayes, tmp_path: Path) -> None:
    schema = Schema(
        "t",
        (Attribute("n", bins=(0, 1000)), Attribute("d", period="year", between=("2020", "2020"), format="%d.%m.%Y")),
    )
    network = Network(schema, Structure.independent(2), (np.ones(1), np.ones(1)))
    network.save(tmp_path / "m.json")
    done = panbayes("sample", "m.json", "-n", "20", "-o", "s.csv", "--seed", "7", "--within", "uniform")
    assert done.returncode == 0, done.stderr
    drawn = pl.read_csv(tmp_path / "s.csv")
    assert drawn.equals(network.sample(20, 7, within="uniform"))
    assert drawn["n"].n_unique() > 10
    assert panbayes("sample", "m.json", "-n", "2", "-o", "m.csv").returncode == 0
    assert (tmp_path / "m.csv").read_text() == "n,d\n500,02.07.2020\n500,02.07.2020\n"
    done = panbayes("sample", "m.json", "-n", "2", "-o", "s.csv", "--within", "random")
    assert (done.returncode, done.stderr) == (2, 'error: --within: found "random"; known: midpoint, uniform\n')
