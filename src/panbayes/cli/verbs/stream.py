"""``panbayes stream``: count distinct users of a stream with a state that an intruder may see once."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from panbayes.cli.text import AsJson, aligned, emit
from panbayes.errors import InputError

if TYPE_CHECKING:
    from panbayes.stream.state.setup import Configuration

__all__ = ["register"]

HELP = "Count distinct users of a stream; the state itself is private."

State = Annotated[Path, typer.Argument(metavar="STATE", help="The state file.")]
Family = Literal["optimal-bernoulli", "dwork", "quantized-laplace", "quantized-gaussian"]
UNIT = "everything one user ever does in the stream (for IPv4 a user is an address)"


def register(app: typer.Typer) -> None:
    """Add the group ``stream``."""
    group = typer.Typer(no_args_is_help=True, help=HELP)
    group.command("open")(open_)
    for command in (feed, estimate, info, plan):
        group.command(command.__name__)(command)
    app.add_typer(group, name="stream")


def open_(
    state: Annotated[Path, typer.Argument(metavar="STATE", help="The state file to make; it must not exist.")],
    universe: Annotated[
        str,
        typer.Option(
            help="Who could appear: a number U (ids 0 to U-1), ipv4, ipv4:NETWORK, or a file with one id a line."
        ),
    ],
    epsilon: Annotated[str, typer.Option(help="The total E for one look at the state and all releases, such as 1.0.")],
    releases: Annotated[int, typer.Option(help="How many estimates will be released.")] = 1,
    sample: Annotated[int | None, typer.Option(help="Keep only this many users, drawn at random; else all.")] = None,
    law: Annotated[Family, typer.Option("--state-law", help="How entries are drawn.")] = "optimal-bernoulli",
    levels: Annotated[int, typer.Option(help="Levels of an entry, for the quantized laws.")] = 2,
    state_epsilon: Annotated[
        str | None, typer.Option(help="The state's share of E; by default the one of least error.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a new state file."""
    from panbayes.stream.estimator import configure, create_state

    configuration = configure(
        universe,
        epsilon=epsilon,
        releases=releases,
        sample=sample,
        state=law,
        levels=levels,
        state_epsilon=state_epsilon,
    )
    create_state(state, configuration)
    facts = _facts(configuration)
    emit(
        {"state": str(state), **facts, "releases_left": releases},
        [
            f"{state}: ready for {configuration.universe.describe()}.",
            *_lines(configuration, releases),
            "Keep this one file and no copy of it: backups, snapshots and swap are looks too.",
        ],
        as_json=as_json,
    )


def feed(
    state: State,
    source: Annotated[str, typer.Argument(metavar="[FILE]", help="The stream; - is standard input.")] = "-",
    form: Annotated[
        Literal["text", "csv", "ndjson", "parquet"] | None,
        typer.Option("--format", help="By default from the file's name; text (one id a line) for standard input."),
    ] = None,
    column: Annotated[
        str | None, typer.Option(help="The column or field with the id; for CSV also its number from 1.")
    ] = None,
    delete: Annotated[bool, typer.Option("--delete", help="Take these users out again.")] = False,
    as_json: AsJson = False,
) -> None:
    """Take a stream of ids into the state. Ids outside the universe and unreadable lines are skipped in silence."""
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.estimator import DensityEstimator
    from panbayes.stream.ids.feeding import batches, format_of

    with DensityEstimator.open(state) as estimator:
        take = estimator.remove if delete else estimator.update
        for batch in batches(source, form=form or format_of(source), column=column):
            take(batch)
    emit({"state": str(state), "fed": True}, [f"{state}: fed; all of the input counts."], as_json=as_json)


def estimate(
    state: State,
    confidence: Annotated[float, typer.Option(help="The probability with which the interval holds.")] = 0.95,
    repeat: Annotated[bool, typer.Option("--repeat", help="Show the last release again and spend none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Release an estimate. With no releases left, the last one is shown again."""
    from panbayes.stream.state.core_dumps import forbid_dumps

    forbid_dumps()
    from panbayes.stream.estimator import DensityEstimator

    if not 0 < confidence < 1:
        raise InputError("--confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    with DensityEstimator.open(state, writing=False) as estimator:
        last = estimator.last(confidence=confidence) if repeat else None
        if repeat and last is None:
            raise InputError("--repeat", found="nothing was released yet", remedy="leave it out to release an estimate")
        answer = last or estimator.estimate(confidence=confidence)
        universe = estimator.configuration.sampling.size
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
    """Show what is public about a state: universe, guarantee, releases left. It never shows the state."""
    from panbayes.stream.estimator import DensityEstimator

    with DensityEstimator.open(state, writing=False) as estimator:
        left, configuration = estimator.releases_left, estimator.configuration
    emit(
        {"state": str(state), **_facts(configuration), "releases_left": left},
        [f"{state}: {configuration.universe.describe()}.", *_lines(configuration, left)],
        as_json=as_json,
    )


def plan(
    epsilon: Annotated[str, typer.Option(help="The total E for one look at the state and all releases.")],
    alpha: Annotated[float, typer.Option(help="The error that is still acceptable, as a fraction of the universe.")],
    beta: Annotated[float, typer.Option(help="The probability with which the error may be larger.")] = 0.05,
    universe: Annotated[
        str | None, typer.Option(help="As for open; without it the universe is taken as infinite.")
    ] = None,
    releases: Annotated[int, typer.Option(help="How many estimates will be released.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Find the least sample for an error of at most ALPHA with probability 1 - BETA. Touches no data."""
    from panbayes.privacy.written import parse_epsilon
    from panbayes.stream.planning import plan as make_plan

    size = None
    if universe is not None:
        from panbayes.stream.ids.universe import universe_of

        size = universe_of(universe, sample=None).sampling.size
    total = parse_epsilon(epsilon, argument="--epsilon")
    found = make_plan(epsilon=total, alpha=alpha, beta=beta, universe=size, releases=releases)
    share = float(found.calibration.state_epsilon)
    emit(
        {
            "sample_size": found.sample,
            "sample_size_thesis": found.sample_thesis,
            "epsilon": float(total),
            "state_epsilon": share,
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
                ("state's share", f"{share:.4g}", f"of {float(total):g}"),
                ("error", f"{found.rmse:.4g}", "root mean squared, worst density"),
                ("failure", f"{found.failure:.4g}", f"probability of an error of {alpha:g} or more, worst density"),
                ("memory", f"{found.state_bytes:,} bytes", ""),
            ],
            indent=0,
        ),
        as_json=as_json,
    )


def _facts(configuration: Configuration) -> dict[str, object]:
    from panbayes.stream.accuracy.density_error import worst_rmse
    from panbayes.stream.state.file import VERSION

    calibration = configuration.calibration
    return {
        "version": VERSION,
        "universe": configuration.sampling.size,
        "universe_kind": configuration.universe.describe(),
        "sample": configuration.sampling.sample,
        "epsilon": str(calibration.epsilon),
        "state_epsilon": float(calibration.state_epsilon),
        "state_law": calibration.law.name,
        "levels": calibration.law.levels,
        "noise_scale": float(calibration.noise_scale),
        "releases": calibration.releases,
        "rmse": worst_rmse(configuration.design()),
        "state_bytes": configuration.state_bytes,
        "protects": UNIT,
    }


def _lines(configuration: Configuration, left: int) -> list[str]:
    facts, sampling = _facts(configuration), configuration.sampling
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
