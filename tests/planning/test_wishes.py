"""What a wish takes: enough, not much more than enough, and said where nothing is."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from reproduction.synthetic import synthetic_schema

from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.planning.advice import advise, alternatives, statistics_threshold
from panbayes.planning.forecast import Setting, forecast
from panbayes.planning.wishes import (
    Wish,
    epsilon_for,
    holders_among,
    holders_for,
    most_holders,
    parse_wish,
    records_for,
    worse_epsilon,
    worse_records,
)
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.diabetes import diabetes_schema


def setting(strategy: str = "independent", *, epsilon: str = "1", holders: int = 3, records: int = 20_000) -> Setting:
    return Setting(Study("planned", synthetic_schema(), strategy, Fraction(epsilon)), holders, records)


def at(place: Setting, epsilon: float) -> Setting:
    return replace(place, study=replace(place.study, epsilon=Fraction(f"{epsilon:.6g}")))


ONE = Wish("marginals", 0.01)


@pytest.mark.parametrize("strategy", ["independent", "adaptive", "noisy-majority-voting", "noisy-model"])
@pytest.mark.parametrize("wish", [ONE, Wish("pairs", 0.05)])
def test_the_epsilon_is_enough_and_a_tenth_less_is_not(strategy: str, wish: Wish) -> None:
    place = setting(strategy)
    found = epsilon_for(wish, place)
    if strategy == "independent" and wish.of == "pairs":
        assert found is None
        return
    assert found is not None
    assert wish.met(at(place, found))
    assert not wish.met(at(place, 0.85 * found))


@pytest.mark.parametrize("strategy", ["independent", "noisy-majority-voting"])
def test_the_records_are_enough_and_a_tenth_less_are_not(strategy: str) -> None:
    place = setting(strategy, epsilon="0.1")
    found = records_for(ONE, place)
    assert found is not None
    assert ONE.met(replace(place, records=found))
    assert not ONE.met(replace(place, records=round(0.85 * found)))
    each = records_for(ONE, place, each=True)
    assert each is not None
    assert each == pytest.approx(found / 3, rel=0.15)


def test_holders_divide_what_there_is_and_add_what_they_have() -> None:
    place = setting(epsilon="0.1", holders=1)
    found = []
    for records in (20_000, 60_000, 110_000):
        among = holders_among(ONE, replace(place, records=records))
        assert among is not None
        assert ONE.met(replace(place, holders=among, records=records))
        assert not ONE.met(replace(place, holders=among + 1, records=records))
        found.append(among)
    assert max(found) > 8
    # Where holders clip what is mostly noise, more of them do not help; where they need not clip, they do.
    assert holders_for(ONE, replace(place, records=1000), each=1000) is None
    needed = holders_for(ONE, replace(place, records=4000), each=4000)
    assert needed is not None
    assert needed > 2
    assert ONE.met(replace(place, holders=needed, records=4000 * needed))
    assert not ONE.met(replace(place, holders=needed - 1, records=4000 * (needed - 1)))


def test_what_cannot_be_reached_is_said() -> None:
    pairs = Wish("pairs", 0.02)
    place = setting("independent")
    assert epsilon_for(pairs, place) is None
    assert records_for(pairs, place) is None
    assert holders_among(pairs, place) is None
    assert holders_for(pairs, replace(place, holders=1, records=100), each=100) is None
    assert holders_for(Wish("marginals", 1e-9), replace(place, holders=1, records=2), each=2) is None


def test_a_delta_leaves_nothing_to_spend_below_some_epsilon() -> None:
    study = Study("planned", synthetic_schema(), "adaptive", Fraction(1), delta=Fraction("1e-9"))
    found = epsilon_for(ONE, Setting(study, 3, 10**9))
    assert found is not None
    assert found < 0.01


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        ("marginals within 1 %", ONE),
        ("  pairs  within 2.5% ", Wish("pairs", 0.025)),
        ("pairs within .5 %", Wish("pairs", 0.005)),
    ],
)
def test_wishes_are_read(text: str, wish: Wish) -> None:
    assert parse_wish(text, argument="--want").of == wish.of
    assert parse_wish(text, argument="--want").share == pytest.approx(wish.share)


@pytest.mark.parametrize(
    "text", ["", "marginals", "marginals within 0 %", "pairs within 100 %", "triples within 1 %", "pairs within -1 %"]
)
def test_other_wishes_are_refused_with_what_is_allowed(text: str) -> None:
    with pytest.raises(InputError, match="marginals within 1 %") as error:
        parse_wish(text, argument="--want")
    assert error.value.argument == "--want"


def test_more_epsilon_records_and_fewer_holders_are_better() -> None:
    for strategy in ("independent", "noisy-sufficient-statistics", "noisy-model"):
        base = forecast(setting(strategy, epsilon="0.3")).errors.marginals
        assert forecast(setting(strategy, epsilon="3")).errors.marginals < 0.5 * base
        assert forecast(setting(strategy, epsilon="0.3", records=200_000)).errors.marginals < 0.5 * base
        assert forecast(setting(strategy, epsilon="0.3", holders=1)).errors.marginals < base


def test_advice_on_diabetes_and_on_little() -> None:
    study = Study("planned", diabetes_schema(), "noisy-majority-voting", Fraction(1))
    assert advise(Setting(study, 3, 71_518)).strategy == "adaptive"
    assert advise(Setting(replace(study, epsilon=Fraction(1, 1000)), 3, 71_518)).strategy == "independent"
    one = Schema("one", (Attribute("a", categories=("x", "y")),))
    alone = advise(Setting(Study("planned", one, "independent", Fraction(1)), 2, 1000))
    assert alone.strategy == "independent"
    assert "one attribute" in alone.why


def test_pure_is_recommended_where_delta_is_worse() -> None:
    few = Schema("few", tuple(Attribute(f"a{i}", categories=("x", "y")) for i in range(2)))
    study = Study("planned", few, "adaptive", Fraction(1), delta=Fraction("1e-9"))
    assert "pure ε is better here" in (advise(Setting(study, 3, 20_000)).purely or "")
    many = Study("planned", diabetes_schema(), "adaptive", Fraction(1), delta=Fraction("1e-9"))
    assert advise(Setting(many, 3, 71_518)).purely is None
    assert advise(Setting(replace(many, delta=Fraction(0)), 3, 71_518)).purely is None


def test_strategies_that_know_less_are_compared_as_they_are() -> None:
    study = Study(
        "planned", synthetic_schema(), "adaptive", Fraction(1), delta=Fraction("1e-9"), adjacency="add-remove"
    )
    found = alternatives(Setting(study, 3, 20_000))
    assert set(found) == {
        "adaptive",
        "independent",
        "noisy-majority-voting",
        "noisy-model",
        "noisy-sufficient-statistics",
    }
    assert found["adaptive"].study.delta == study.delta
    assert found["independent"].study.delta == 0
    assert "privbayes" in alternatives(Setting(study, 1, 20_000))


def test_the_threshold_falls_with_records_and_rises_with_holders() -> None:
    places = [setting(holders=1), setting(holders=1, records=80_000), setting(holders=4)]
    base, more, four = (found.epsilon for place in places if (found := statistics_threshold(place)))
    assert more == pytest.approx(base / 2)
    assert four == pytest.approx(2 * base)


@pytest.mark.parametrize(
    ("holders", "records", "words"),
    [(0, 10, "--holders: found 0"), (2000, 10_000, "--holders: found 2,000"), (5, 4, "--records: found 4 for 5")],
)
def test_settings_that_cannot_be_are_refused(holders: int, records: int, words: str) -> None:
    with pytest.raises(InputError, match=words):
        setting(holders=holders, records=records)


def test_strategies_without_noise_or_for_one_holder_are_refused() -> None:
    with pytest.raises(InputError, match="adds no noise"):
        Setting(Study("planned", synthetic_schema(), "non-private"), 1, 10)
    with pytest.raises(InputError, match="learns from one"):
        Setting(Study("planned", synthetic_schema(), "privbayes", Fraction(1)), 2, 10)


def test_more_that_is_not_enough_again_is_found() -> None:
    votes = Setting(Study("planned", diabetes_schema(), "noisy-majority-voting", Fraction(1)), 3, 71_518)
    wish = Wish("pairs", 0.15)
    enough = epsilon_for(wish, votes)
    assert enough is not None
    worse = worse_epsilon(wish, votes, enough)
    assert worse is not None
    assert worse > enough
    assert not wish.met(at(votes, worse))
    place = setting("independent", epsilon="0.1")
    assert worse_epsilon(ONE, place, epsilon_for(ONE, place) or 0.0) is None
    for each in (False, True):
        records = records_for(ONE, place, each=each)
        assert records is not None
        assert worse_records(ONE, place, records, each=each) is None
    # Half of what is enough is not, and that is the first that is looked at.
    assert worse_records(ONE, place, (records_for(ONE, place) or 0) // 4) is not None


def test_so_many_holders_are_looked_at() -> None:
    place = setting()
    assert most_holders(place.study, each=10) == 1000
    assert most_holders(place.study, each=10**9) == 2
    assert most_holders(replace(place.study, strategy="privbayes"), each=10) == 1


def test_where_the_smallest_cell_is_empty_there_is_no_threshold() -> None:
    few = Schema("few", tuple(Attribute(f"a{i}", categories=("x", "y")) for i in range(2)))
    study = Study("planned", few, "adaptive", Fraction(1))
    found = [statistics_threshold(Setting(study, 1, records)) for records in (10, 1000)]
    assert [threshold is not None and threshold.fails for threshold in found] == [True, False]
