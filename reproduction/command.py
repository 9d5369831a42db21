"""``python -m reproduction``: the thesis's experiments, with figures, and a verdict on every sentence they test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, make_folder
from panbayes.cli.help import add_command
from panbayes.cli.main import run as run_app
from panbayes.cli.text import aligned, complain, emit, plural
from panbayes.errors import ExitCode, InputError, nearest
from reproduction.experiment import Experiment, experiments
from reproduction.partition import PARTITIONS, TURNS, Partition
from reproduction.running import Outcome, Run, check_folder, run_experiment

__all__ = ["main"]

_ALL, _LIST = "all", "list"
_MOST_WORKERS = 64


def main() -> None:
    """Run the command line and exit."""
    run_app(_build, "python -m reproduction")


def _build(_verb: str | None) -> typer.Typer:
    app = typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    add_command(app, reproduce)
    return app


def reproduce(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="An experiment, all of them (all), or their list (list).")
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="Where results, verdicts and figures go.",
            show_default="none: the list needs none",
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer repetitions and cells than the thesis: minutes instead of an hour.")
    ] = False,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="The same number, 0 or above, gives the same results again.", min=0)
    ] = 0,
    workers: Annotated[
        int, typer.Option(metavar="NUMBER", help="How many processes compute.", min=1, max=_MOST_WORKERS)
    ] = 2,
    partition: Annotated[
        str,
        typer.Option(
            metavar="HOW",
            help="How the holders of Chapter 3 come to their records: turns as in the thesis, sizes (shares of unequal "
            "size) or labels (ordered by an attribute).",
        ),
    ] = TURNS,
    as_json: AsJson = False,
) -> None:
    """Repeat what the thesis measured, and say of every sentence it tests whether it holds.

    Every experiment leaves a table (CSV), its verdicts (JSON) and its figures (PNG and SVG, where matplotlib is
    installed). A run that was interrupted goes on when the same command is given again; results that are there already
    are judged and drawn again, not computed. All randomness is simulated: nothing here is private, and nothing needs to
    be.

    The experiments on Diabetes need the public table: what PANBAYES_DIABETES names in the environment, else it is
    fetched. Where it cannot be had, all goes on without them, says so, and ends with exit code 2.

    Examples:
        python -m reproduction list
        python -m reproduction actual-budget -o reproduced
        python -m reproduction true-loss --quick -o quickly
    """
    known = experiments()
    if name == _LIST:
        _show_list(list(known.values()), as_json=as_json)
        return
    if name != _ALL and name not in known:
        raise InputError("NAME", found=f'there is no experiment "{name}"', remedy=nearest(name, [*known, _ALL, _LIST]))
    if output is None:
        raise InputError(
            "--output", found="is not given", remedy="name a folder for the results, such as -o reproduced"
        )
    chosen = list(known.values()) if name == _ALL else [known[name]]
    run = Run(quick=quick, seed=seed, workers=workers, partition=_partition(partition, chosen))
    left_out = _left_out(chosen, output, run)
    if left_out and name != _ALL:
        raise left_out[name]
    make_folder(output, argument="--output")
    with _progress() as shown:
        outcomes = [run_experiment(one, output, run, shown(one)) for one in chosen if one.name not in left_out]
    data: dict[str, object] = {one.experiment.name: _data(one, output) for one in outcomes}
    data.update({left: {"left_out": str(reason)} for left, reason in left_out.items()})
    emit(
        data,
        [line for one in outcomes for line in _lines(one, run)] + _summary(outcomes, output),
        as_json=as_json,
    )
    if left_out:
        complain(*(f"error: {left} was left out: {reason}" for left, reason in left_out.items()))
        raise typer.Exit(ExitCode.INPUT)


def _partition(given: str, chosen: list[Experiment]) -> Partition:
    """Return the partition of that name, if there are holders at all."""
    found = next((one for one in PARTITIONS if one == given), None)
    if found is None:
        raise InputError("--partition", found=f'found "{given}"', remedy=nearest(given, PARTITIONS))
    if found != TURNS and not any(one.partitioned for one in chosen):
        raise InputError(
            "--partition",
            found=f"{chosen[0].name} has no holders who could share records",
            remedy="leave it out, or choose an experiment of Chapter 3",
        )
    return found


def _left_out(chosen: list[Experiment], output: Path, run: Run) -> dict[str, InputError]:
    """Return which experiments lack the data they need, and why; those that are there already need none."""
    lacking = {}
    for experiment in [one for one in chosen if check_folder(one, output, run) is None]:
        try:
            experiment.ready()
        except InputError as error:
            lacking[experiment.name] = error
    return lacking


def _show_list(known: list[Experiment], *, as_json: bool) -> None:
    rows = [("experiment", "repeated", "what it is")]
    rows += [(one.name, str(one.repetitions or "–"), one.title) for one in known]
    data = [
        {
            "name": one.name,
            "title": one.title,
            "section": one.section,
            "repetitions": one.repetitions,
            "quick_repetitions": one.quick_repetitions,
            "figures": [picture.label for picture in one.pictures],
            "sentences": len(one.claims),
        }
        for one in known
    ]
    emit(data, aligned(rows, indent=0), as_json=as_json)


def _data(outcome: Outcome, output: Path) -> dict[str, object]:
    verdicts = [
        {
            "sentence": claim.sentence,
            "confirmed": verdict.confirmed,
            "numbers": verdict.numbers,
            "reason": verdict.reason,
        }
        for claim, verdict in zip(outcome.experiment.claims, outcome.verdicts, strict=True)
    ]
    return {"files": [str(output / file) for file in outcome.files], "verdicts": verdicts}


def _lines(outcome: Outcome, run: Run) -> list[str]:
    repeated = outcome.experiment.repeated(quick=run.quick)
    how = f", {PARTITIONS[run.partition]}" if outcome.experiment.partitioned and run.partition != TURNS else ""
    often = f" ({plural(repeated, 'repetition')}{how})" if repeated else ""
    lines = [f"{outcome.experiment.title}{often}"]
    for claim, verdict in zip(outcome.experiment.claims, outcome.verdicts, strict=True):
        lines.append(f"  {'confirmed' if verdict.confirmed else 'NOT CONFIRMED'}: {claim.sentence}")
        lines.append(f"    {verdict.numbers}.")
        if verdict.reason and not verdict.confirmed:
            lines.append(f"    Why: {verdict.reason}.")
    return [*lines, ""]


def _summary(outcomes: list[Outcome], output: Path) -> list[str]:
    judged = [verdict.confirmed for one in outcomes for verdict in one.verdicts]
    drawn = all(one.drawn for one in outcomes)
    figures = "" if drawn else " No figures, for want of matplotlib: pip install panbayes[figures], and run it again."
    return [
        f"{sum(judged)} of {plural(len(judged), 'sentence')} confirmed. Everything is in {output}.{figures}",
    ]


@contextmanager
def _progress() -> Iterator[Callable[[Experiment], Callable[[int, int], None]]]:
    """Yield what shows the cells that are done of each experiment: on a terminal a bar, else nothing."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _experiment: lambda _done, _all: None
        return
    # Imported here: it takes time to load, and a pipe needs none of it.
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:

        def shown(experiment: Experiment) -> Callable[[int, int], None]:
            task = progress.add_task(experiment.name, total=None)
            return lambda done, every: progress.update(task, completed=done, total=every)

        yield shown
