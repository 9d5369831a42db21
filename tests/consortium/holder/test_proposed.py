"""What is proposed from an answer: attributes that a schema takes, from noisy numbers alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.audit.privacy_loss import discrete_laplace_tail
from panbayes.consortium.holder.proposals.proposed import cost_text, propose
from panbayes.consortium.holder.proposals.wish import Answer, Cells, Edges, Protected, Values, Wish
from panbayes.dp.simulated import SimulatedNoise
from panbayes.schema.attribute import MAX_SIZE, Attribute
from panbayes.schema.grids import calendar, code_groups, decades, listed, steps
from panbayes.schema.schema import Schema, Unit
from panbayes.schema.toml_writer import toml_item
from panbayes.tables.distinct_values import count_values

EPSILON = Fraction(1, 10)
EVERYBODY = Protected("add-remove", Unit("id"))
AGE = steps("age", low=Fraction(0), high=Fraction(120), step=Fraction(10))
FAR = decades("pay")


def read_back(attribute: Attribute) -> Attribute:
    """The attribute as a schema file that it was pasted into has it."""
    text = f'version = 1\nname = "clinic"\nstatus = "approved"\n\n{toml_item("attributes", attribute)}'
    return Schema.parse(text).attributes[0]


def at(grid: Attribute, **counts: int) -> tuple[int, ...]:
    """Counts of a grid's cells, by label; nothing elsewhere."""
    found = np.zeros(grid.size, dtype=np.int64)
    for label, count in counts.items():
        found[grid.labels.index(label)] = count
    return tuple(found.tolist())


def attribute_of(wish: Wish, answer: Answer, *, bins: int = 5) -> Attribute:
    found = propose(wish, answer, EVERYBODY, bins=bins).attribute
    assert found is not None
    assert found.drafted is None
    assert found.proposed == cost_text(wish, EVERYBODY)
    assert read_back(found) == found
    assert read_back(found).proposed == found.proposed
    return found


def test_bounds_are_those_of_the_cells_that_stand_out() -> None:
    cells = at(FAR, **{"[0, 1e-308)": 900, "[10, 20)": 500, "[20, 50)": 600, "[1000, 2000)": 400, "[1e-05, 2e-05)": 20})
    found = attribute_of(Cells(FAR, EPSILON), cells)
    # Zeros have a bin of their own that ends where the next values begin, not at the next number of the grid.
    assert found.bins == (0, 10, 20, 1000, 2000)
    assert found.missing is None
    assert attribute_of(Cells(FAR, EPSILON), cells, bins=2).bins == (0, 20, 2000)
    assert attribute_of(Cells(FAR, EPSILON), cells, bins=1).bins == (0, 2000)


def test_numbers_below_zero_and_with_fractions_stay_as_they_are() -> None:
    cells = at(FAR, **{"[-0.5, -0.2)": 900, "[2, 5)": 900, "missing": 900})
    found = attribute_of(Cells(FAR, EPSILON), cells)
    assert (found.bins, found.missing) == ((-0.5, 2, 5), "missing")


def test_dates_get_the_first_and_the_last_period() -> None:
    years = calendar("seen", "year")
    found = attribute_of(Cells(years, EPSILON), at(years, **{"2019": 400, "2021": 300, "1950": 3}))
    assert (found.period, found.between) == ("year", ("2019", "2021"))
    days = calendar("seen", "month", low="2020-01", high="2021-12", form="%d.%m.%Y")
    assert attribute_of(Cells(days, EPSILON), at(days, **{"2020-03": 400})).format == "%d.%m.%Y"


def test_values_of_a_list_that_stand_out_are_kept_and_all_are_told() -> None:
    wards = listed("ward", ("north", "south", "other", "missing"))
    cells = (500, 20, 300, -7, 40, 600)
    found = propose(Cells(wards, EPSILON), cells, EVERYBODY, bins=1)
    assert [count for _, count in found.figures] == list(cells)
    kept = attribute_of(Cells(wards, EPSILON), cells)
    assert kept.categories == ("north", "other")
    assert (kept.other, kept.missing) == ("(other)", "(missing)")


def test_groups_of_codes_keep_their_rows() -> None:
    codes = code_groups("diagnosis", "icd10-chapters")
    some = attribute_of(Cells(codes, EPSILON), at(codes, **{codes.labels[3]: 500, codes.labels[8]: 400}))
    assert some.labels == (codes.labels[3], codes.labels[8], "other")
    assert some.index("E11.9") == 0
    all_of_them = attribute_of(Cells(codes, EPSILON), (500,) * codes.size)
    assert 'mapping = "icd10-chapters"' in toml_item("attributes", all_of_them)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=9))
def test_edges_become_bins_of_the_whole_grid(places: list[int]) -> None:
    shares = tuple(Fraction(place + 1, len(places) + 1) for place in range(len(places)))
    found = attribute_of(Edges(AGE, shares, EPSILON), tuple(places))
    assert (found.bins[0], found.bins[-1]) == (0, 120)
    assert all(low < high for low, high in pairwise(found.bins))
    assert set(found.bins[1:-1]) == {AGE.bins[place + 1] for place in places}


def test_frequent_values_are_categories_as_many_as_a_schema_holds() -> None:
    wish = Values("job", EPSILON, Fraction(1, 10**9))
    found = attribute_of(wish, (("nurse", 900), ("other", 800), ("7", 700)))
    assert found.categories == ("nurse", "other", "7")
    assert (found.other, found.missing) == ("(other)", "missing")
    many = tuple((f"job {number}", 500) for number in range(MAX_SIZE + 10))
    assert attribute_of(wish, many).size == MAX_SIZE


@given(st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=9))
def test_whatever_texts_people_have_make_an_attribute_that_is_read_back(texts: list[str]) -> None:
    counted = count_values(pl.DataFrame({"job": texts}), "job", unit=None, missing_values=("NA",))
    if counted.values:
        pairs = tuple((value, 500) for value in counted.values)
        found = attribute_of(Values("job", EPSILON, Fraction(1, 10**9)), pairs)
        assert found.categories == counted.values


@pytest.mark.parametrize(
    ("wish", "answer"),
    [
        (Cells(FAR, EPSILON), (0,) * FAR.size),
        (Cells(listed("ward", ("a", "b")), EPSILON), (1, 2, 3, 4)),
        (Values("job", EPSILON, Fraction(1, 10**9)), ()),
    ],
    ids=["grid", "list", "values"],
)
def test_what_does_not_stand_out_proposes_nothing(wish: Wish, answer: Answer) -> None:
    found = propose(wish, answer, EVERYBODY, bins=5)
    assert found.attribute is None
    assert found.threshold is not None


@pytest.mark.parametrize(
    "wish", [Cells(FAR, EPSILON), Cells(listed("ward", ("a", "b")), EPSILON)], ids=["grid", "list"]
)
def test_an_empty_cell_stands_out_once_in_a_thousand_times(wish: Cells) -> None:
    size = wish.attribute.size
    found = propose(wish, (0,) * size, EVERYBODY, bins=5).threshold
    assert found is not None
    chances = size * discrete_laplace_tail(np.array([found, found - 1]), scale=1 / EPSILON)
    assert chances[0] <= 1e-3 < chances[1]


@pytest.mark.parametrize("factor", [0.7, 1.0, 1.3])
def test_the_deviation_that_is_told_is_that_of_the_noise(factor: float) -> None:
    """It fits the noise within 5 % (some 3,700 cells, 5 standard errors), and none that is 30 % off does."""
    protected = Protected("replace", Unit("id", max_records=2))
    wish = Cells(FAR, EPSILON)
    drawn = wish.draw(np.zeros(FAR.size, dtype=np.int64), protected, noise=SimulatedNoise(9))
    told = propose(wish, drawn, protected, bins=5).deviation
    assert told is not None
    assert (abs(np.std(drawn) / (told * factor) - 1) < 0.1) == (factor == 1.0)


def test_what_it_cost_is_said_with_whom_it_protects() -> None:
    assert cost_text(Cells(AGE, EPSILON), EVERYBODY) == "ε = 0.1, add-remove, for each id with at most 1 record"
    assert cost_text(Cells(AGE, EPSILON), Protected("replace", None)) == "ε = 0.1, replace, for each record"


def test_a_proposal_changes_no_hash() -> None:
    plain = Attribute("age", bins=(0, 40, 120))
    marked = Attribute("age", bins=(0, 40, 120), proposed="ε = 0.1")
    assert Schema("s", (plain,)).hash == Schema("s", (marked,)).hash
    assert plain == marked
