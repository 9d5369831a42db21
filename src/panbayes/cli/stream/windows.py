"""Days, panels, forgetting, announced looks, several states: ``turn``, ``look``, ``portfolio``, and their options."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.kernels import announce_compiling
from panbayes.cli.stream.facts import known_users
from panbayes.cli.stream.publishing import ReleaseFile, check_release_place, write_release
from panbayes.cli.stream_files import State
from panbayes.cli.text import aligned, emit, plural
from panbayes.errors import InputError
from panbayes.privacy.written import show_fraction

if TYPE_CHECKING:
    from panbayes.stream.flipped_copy import FlippedCopies
    from panbayes.stream.setup import StreamSetup
    from panbayes.stream.statistics.methods.statistic import Answer

__all__ = ["Eta", "Flipped", "HalfLife", "Panel", "Periods", "look", "notes_of", "planned_copies", "portfolio", "turn"]

Panel = Annotated[
    str | None,
    typer.Option(
        metavar="PANEL",
        help="With hashed: every user counts in one period of 30 only (30d), or panel 3 of 12 counts (3/12).",
        show_default="all users count",
    ),
]
Periods = Annotated[
    bool, typer.Option("--periods", help="Start anew at every turn; the unit is then a user and a period.")
]
HalfLife = Annotated[
    str | None,
    typer.Option(
        metavar="TURNS",
        help="Forget: who was not seen for so many turns counts half (7 or 7d).",
        show_default="nothing is forgotten",
    ),
]
Flipped = Annotated[
    int, typer.Option(metavar="NUMBER", help="How many flipped copies of the state will be handed over.")
]
Eta = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="What each flipped copy takes of what the releases may lose, such as 0.25.",
        show_default=False,
    ),
]


def planned_copies(flipped: int, eta: str | None) -> FlippedCopies:
    """Read which flipped copies a user plans."""
    from panbayes.stream.flipped_copy import NO_COPIES, FlippedCopies

    if (flipped == 0) is not (eta is None):
        raise InputError("--eta", found="found one of --flipped and --eta", remedy="give both, or neither")
    return NO_COPIES if eta is None else FlippedCopies.plan(flipped, eta)


def notes_of(setup: StreamSetup, answer: Answer) -> list[str]:
    """Say what an estimate is about where not everybody counts for ever."""
    from panbayes.stream.distinct_estimate import DistinctEstimate
    from panbayes.stream.ids.universes.hashed import HashedUniverse
    from panbayes.stream.ids.where import describe
    from panbayes.stream.turns import decay_bias

    users, notes = setup.universe, list[str]()
    if setup.where:
        notes.append(f"It speaks of users with an event where {describe(setup.where)}.")
    if isinstance(users, HashedUniverse) and users.panels > 1:
        notes.append(f"It speaks of all users; one in {users.panels:,} was counted, and the error has that in it.")
    if setup.half_life is not None:
        notes.append(f"Users are weighed by when they were last seen: half after {setup.half_life:.4g} turns.")
    if setup.half_life is not None and isinstance(answer, DistinctEstimate):
        found = decay_bias(answer.users / (setup.cells_for_all or 1))
        bias = "by any amount" if found is None else f"by {-100 * found:.2g} %"
        notes.append(
            f"It is too low, as users share cells that decay with the latest: {bias} if all were seen one half-life ago"
            " (expect more users than there are, and it is less)."
        )
    if setup.renews:
        notes.append(f"E = {setup.calibration.epsilon} is for {setup.scope}.")
    return notes


def turn(state: State, released: ReleaseFile = None, as_json: AsJson = False) -> None:
    """End a period and begin the next: midnight, for a state of days.

    Where every period starts anew, the last release of the period is made first and shown, and the state is drawn anew;
    with a half-life a part is forgotten, and nothing is released.

    Examples:
        panbayes stream turn daily.state
        panbayes stream turn daily.state --release yesterday.json
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.statistics.methods.statistic import Answer
    from panbayes.stream.stream_estimator import StreamEstimator

    announce_compiling()
    with StreamEstimator[Answer].open(state) as estimator:
        setup = estimator.setup
        if setup.forget:
            estimator.require_due()
        answer: Answer | None = None
        if released is not None:
            if not setup.renews:
                raise InputError("--release", found="this turn makes no release", remedy="give it to estimate")
            check_release_place(released, state=state, setup=setup)
        if setup.renews and (released is not None or setup.part is not None):
            release = estimator.release()
            if released is not None:
                write_release(released, release)
            answer = release if release.part is not None else release.estimate()
        elif setup.renews:
            answer = estimator.estimate()
        estimator.turn()
        turns, left = estimator.turns, estimator.releases_left
    shown = [] if answer is None else [*aligned(answer.lines(known_users(setup)), indent=0), *answer.notes()]
    shown += [] if answer is None else notes_of(setup, answer)
    shown.append(f"{state}: period {turns - 1} has ended, and period {turns} begun; {plural(left, 'release')} left.")
    facts = None if answer is None else answer.facts()
    emit({"state": str(state), "period": turns, "releases_left": left, "estimate": facts}, shown, as_json=as_json)


def look(
    state: State,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="COPY", help="Where to write the copy.")],
    as_json: AsJson = False,
) -> None:
    """Hand over a flipped copy of the state, as planned when it was opened.

    Every bit of the copy is flipped by a coin of its own; the state stays as it is. It is paid for before it is
    written.

    Examples:
        panbayes stream look daily.state -o copy.json
        panbayes stream look north.state -o north.copy
        panbayes stream look south.state -o south.copy
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.files import check_output, write_bytes
    from panbayes.stream.statistics.methods.statistic import Answer
    from panbayes.stream.stream_estimator import StreamEstimator

    announce_compiling()
    check_output(output, inputs=[state])
    with StreamEstimator[Answer].open(state, writing=False) as estimator:
        copy = estimator.look()
        left, planned = estimator.flipped_left, estimator.setup.calibration.flipped
    write_bytes(output, copy.to_bytes())
    emit(
        {"state": str(state), "copy": str(output), "eta": str(copy.eta), "flipped_left": left},
        [
            f"{output}: a copy with every bit flipped with probability {copy.flip / 2**32:.4g} (η = {copy.eta}).",
            f"{state}: {left} of {planned} flipped copies left; the state itself may still be seen once.",
        ],
        as_json=as_json,
    )


def portfolio(
    states: Annotated[list[Path], typer.Argument(metavar="STATE…", help="The state files of one operator.")],
    as_json: AsJson = False,
) -> None:
    """Add up what one user loses over several states.

    It looks at what is public about them and changes nothing.

    Examples:
        panbayes stream portfolio visits.state daily.state
    """
    from panbayes.stream.portfolio import portfolio as add_up

    found = add_up(states)
    rows = [(held.name, f"E = {held.setup.calibration.epsilon}", held.unit, f"{held.loss}") for held in found.holdings]
    shown = [
        *aligned([("state", "guarantee", "for", "loses"), *rows], indent=0),
        f"One user, known by one id, loses at most {show_fraction(found.total)} over all of them: one look "
        "at each state (in every period, where they start anew), all releases and all flipped copies.",
    ]
    if found.disjoint:
        shown.append(
            "States of different panels under one key share no user, and nor do parts of one whole: of those the "
            "largest counts."
        )
    emit(
        {
            "total": str(found.total),
            "disjoint_panels": found.disjoint,
            "states": [
                {
                    "state": held.name,
                    "epsilon": str(held.setup.calibration.epsilon),
                    "times": held.times,
                    "unit": held.unit,
                    "loss": str(held.loss),
                }
                for held in found.holdings
            ],
        },
        shown,
        as_json=as_json,
    )
