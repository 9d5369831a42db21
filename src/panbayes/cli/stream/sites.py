"""Independent sites: ``panbayes stream union``, and what ``panbayes stream plan --sites`` says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.text import aligned, emit
from panbayes.errors import InputError

if TYPE_CHECKING:
    from fractions import Fraction

    from panbayes.stream.flipped_copy import FlippedCopy

__all__ = ["Sites", "plan_union", "union"]

Sites = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="With hashed: the error of a union of so many independent sites, from a flipped copy of each; ε is for "
        "each site.",
        show_default=False,
    ),
]

_MOST: Final = 1 << 30


def union(
    copies: Annotated[
        list[Path], typer.Argument(metavar="COPY…", help="A flipped copy of every site, as look makes them.")
    ],
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="The probability with which the interval holds.")
    ] = 0.95,
    as_json: AsJson = False,
) -> None:
    """Estimate how many users came to any of several sites, from flipped copies.

    The states of all sites were opened with the same options and the same --key. What a user loses at the sites adds
    up. Plan it first (panbayes stream plan --sites): at small ε it is of no use.

    Examples:
        panbayes stream union north.copy south.copy
    """
    from panbayes.stream.site_planning import USELESS
    from panbayes.stream.union import union as unite

    if not 0 < confidence < 1:
        raise InputError("--confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
    found = unite([_read(path) for path in copies], names=[str(path) for path in copies], confidence=confidence)
    notes = ["The interval is of measured coverage. Who came to several sites counts once, and loses at each."]
    if found.relative_error >= USELESS:
        notes.append(
            "This union is useless: its error is as large as the number itself. See: panbayes stream plan --sites"
        )
    emit({**found.facts(), "notes": notes}, [*aligned(found.rows(), indent=0), *notes], as_json=as_json)


def _read(path: Path) -> FlippedCopy:
    from panbayes.files import check_path
    from panbayes.stream.flipped_copy import FlippedCopy

    try:
        with check_path(path).open("rb") as file:
            data = file.read(_MOST)
    except OSError as error:
        reason = (error.strerror or "unknown reason").lower()
        raise InputError(str(path), found=f"cannot be read ({reason})", remedy="give a flipped copy") from None
    return FlippedCopy.from_bytes(data, name=str(path))


def plan_union(sites: int, epsilon: Fraction, expect: int | None, memory: str | None, *, as_json: bool) -> None:
    """Show what a union of sites costs, and say where it is useless."""
    from panbayes.stream.distinct_counter import parse_memory
    from panbayes.stream.ids.universes.hashed import DEFAULT_MEMORY, HashedUniverse
    from panbayes.stream.site_planning import LEAST_EPSILON, USELESS, plan_sites

    size = DEFAULT_MEMORY if memory is None else parse_memory(memory)
    users = HashedUniverse.of_memory(size, expect=expect, key=bytes(16))
    found = plan_sites(sites=sites, epsilon=epsilon, users=users, expect=expect)
    rows = [
        (f"{count:,}", f"{100 * error:.2g} %" if error < USELESS else "useless")
        for count, error in zip(found.users, found.errors, strict=True)
    ]
    given = f"--epsilon {epsilon} --state-epsilon {found.state_epsilon} --flipped 1 --eta {found.eta}"
    shown = [
        f"Relative standard error of the union of {sites} sites (E = {epsilon} at each, for one look, a release and a "
        f"flipped copy; a user of all loses {found.total}):",
        *aligned([("users", "error"), *rows], indent=0),
        f"Open every site with the same --key and: {given}",
        "Parts of one state (--parts) have next to none of this error, and lose E in all: use sites only where ids "
        "cannot be sent to one place.",
    ]
    notes = []
    if epsilon < LEAST_EPSILON:
        notes.append(f"Below E = {LEAST_EPSILON} at a site a flipped copy is next to noise.")
    if found.useless:
        notes.append("This union is useless at every number of users: give a larger ε, more memory or fewer sites.")
    emit(
        {
            "sites": sites,
            "epsilon": str(epsilon),
            "total": str(found.total),
            "state_epsilon": str(found.state_epsilon),
            "eta": str(found.eta),
            "users": found.users,
            "errors": found.errors,
            "useless": [error >= USELESS for error in found.errors],
            "notes": notes,
        },
        [*shown, *notes],
        as_json=as_json,
    )
