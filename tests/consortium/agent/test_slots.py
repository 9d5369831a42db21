"""When answers leave: never before they are ready, always at a tick of their own slot, whatever the clock shows."""

from __future__ import annotations

import math
from contextlib import nullcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from panbayes.consortium.agent.slots import Slot, check_grid
from panbayes.errors import InputError
from tests.consortium.agent.houses import SCHEMA, STUDY, study_body, study_of

GRIDS = st.sampled_from([0.25, 0.5, 1.0, 2.0, 3.0, 60.0])
MOMENTS = st.integers(0, 2**30).map(lambda eighths: eighths / 8)


def test_every_slot_of_small_numbers_is_the_one_that_is_counted_out() -> None:
    for grid in (1, 2, 5):
        for promised in range(41):
            slot = Slot.promised(taken_up=100.0, seconds=promised / 4, grid=grid)
            multiples = [n for n in range(1, 100) if n * grid >= promised / 4]
            assert slot.length == min(multiples) * grid
            for took in range(121):
                leaves = slot.leaves(ready=100.0 + took / 4)
                ticks = [100.0 + k * slot.length for k in range(1, 200)]
                assert leaves == min(tick for tick in ticks if tick >= 100.0 + took / 4)
                assert leaves == 100.0 + slot.number(ready=100.0 + took / 4) * slot.length


@given(MOMENTS, st.integers(0, 800).map(lambda eighths: eighths / 8), GRIDS, st.integers(0, 8000))
@example(0.0, 0.0, 1.0, 0)
def test_what_is_ready_in_time_leaves_at_a_moment_that_does_not_depend_on_when_it_was_ready(
    taken_up: float, promised: float, grid: float, took: int
) -> None:
    slot = Slot.promised(taken_up=taken_up, seconds=promised, grid=grid)
    ready = taken_up + took / 8
    assert slot.length % grid == 0
    assert slot.length >= max(promised, grid)
    assert slot.length < promised + grid or slot.length == grid
    assert slot.leaves(ready=ready) >= ready
    late = Fraction(slot.leaves(ready=ready)) - Fraction(taken_up)
    assert late % Fraction(slot.length) == 0
    if took / 8 <= slot.length:
        assert slot.number(ready=ready) == 1
        assert slot.leaves(ready=ready) == taken_up + slot.length
    else:
        assert slot.number(ready=ready) == math.ceil(Fraction(took, 8) / Fraction(slot.length))


@given(MOMENTS, st.integers(1, 800).map(lambda eighths: eighths / 8), GRIDS)
def test_a_clock_that_counts_from_elsewhere_moves_nothing(moment: float, took: float, grid: float) -> None:
    here, there = (Slot.promised(taken_up=start, seconds=1.0, grid=grid) for start in (0.0, moment))
    assert here.number(ready=took) == there.number(ready=moment + took)
    assert here.leaves(ready=took) == there.leaves(ready=moment + took) - moment


def test_the_number_of_moments_at_which_an_answer_may_leave_is_the_number_of_slots() -> None:
    slot = Slot.promised(taken_up=0.0, seconds=1.0, grid=1)
    moments = {slot.leaves(ready=took / 100) for took in range(401)}
    assert moments == {1.0, 2.0, 3.0, 4.0}, "an overrun of k slots tells one of k moments: log2(k) bits"


def test_without_a_grid_answers_leave_when_they_are_ready() -> None:
    slot = Slot.promised(taken_up=5.0, seconds=100.0, grid=0)
    assert (slot.length, slot.leaves(ready=5.25), slot.number(ready=1e9)) == (0, 5.25, 1)


@pytest.mark.parametrize(("seconds", "grid"), [(-1.0, 1.0), (1.0, -1.0), (math.inf, 1.0), (1.0, math.nan)])
def test_what_is_no_promise_is_refused(seconds: float, grid: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Slot.promised(taken_up=0.0, seconds=seconds, grid=grid)


def test_a_private_number_of_rows_needs_a_declared_bound() -> None:
    counted = SCHEMA.replace("[[attributes]]", '[unit]\ncolumn = "id"\nmax_records = 1\n\n[[attributes]]', 1)
    studies = [
        (study_of(study_body(f'{STUDY}adjacency = "{adjacency}"\n', schema)), adjacency, schema)
        for adjacency, schema in product(("replace", "add-remove"), (SCHEMA, counted))
    ]
    for study, adjacency, schema in studies:
        private = adjacency == "add-remove" or schema == counted
        for grid, bound in product((1.0, 0.001, 0.0), (None, 1000)):
            refused = grid > 0 and bound is None and private
            with pytest.raises(InputError, match=r"^holder, rows_bound: is missing") if refused else nullcontext():
                check_grid(study, grid=grid, bound=bound, argument="holder, rows_bound")
