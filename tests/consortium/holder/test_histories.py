"""What all answers reveal about one person stays below the cap, over all small histories; not so with a broken rule.

``histories.py`` has the rules. The real ledger, its register and the real reading must do what the rule does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import polars as pl
import pytest

from panbayes.consortium.holder.dataset import population
from panbayes.consortium.holder.ledger import ledger as ledger_module
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables.reading import read_records
from panbayes.tables.sources.file import File
from tests.consortium.holder.histories import (
    CAP,
    TIMES,
    ByDate,
    Forgetting,
    History,
    Newer,
    Plan,
    Rule,
    allowed,
    answers,
    histories,
    plans,
    worst,
)

DATES = Schema("dates", (Attribute("date", categories=TIMES),), unit=Unit("who"))
FROM_MEMORY = Dataset(File("/nowhere.csv"), Unit("who"), changing=True, blocks="monthly")


def test_no_plan_reveals_more_than_the_cap_about_anybody() -> None:
    assert worst("ab", (None, TIMES[0]), Rule) == CAP
    assert worst("a", (None, *TIMES), Rule) == CAP


@pytest.mark.parametrize(
    ("broken", "most"), [(ByDate, Fraction(3)), (Forgetting, Fraction(2)), (Newer, Fraction(3, 2))]
)
def test_with_a_broken_rule_some_plan_does(broken: Callable[[], Rule], most: Fraction) -> None:
    assert worst("a", (None, *TIMES), broken) == most > CAP


def played(history: History, plan: Plan, patch: pytest.MonkeyPatch) -> list[Counter[str]]:
    """Let the real ledger and the real reading answer a plan, without noise."""
    found: list[Counter[str]] = []
    kept: dict[str, Counter[str]] = {}
    with Ledger.in_memory() as ledger:
        with ledger.transaction() as transaction:
            transaction.dataset.declare(FROM_MEMORY)
        for ask in allowed(plan):
            if ask.study not in kept:
                patch.setattr(ledger_module, "no_time", lambda at=ask.at: f"{TIMES[at]}-15 12:00:00Z")
                frame = pl.DataFrame(
                    {"who": list(history[ask.at]), "date": list(history[ask.at].values())},
                    schema={"who": pl.String, "date": pl.String},
                )
                seen = population(ledger, frame, argument="data", chosen=tuple(sorted(ask.blocks)))
                assert seen.blocks == ask.blocks
                with read_records(frame, DATES, may_be_empty=True, admit=seen.people, marked=False) as records:
                    counts = records.count([(0,)]).flat.tolist()
                kept[ask.study] = Counter({date: many for date, many in zip(TIMES, counts, strict=True) if many})
            found.append(kept[ask.study])
    return found


def test_the_register_and_the_reading_do_what_the_rule_does(monkeypatch: pytest.MonkeyPatch) -> None:
    """All histories of two people that come and go, under some plans and those of studies that go on."""
    every = list(plans())
    chosen = [*every[5::26], *every[-3:]]
    for history in histories("ab", (None, TIMES[0])):
        for plan in chosen:
            assert played(history, plan, monkeypatch) == answers(history, plan, Rule), (history, plan)
