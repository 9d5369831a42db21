"""``panbayes stream``: count distinct users of a stream with a state that an intruder may see once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command, new_group
from panbayes.cli.kernels import announce_compiling
from panbayes.cli.text import aligned, emit
from panbayes.errors import InputError
from panbayes.stream.ids.feeding import stream_formats
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kind, law_kinds

if TYPE_CHECKING:
    from panbayes.stream.setup import StreamSetup

__all__ = ["register"]

HELP = """Count distinct users of a stream; the state itself is private.

Whoever looks at the state once, or reads the estimates, learns next to nothing about any user.

Examples:
    panbayes stream open visits.state --universe 100000 --epsilon 1
    panbayes stream feed visits.state visits.txt
    panbayes stream estimate visits.state
"""

State = Annotated[Path, typer.Argument(metavar="STATE", help="The state file, as open makes it.")]
LAWS: Final = "; ".join(f"{kind.name} ({kind.summary})" for kind in law_kinds().values())
FORMATS: Final = ", ".join(stream_formats())
UNIT: Final = "everything one user ever does in the stream (for IPv4 a user is an address)"


def register(app: typer.Typer) -> None:
    """Add the group ``stream``."""
    group = new_group(HELP)
    add_command(group, open_, name="open")
    for command in (feed, estimate, info, plan):
        add_command(group, command)
    app.add_typer(group, name="stream")


def open_(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The state file to make; it must not exist.")],
    universe: Annotated[
        str,
        typer.Option(
            metavar="USERS",
            help="Who could appear, such as 1000 (ids 0 to 999), ipv4, ipv4:10.0.0.0/8, or a file with one id a line.",
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
    law: Annotated[
        str, typer.Option("--state-law", metavar="NAME", help=f"How entries are drawn: {LAWS}.")
    ] = DEFAULT_LAW,
    levels: Annotated[int, typer.Option(metavar="NUMBER", help="Levels of an entry, for the quantized laws.")] = 2,
    state_epsilon: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="The state's part of ε.", show_default="the one of least error"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a new state file.

    Examples:
        panbayes stream open visits.state --universe 100000 --epsilon 1
        panbayes stream open hosts.state --universe ipv4:10.0.0.0/16 \\
            --epsilon 2 --releases 12 --sample 10000
    """
    from panbayes.stream.estimator import DensityEstimator

    announce_compiling()
    with DensityEstimator.create(
        state,
        universe,
        epsilon=epsilon,
        releases=releases,
        sample=sample,
        law=law_kind(law, argument="--state-law").name,
        levels=levels,
        state_epsilon=state_epsilon,
    ) as estimator:
        setup = estimator.setup
    facts = _facts(setup)
    emit(
        {"state": str(state), **facts, "releases_left": releases},
        [
            f"{state}: ready for {setup.universe.describe()}.",
            *_lines(setup, releases),
            "Keep this one file and no copy of it: backups, snapshots and swap are looks too.",
        ],
        as_json=as_json,
    )


def feed(
    state: State,
    source: Annotated[str, typer.Argument(metavar="FILE", help="The stream; - is standard input.")] = "-",
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="NAME",
            help=f"One of {FORMATS}; text has one id a line.",
            show_default="what the file's name says, text for standard input",
        ),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The column or field with the id; for csv also its number from 1."),
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take these users out again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a stream of ids into the state.

    Ids outside the universe and unreadable lines are skipped in silence.

    Examples:
        panbayes stream feed visits.state visits.csv --column user
        cat visits.txt | panbayes stream feed visits.state
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.estimator import DensityEstimator
    from panbayes.stream.ids.feeding import batches

    announce_compiling()
    with DensityEstimator.open(state) as estimator:
        take = estimator.remove if delete else estimator.update
        for batch in batches(source, form=form, column=column):
            take(batch)
    emit({"state": str(state), "fed": True}, [f"{state}: fed; all of the input counts."], as_json=as_json)


def estimate(
    state: State,
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability with which the interval holds.")
    ] = 0.95,
    repeat: Annotated[bool, typer.Option("--repeat", help="Show the last release again and spend none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Release an estimate; with no releases left, show the last one again.

    Examples:
        panbayes stream estimate visits.state
        panbayes stream estimate visits.state --repeat --confidence 0.99
    """
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.estimator import DensityEstimator

    announce_compiling()
    if not 0 < confidence < 1:
        raise InputError("--confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    with DensityEstimator.open(state, writing=False) as estimator:
        last = estimator.last(confidence=confidence) if repeat else None
        if repeat and last is None:
            raise InputError("--repeat", found="nothing was released yet", remedy="leave it out to release an estimate")
        answer = last or estimator.estimate(confidence=confidence)
        universe = estimator.setup.sampling.size
    percent = f"{100 * confidence:g} %"
    left = f"{answer.releases_left} left"
    emit(
        {**asdict(answer), "epsilon": str(answer.epsilon), "universe": universe},
        aligned(
            [
                ("density", f"{answer.density:.4g}", f"{percent} interval {answer.low:.4g} to {answer.high:.4g}"),
                (
                    "distinct users",
                    f"{answer.distinct:,}",
                    f"{percent} interval {answer.distinct_low:,} to {answer.distinct_high:,}; of {universe:,}",
                ),
                ("release", "fresh" if answer.fresh else "the last one again", left),
            ],
            indent=0,
        ),
        as_json=as_json,
    )


def info(state: State, as_json: AsJson = False) -> None:
    """Show what is public about a state: universe, guarantee, releases left.

    It never shows the state.

    Examples:
        panbayes stream info visits.state
    """
    from panbayes.stream.estimator import DensityEstimator

    with DensityEstimator.open(state, writing=False) as estimator:
        left, setup = estimator.releases_left, estimator.setup
    emit(
        {"state": str(state), **_facts(setup), "releases_left": left},
        [f"{state}: {setup.universe.describe()}.", *_lines(setup, left)],
        as_json=as_json,
    )


def plan(
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="The total ε for one look at the state and all releases.")
    ],
    alpha: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="The error that is still acceptable, as a fraction of the universe."),
    ],
    beta: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability with which the error may be larger.")
    ] = 0.05,
    universe: Annotated[
        str | None,
        typer.Option(metavar="USERS", help="Who could appear, as for open.", show_default="infinitely many"),
    ] = None,
    releases: Annotated[int, typer.Option(metavar="NUMBER", help="How many estimates will be released.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Find the least sample that keeps the error below --alpha.

    The error is larger with a probability of at most --beta. Touches no data.

    Examples:
        panbayes stream plan --epsilon 1 --alpha 0.01
        panbayes stream plan --epsilon 1 --alpha 0.01 --universe 100000
    """
    from panbayes.privacy.written import parse_epsilon
    from panbayes.stream.planning import plan_sample

    size = None
    if universe is not None:
        from panbayes.stream.ids.universes.registry import read_universe

        size = read_universe(universe, sample=None).sampling.size
    total = parse_epsilon(epsilon, argument="--epsilon")
    found = plan_sample(epsilon=total, alpha=alpha, beta=beta, universe=size, releases=releases)
    state_epsilon = float(found.calibration.state_epsilon)
    emit(
        {
            "sample_size": found.sample,
            "sample_size_thesis": found.sample_thesis,
            "epsilon": float(total),
            "state_epsilon": state_epsilon,
            "noise_scale": float(found.calibration.noise_scale),
            "failure": found.failure,
            "rmse": found.rmse,
            "memory_bytes": found.state_bytes,
            "universe": size,
            "releases": releases,
        },
        aligned(
            [
                (
                    "sample",
                    f"{found.sample:,} users",
                    f"of {size:,}" if size is not None else "of an infinite universe",
                ),
                ("thesis's bound", f"{found.sample_thesis:,} users", f"{found.sample_thesis / found.sample:.1f} times"),
                ("state's part", f"{state_epsilon:.4g}", f"of {float(total):g}"),
                ("error", f"{found.rmse:.4g}", "root mean squared, worst density"),
                ("failure", f"{found.failure:.4g}", f"probability of an error of {alpha:g} or more, worst density"),
                ("memory", f"{found.state_bytes:,} bytes", ""),
            ],
            indent=0,
        ),
        as_json=as_json,
    )


def _facts(setup: StreamSetup) -> dict[str, object]:
    from panbayes.stream.accuracy.density_error import worst_rmse
    from panbayes.stream.state.layout import VERSION

    calibration = setup.calibration
    return {
        "version": VERSION,
        "universe": setup.sampling.size,
        "universe_kind": setup.universe.describe(),
        "sample": setup.sampling.sample,
        "epsilon": str(calibration.epsilon),
        "state_epsilon": float(calibration.state_epsilon),
        "state_law": calibration.law.name,
        "levels": calibration.law.levels,
        "noise_scale": float(calibration.noise_scale),
        "releases": calibration.releases,
        "rmse": worst_rmse(setup.design()),
        "state_bytes": setup.state_bytes,
        "protects": UNIT,
    }


def _lines(setup: StreamSetup, left: int) -> list[str]:
    facts, sampling = _facts(setup), setup.sampling
    guarantee = f"E = {facts['epsilon']} against one look at the state and all {facts['releases']} releases"
    return aligned(
        [
            ("guarantee", guarantee),
            ("protects", UNIT),
            ("users", f"{sampling.size:,}, of whom {sampling.sample:,} have an entry ({facts['state_bytes']:,} bytes)"),
            ("error", f"{facts['rmse']:.4g} root mean squared in the density, at worst"),
            ("releases left", f"{left} of {facts['releases']}"),
        ]
    )
