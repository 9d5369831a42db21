"""What every class of privacy promises, for each class there is."""

from __future__ import annotations

from fractions import Fraction
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from panbayes.discovery import discover
from panbayes.privacy.adjacency import TableSensitivity
from panbayes.privacy.classes.pure import NOTHING, Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.events import DiscreteGaussian, DiscreteLaplace, Event, OneRadius, Selection, Together
from panbayes.privacy.loss import Loss, largest, total
from panbayes.privacy.losses import CLASSES, grant, loss_from_json

amounts = st.fractions(0, 50, max_denominator=10**6)
positive = st.fractions(Fraction(1, 10**6), 50, max_denominator=10**6)
classes = pytest.mark.parametrize("nothing", CLASSES.values(), ids=list(CLASSES))


def test_every_class_of_the_folder_is_known() -> None:
    found = {kind for kind in discover("panbayes.privacy.classes", type) if issubclass(kind, Loss) and kind is not Loss}
    assert found == {type(loss) for loss in CLASSES.values()}
    assert list(CLASSES) == [loss.tag for loss in CLASSES.values()]


@classes
@given(a=amounts, b=amounts, c=amounts)
def test_the_algebra_is_exact(nothing: Loss, a: Fraction, b: Fraction, c: Fraction) -> None:
    x, y, z = (nothing.with_amount(value) for value in (a, b, c))
    assert x.add(y) == y.add(x) == nothing.with_amount(a + b)
    assert x.add(y).add(z) == x.add(y.add(z)) == total((x, y, z))
    assert x.add(NOTHING) == NOTHING.add(x) == x
    assert x.part(Fraction(1, 3)).add(x.part(Fraction(2, 3))) == x
    assert x.times(3) == total([x] * 3)
    assert x.add(y).less(y) == x
    assert x.less(x.add(y)).amount == 0
    assert largest((x, y, z)).amount == max(a, b, c)
    assert x.implies(x.add(y))
    assert x.add(y).implies(x) == (b == 0)


@classes
@given(amount=amounts, size=st.integers(1, 6))
def test_a_group_loses_at_least_as_much_as_its_members_one_by_one(nothing: Loss, amount: Fraction, size: int) -> None:
    loss = nothing.with_amount(amount)
    assert loss.for_group(1) == loss
    assert loss.times(size).implies(loss.for_group(size))


@classes
@given(amount=amounts)
def test_what_is_written_is_read(nothing: Loss, amount: Fraction) -> None:
    loss = nothing.with_amount(amount)
    assert loss_from_json(loss.json(), argument="x") == loss
    assert str(loss).startswith(f"{loss.letter} = ")


@classes
@given(amount=positive, l1=st.integers(1, 50), l2=st.integers(1, 50))
def test_the_events_of_a_loss_spend_exactly_that(nothing: Loss, amount: Fraction, l1: int, l2: int) -> None:
    loss = nothing.with_amount(amount)
    assert loss.of_event(loss.tables_event(TableSensitivity(l1, l2))) == loss
    assert loss.of_event(loss.selection_event()) == loss
    both = Together((loss.tables_event(TableSensitivity(l1, l2)), loss.selection_event()), times=3)
    assert loss.of_event(both) == loss.times(6)


def test_pure_losses_count_half_their_square_in_rho_one_by_one() -> None:
    assert total((Pure(Fraction(1)), Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 4)))).amount == Fraction(5, 4)
    assert largest((Pure(Fraction(1)), ZeroConcentrated(Fraction(1, 4)))) == ZeroConcentrated(Fraction(1, 2))


def test_what_is_left_is_counted_in_its_own_class() -> None:
    rho, epsilon = ZeroConcentrated(Fraction(1)), Pure(Fraction(1))
    assert rho.less(epsilon) == ZeroConcentrated(Fraction(1, 2))
    assert rho.less(Pure(Fraction(2))) == ZeroConcentrated(Fraction(0))
    assert epsilon.less(ZeroConcentrated(Fraction(1, 10**6))) == Pure(Fraction(0)), "no ρ leaves anything of a pure ε"
    assert epsilon.less(ZeroConcentrated(Fraction(0))) == epsilon


def test_no_loss_at_all_is_none_in_every_class() -> None:
    for mine in CLASSES.values():
        for other in CLASSES.values():
            found = mine.with_amount(Fraction(3)).express(other)
            assert found == mine
            assert other.implies(mine)


@pytest.mark.parametrize(
    ("event", "pure", "rho"),
    [
        (DiscreteLaplace(Fraction(8), 2), Fraction(1, 4), Fraction(1, 32)),
        (DiscreteGaussian(Fraction(50), 2), None, Fraction(1, 50)),
        (OneRadius(Fraction(8), 2), Fraction(1, 4), Fraction(1, 32)),
        (Together((OneRadius(Fraction(8), 2), DiscreteLaplace(Fraction(8), 2))), Fraction(1, 2), Fraction(1, 16)),
        (Selection("permute-and-flip", Fraction(1, 4)), Fraction(1, 2), Fraction(1, 8)),
        (Selection("exponential", Fraction(1, 4)), Fraction(1, 2), Fraction(1, 32)),
        (Together((DiscreteLaplace(Fraction(8), 2), DiscreteGaussian(Fraction(50), 2))), None, Fraction(41, 800)),
        (Together((DiscreteLaplace(Fraction(8), 2),), times=4), Fraction(1), Fraction(1, 8)),
    ],
)
def test_an_event_is_accounted_for_under_both_classes(event: Event, pure: Fraction | None, rho: Fraction) -> None:
    assert Pure(Fraction(0)).of_event(event) == (None if pure is None else Pure(pure))
    assert ZeroConcentrated(Fraction(0)).of_event(event) == ZeroConcentrated(rho)


def test_an_irrational_pure_loss_is_rounded_up() -> None:
    found = Pure(Fraction(0)).of_event(Selection("exponential", Fraction(2)))
    assert found is not None
    assert 2 < found.epsilon**2 < 2 + Fraction(1, 10**9)


@classes
def test_a_loss_is_an_exact_non_negative_number(nothing: Loss) -> None:
    with pytest.raises(TypeError, match="must be a Fraction"):
        nothing.with_amount(cast(Fraction, 0.5))
    with pytest.raises(ValueError, match="cannot be negative"):
        nothing.with_amount(Fraction(-1, 10**9))


def test_a_study_grants_epsilon_or_what_implies_epsilon_and_delta() -> None:
    assert grant(Fraction(1), delta=Fraction(0)) == Pure(Fraction(1))
    assert grant(Fraction(1), delta=Fraction(1, 10**9)) == ZeroConcentrated(Fraction(14973, 10**6))
