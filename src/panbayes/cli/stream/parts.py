"""States in parts: how they are opened, and ``panbayes stream combine``, which adds up what they released."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.text import aligned, emit
from panbayes.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from panbayes.stream.release import StreamRelease
    from panbayes.stream.schedule import Due
    from panbayes.stream.setup import StreamSetup

__all__ = ["OnePart", "Parts", "combine", "make_states", "part_paths", "read_release"]

Parts = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="Divide the entries over so many state files, for as many processes or machines: STATE visits.state makes "
        "visits.1.state and so on.",
        show_default="one state",
    ),
]
OnePart = Annotated[
    str | None,
    typer.Option(
        "--part",
        metavar="PART",
        help="Make one such part alone, such as 3/16 on the third machine; all need the same --key.",
        show_default=False,
    ),
]

_MOST = 1 << 20


def part_paths(state: Path, parts: int) -> list[Path]:
    """Name the files of all parts; refuse names that are taken.

    >>> [str(path) for path in part_paths(Path("no such/visits.state"), 2)]
    ['no such/visits.1.state', 'no such/visits.2.state']
    """
    suffix = state.suffix or ".state"
    paths = [state.with_name(f"{state.stem}.{number}{suffix}") for number in range(1, parts + 1)]
    for path in paths:
        if path.exists():
            raise InputError(
                str(path), found="exists already", remedy="give another name, or delete it if you mean to start again"
            )
    return paths


def make_states(places: Sequence[Path], setups: Sequence[StreamSetup]) -> Due | None:
    """Make state files, all or none, and say what is due of the last."""
    from panbayes.stream.statistics.methods.statistic import Answer
    from panbayes.stream.stream_estimator import StreamEstimator

    made, due = list[Path](), None
    try:
        for place, setup in zip(places, setups, strict=True):
            with StreamEstimator[Answer].start(place, setup) as started:
                made.append(place)
                due = started.due()
    except InputError:
        for place in made:
            place.unlink()
        raise
    return due


def read_release(path: Path) -> StreamRelease:
    """Read a file with a release."""
    from panbayes.files import check_path
    from panbayes.stream.release import StreamRelease

    place = check_path(path)
    try:
        with place.open("rb") as file:
            data = file.read(_MOST)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise InputError(str(path), found=f"cannot be read ({reason})", remedy="give a file with a release") from None
    return StreamRelease.from_bytes(data, name=str(path))


def combine(
    releases: Annotated[
        list[Path], typer.Argument(metavar="RELEASE…", help="The releases of all parts, as estimate --release writes.")
    ],
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability with which the interval holds.")
    ] = 0.95,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Where to write the release of the whole.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Add up the releases of all parts of a state, and show the estimate.

    It reads releases only, which are public, and costs nothing. A part that is missing is never made up for. One
    release of a state without parts is shown as it is.

    Examples:
        panbayes stream combine part1.json part2.json
    """
    from panbayes.files import check_output, write_bytes
    from panbayes.stream.release import combine as add_up

    if not 0 < confidence < 1:
        raise InputError("--confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    if output is not None:
        check_output(output, inputs=releases)
    found = [read_release(path) for path in releases]
    whole = found[0]
    if len(found) > 1 or whole.part is not None:
        whole = add_up(found, names=[str(path) for path in releases])
    answer = whole.estimate(confidence=confidence)
    if output is not None:
        write_bytes(output, whole.to_bytes())
    notes = [f"It speaks of {whole.about}."]
    if whole.where:
        notes.append(f"It speaks of users with an event where {' and '.join(whole.where)}.")
    if whole.parts > 1:
        notes.append(f"It adds up {whole.parts} parts, each with noise of its own; error and interval have all of it.")
    if not whole.private:
        notes.append("It is not private: coins or noise were simulated.")
    notes.append(
        f"Release {whole.number} of {whole.releases}, period {whole.turn}; E = {whole.epsilon} for {whole.scope}."
    )
    # Of groups the first note tells of the release, of other answers the last row does; neither was made here.
    grouped = whole.by is not None
    rows = answer.lines(whole.users) if grouped else answer.lines(whole.users)[:-1]
    own = answer.notes()[1:] if grouped else answer.notes()
    facts = {
        **{name: fact for name, fact in answer.facts().items() if name not in ("fresh", "releases_left")},
        "parts": whole.parts,
        "turn": whole.turn,
        "number": whole.number,
        "notes": notes,
    }
    emit(facts, [*aligned(rows, indent=0), *own, *notes], as_json=as_json)
