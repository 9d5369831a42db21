"""What a model carries of its study: who asked, why and until when, in the asker's own words."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.about import About
from panbayes.consortium.local.learn import learn
from tests.conftest import Panbayes
from tests.consortium.desk.desks import INDEPENDENT
from tests.consortium.studies import tables_for

ABOUT = About(
    purpose="who is readmitted, holders: none",
    requester="A. Author",
    institution="University of the North",
    contact="author@north.example",
    ethics="vote 7\u3164",
    until=dt.date(2099, 3, 1),
    region="the north",
)


def test_a_model_carries_and_shows_what_its_study_says_about_itself(panbayes: Panbayes, tmp_path: Path) -> None:
    study = replace(INDEPENDENT, about=ABOUT)
    network = learn(study, tables_for(study), simulate=3)
    assert {f"study {name}": text for name, text in ABOUT.given.items()}.items() <= network.about.items()
    network.save(tmp_path / "model.json")
    assert Network.load(tmp_path / "model.json").about == network.about
    shown = panbayes("show", "model.json").stdout.splitlines()
    assert shown[0] == "model.json (holders: large, small, strategy: independent, study: independent)"
    assert 'study purpose: "who is readmitted, holders: none"' in shown, "somebody's words stand by themselves"
    assert 'study requester: "A. Author"' in shown
    assert r'study ethics: "vote 7\u3164"' in shown
    assert json.loads(panbayes("show", "model.json", "--json").stdout)["about"]["study until"] == "2099-03-01"


def test_a_study_that_says_nothing_adds_nothing() -> None:
    network = learn(INDEPENDENT, tables_for(INDEPENDENT), simulate=3)
    assert not [name for name in network.about if name.startswith("study ")]
