"""``panbayes stream``: count distinct users of a stream with a state that an intruder may see once."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command, new_group
from panbayes.cli.kernels import announce_compiling
from panbayes.cli.stream.facts import facts_of, filter_notes, known_users, lines_of
from panbayes.cli.stream.hashed import Expect, Memory
from panbayes.cli.stream.opening import Clock, Conditions, GroupList, Opening
from panbayes.cli.stream.parts import OnePart, Parts, combine, make_states, part_paths
from panbayes.cli.stream.planning import plan
from panbayes.cli.stream.publishing import (
    Publish,
    ReleaseFile,
    check_published,
    check_release_place,
    publish,
    write_release,
)
from panbayes.cli.stream.serving import serve
from panbayes.cli.stream.sites import union
from panbayes.cli.stream.timing import due_facts, due_notes, due_of_state
from panbayes.cli.stream.windows import (
    Eta,
    Flipped,
    HalfLife,
    Panel,
    Periods,
    look,
    notes_of,
    portfolio,
    turn,
)
from panbayes.cli.stream_files import Column, Form, Source, State, check, move
from panbayes.cli.text import aligned, complain, emit
from panbayes.errors import ExitCode, InputError
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kinds
from panbayes.stream.statistics.registry import statistic_kinds

__all__ = ["register"]

HELP = """Count distinct users of a stream; the state itself is private.

Whoever looks at the state once, or reads the estimates, learns next to nothing about any user.

Examples:
    panbayes stream open visits.state --universe hashed --epsilon 1
    panbayes stream feed visits.state visits.txt
    panbayes stream estimate visits.state
"""

STATISTICS: Final = "; ".join(f"{kind.name} ({kind.summary})" for kind in statistic_kinds().values())
LAWS: Final = "; ".join(f"{kind.name} ({kind.summary})" for kind in law_kinds().values())
IGNORED: Final = (
    "ids outside the universe and lines that cannot be read were ignored, and how many is not told (the owner of the "
    "data may ask: panbayes stream check)"
)
IGNORED_PANELS: Final = "ids of other panels and lines that cannot be read were ignored, and how many is not told"
IGNORED_GROUPS: Final = (
    "events of another {} than those declared, of a group in which their user does not count, and lines that cannot be "
    "read were ignored, and how many is not told"
)
IGNORED_LINES: Final = "any id counts; lines that cannot be read were ignored, and how many is not told"
INTERRUPTED: Final = (
    "every whole line or row read until then counts, and nothing after it; feed the same input again to be sure: what "
    "is fed twice counts once"
)
INTERRUPTED_ONCE: Final = (
    "every whole line or row read until then counts, and nothing after it; do not feed it again: every delivery is a "
    "visit"
)


def register(app: typer.Typer) -> None:
    """Add the group ``stream``."""
    group = new_group(HELP)
    add_command(group, open_, name="open")
    for command in (feed, check, estimate, combine, turn, look, union, info, portfolio, move, plan, serve):
        add_command(group, command)
    app.add_typer(group, name="stream")


def open_(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The state file to make; it must not exist.")],
    universe: Annotated[
        str,
        typer.Option(
            metavar="USERS",
            help="Who could appear: hashed (anybody, ids of any kind), or known users, such as 1000 (ids 0 to 999), "
            "ipv4, ipv4:10.0.0.0/8, a file with one id a line, or graph:1000 (edges such as 3,17 between vertices 0 to "
            "999) or graph:FILE (vertices, one a line).",
        ),
    ],
    epsilon: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="The total ε for one look at the state and all releases, such as 1.0."),
    ],
    releases: Annotated[int, typer.Option(metavar="NUMBER", help="How many estimates will be released.")] = 1,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="How many users, drawn at random, have an entry in the state.", show_default="all"
        ),
    ] = None,
    expect: Expect = None,
    memory: Memory = None,
    ipv6: Annotated[
        int | None,
        typer.Option(
            metavar="BITS",
            help="With hashed: an IPv6 address is one user however it is written (128), or its network is (64).",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(metavar="DIGITS", help="With hashed: the key of another state.", show_default="a new one"),
    ] = None,
    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"What to estimate: {STATISTICS}.", show_default="density, or distinct with hashed"
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--max", metavar="NUMBER", help="The largest number of visits of a user to tell apart."),
    ] = None,
    law: Annotated[
        str,
        typer.Option("--state-law", metavar="NAME", help=f"How entries are drawn, for a density: {LAWS}."),
    ] = DEFAULT_LAW,
    levels: Annotated[int, typer.Option(metavar="NUMBER", help="Levels of an entry, for the quantized laws.")] = 2,
    state_epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The state's part of ε.", show_default="the one of least error"),
    ] = None,
    panel: Panel = None,
    periods: Periods = False,
    half_life: HalfLife = None,
    flipped: Flipped = 0,
    eta: Eta = None,
    where: Conditions = None,
    groups: GroupList = None,
    at: Clock = None,
    parts: Parts = None,
    part: OnePart = None,
    as_json: AsJson = False,
) -> None:
    """Make a new state file.

    Examples:
        panbayes stream open visits.state --universe hashed --epsilon 1
        panbayes stream open members.state --universe 100000 --epsilon 1
        panbayes stream open hosts.state --universe ipv4:10.0.0.0/16 \\
            --epsilon 2 --releases 12 --sample 10000
        panbayes stream open often.state --universe 100000 --epsilon 1 \\
            --statistic visits --max 7
        panbayes stream open daily.state --universe hashed --epsilon 1 \\
            --panel 30d --flipped 1 --eta 0.25
        panbayes stream open german.state --universe hashed --epsilon 1 \\
            --where country=DE
        panbayes stream open lands.state --universe hashed --epsilon 1 \\
            --groups country=DE,FR,IT
        panbayes stream open large.state --universe hashed --epsilon 1 \\
            --parts 2
        panbayes stream open north.state --universe hashed --epsilon 4 \\
            --flipped 1 --eta 2 --key 8f3a1c5e7b9d20468f3a1c5e7b9d2046
        panbayes stream open south.state --universe hashed --epsilon 4 \\
            --flipped 1 --eta 2 --key 8f3a1c5e7b9d20468f3a1c5e7b9d2046
    """
    announce_compiling()
    setups = Opening(
        universe=universe,
        epsilon=epsilon,
        releases=releases,
        sample=sample,
        expect=expect,
        memory=memory,
        ipv6=ipv6,
        key=key,
        statistic=statistic,
        most=most,
        law=law,
        levels=levels,
        state_epsilon=state_epsilon,
        panel=panel,
        periods=periods,
        half_life=half_life,
        flipped=flipped,
        eta=eta,
        where=where or [],
        groups=groups,
        at=at,
        parts=parts,
        part=part,
    ).setups()
    places = [state] if parts is None else part_paths(state, parts)
    due = make_states(places, setups)
    setup, state = setups[0], places[0]
    kept = "this one file" if parts is None else "each of these files"
    named = str(state) if parts is None else f"{state} to {places[-1]}"
    emit(
        {
            "state": str(state),
            **({} if parts is None else {"states": [str(place) for place in places]}),
            **facts_of(setup),
            **due_facts(due),
            "releases_left": releases,
        },
        [
            f"{named}: ready for {setup.universe.describe()}.",
            *lines_of(setup, releases, due=due),
            *filter_notes(setup),
            f"Keep {kept} and no copy of it: backups, snapshots and swap are looks too.",
        ],
        as_json=as_json,
    )


def feed(
    state: State,
    source: Source = "-",
    form: Form = None,
    column: Column = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take these users out again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a stream of ids into the state.

    Ids outside the universe and unreadable lines are ignored, and how many is not told. Interrupted, it applies what it
    has read and then ends.

    Examples:
        panbayes stream feed visits.state visits.csv --column user
        cat visits.txt | panbayes stream feed visits.state
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.ids.feeding import batches
    from panbayes.stream.ids.stopping import stopped_by_signals
    from panbayes.stream.ids.universes.grouped import GroupedUniverse
    from panbayes.stream.ids.where import describe
    from panbayes.stream.statistics.methods.statistic import Answer
    from panbayes.stream.stream_estimator import StreamEstimator

    announce_compiling()
    with stopped_by_signals() as stop, StreamEstimator[Answer].open(state) as estimator:
        take, fields = estimator.remove if delete else estimator.update, estimator.setup.fields
        with closing(batches(source, form=form, column=column, fields=fields, stop=stop)) as found:
            for batch in found:
                take(batch)
        repeatable, setup = estimator.statistic.repeatable, estimator.setup
    if stop.asked:
        complain(f"error: interrupted; {INTERRUPTED if repeatable else INTERRUPTED_ONCE}")
        raise typer.Exit(ExitCode.INTERRUPTED)
    told = IGNORED if known_users(setup) is not None else IGNORED_PANELS if setup.panels > 1 else IGNORED_LINES
    if isinstance(setup.universe, GroupedUniverse):
        told = IGNORED_GROUPS.format(setup.universe.groups.field)
    if setup.part is not None:
        told = f"this is {setup.part}, and passes over ids of the others; {told}"
    if setup.where:
        told = f"only events where {describe(setup.where)} count; {told}"
    shown = [f"{state}: fed; {told}."]
    if not repeatable:
        shown.append("Do not feed it again: visits are counted, and every delivery is one.")
    emit({"state": str(state), "fed": True, "told": told, "repeatable": repeatable}, shown, as_json=as_json)


def estimate(
    state: State,
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability with which the interval holds.")
    ] = 0.95,
    repeat: Annotated[bool, typer.Option("--repeat", help="Show the last release again and spend none.")] = False,
    published: Publish = None,
    released: ReleaseFile = None,
    as_json: AsJson = False,
) -> None:
    """Release an estimate; with none left or none due, show the last one again.

    A state that was opened with --at makes one release in every hour, day or week, whoever asks how often: run this
    from cron or a timer.

    Examples:
        panbayes stream estimate visits.state
        panbayes stream estimate visits.state --repeat --confidence 0.99
        panbayes stream estimate visits.state --publish visitors.json
        panbayes stream estimate large.1.state --release part1.json
        panbayes stream estimate large.2.state --release part2.json
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.statistics.methods.statistic import Answer
    from panbayes.stream.stream_estimator import StreamEstimator

    announce_compiling()
    if not 0 < confidence < 1:
        raise InputError("--confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    if published is not None:
        check_published(published, state=state)
    with StreamEstimator[Answer].open(state, writing=False) as estimator:
        if released is not None:
            check_release_place(released, state=state, setup=estimator.setup)
        if published is not None and estimator.setup.part is not None:
            raise InputError("--publish", found="found with a part", remedy="give --release, and combine all parts")
        if repeat and not estimator.released:
            raise InputError("--repeat", found="nothing was released yet", remedy="leave it out to release an estimate")
        answer: Answer
        if released is not None or estimator.setup.part is not None:
            release = estimator.release(repeat=repeat)
            if released is not None:
                write_release(released, release)
            answer = release if release.part is not None else release.estimate(confidence=confidence)
        else:
            last = estimator.last(confidence=confidence) if repeat else None
            answer = last or estimator.estimate(confidence=confidence)
        universe = known_users(estimator.setup)
        notes = notes_of(estimator.setup, answer)
        due = estimator.due()
    notes += due_notes(due, answer.releases_left)
    facts = {**answer.facts(), **due_facts(due), "universe": universe, "notes": notes}
    if released is not None:
        notes.append(f"{released}: written.")
    if published is not None:
        changed = publish(published, facts)
        news = "written" if changed else "left as it is: the intervals overlap, so nothing is known to have changed"
        notes.append(f"{published}: {news}.")
    shown = [*aligned(answer.lines(universe), indent=0), *answer.notes(), *notes]
    emit(facts, shown, as_json=as_json)


def info(state: State, as_json: AsJson = False) -> None:
    """Show what is public about a state: universe, guarantee, releases left.

    It never shows the state, and changes nothing.

    Examples:
        panbayes stream info visits.state
    """
    from panbayes.stream.state.inspection import inspect_state

    found = inspect_state(state)
    due = due_of_state(found)
    emit(
        {
            "state": str(state),
            **facts_of(found.setup),
            "releases_left": found.left,
            "copies": found.copies,
            "period": found.turns,
            "flipped_left": found.flipped_left,
            **due_facts(due),
        },
        [
            f"{state}: {found.setup.universe.describe()}.",
            *lines_of(found.setup, found.left, copies=[("copies", found.copies)], turns=found.turns, due=due),
        ],
        as_json=as_json,
    )
