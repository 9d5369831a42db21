"""``panbayes stream plan``: what precision costs, before a stream starts. Touches no data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.stream.hashed import Expect, Memory, is_hashed, refuse_with_hashed, refuse_without_hashed
from panbayes.cli.stream.opening import GroupList
from panbayes.cli.stream.sites import Sites, plan_union
from panbayes.cli.text import aligned, emit, plural
from panbayes.errors import InputError
from panbayes.privacy.written import parse_epsilon

__all__ = ["plan", "refuse_with_sites", "written_size"]


def plan(
    epsilon: Annotated[
        str, typer.Option(metavar="NUMBER", help="The total ε for one look at the state and all releases.")
    ],
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="The error that is still acceptable, as a fraction of the universe; not with hashed.",
            show_default=False,
        ),
    ] = None,
    beta: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The probability with which the error may be larger.", show_default="0.05"),
    ] = None,
    universe: Annotated[
        str | None,
        typer.Option(metavar="USERS", help="Who could appear, as for open.", show_default="infinitely many"),
    ] = None,
    releases: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="How many estimates will be released.", show_default="1; with hashed 1 and 30"
        ),
    ] = None,
    expect: Expect = None,
    memory: Memory = None,
    groups: GroupList = None,
    sites: Sites = None,
    statistic: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="What to estimate, as for open.", show_default="density, or distinct with hashed"
        ),
    ] = None,
    most: Annotated[
        int | None,
        typer.Option("--max", metavar="NUMBER", help="The largest number of visits of a user to tell apart."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the least sample that keeps the error below --alpha, or the error of hashed ids.

    The error is larger with a probability of at most --beta. With --universe hashed it prints the relative error by the
    number of users, the memory and the releases. Touches no data.

    Examples:
        panbayes stream plan --epsilon 1 --alpha 0.01
        panbayes stream plan --epsilon 1 --alpha 0.01 --universe 100000
        panbayes stream plan --epsilon 1 --universe hashed
        panbayes stream plan --epsilon 1 --universe hashed \\
            --groups country=DE,FR,IT
        panbayes stream plan --epsilon 4 --universe hashed --sites 2
    """
    if is_hashed(universe):
        counted = None if statistic == "distinct" else statistic
        refuse_with_hashed({"--alpha": alpha, "--beta": beta, "--max": most, "--statistic": counted})
        if sites is not None:
            refuse_with_sites({"--groups": groups, "--releases": releases})
            plan_union(sites, parse_epsilon(epsilon, argument="--epsilon"), expect, memory, as_json=as_json)
            return
        _plan_hashed(epsilon, releases, expect, memory, groups, as_json=as_json)
        return
    refuse_without_hashed({"--expect": expect, "--memory": memory, "--groups": groups, "--sites": sites})
    if alpha is None:
        raise InputError("--alpha", found="missing", remedy="say which error is acceptable, such as 0.01")
    beta, releases = 0.05 if beta is None else beta, 1 if releases is None else releases
    from panbayes.stream.planning import plan_sample
    from panbayes.stream.statistics.registry import read_statistic, sampled

    size = None
    if universe is not None:
        from panbayes.stream.ids.universes.kind import sampling_of
        from panbayes.stream.ids.universes.registry import read_universe

        size = sampling_of(read_universe(universe, sample=None)).size
    total = parse_epsilon(epsilon, argument="--epsilon")
    wanted = sampled(read_statistic(statistic or "density", most, argument="--statistic"), argument="--statistic")
    found = plan_sample(epsilon=total, alpha=alpha, beta=beta, universe=size, releases=releases, statistic=wanted)
    thesis, figure = found.sample_thesis, wanted.figure
    state_epsilon = float(found.calibration.state_epsilon)
    emit(
        {
            "sample_size": found.sample,
            "sample_size_thesis": thesis,
            "epsilon": float(total),
            "state_epsilon": state_epsilon,
            "noise_scale": float(found.calibration.noise_scale),
            "failure": found.failure,
            "rmse": found.rmse,
            "memory_bytes": found.state_bytes,
            "sparse": found.sparse,
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
                *(
                    []
                    if thesis is None
                    else [("thesis's bound", f"{thesis:,} users", f"{thesis / found.sample:.1f} times")]
                ),
                ("state's part", f"{state_epsilon:.4g}", f"of {float(total):g}"),
                ("error", f"{found.rmse:.4g}", f"root mean squared, worst {figure}"),
                ("failure", f"{found.failure:.4g}", f"probability of an error of {alpha:g} or more, worst {figure}"),
                *([] if thesis is None else [_sparse_row(found.sparse, size)]),
                ("memory", f"{found.state_bytes:,} bytes", ""),
            ],
            indent=0,
        ),
        as_json=as_json,
    )


def refuse_with_sites(given: Mapping[str, object]) -> None:
    """Refuse options that a union of sites has no use for."""
    for option, value in given.items():
        if value is not None:
            raise InputError(option, found="found with --sites", remedy="leave it out: a union is of one copy a site")


def _sparse_row(sparse: float | None, size: int | None) -> tuple[str, str, str]:
    """Say from which density on the error is small as a share of the users who came."""
    from panbayes.stream.planning import RELATIVE

    users = "" if size is None or sparse is None else f" ({round(sparse * size):,} users)"
    where = "at no density" if sparse is None else f"from a density of {sparse:.4g} on{users}"
    return ("relative error", f"{100 * RELATIVE:g} %", f"{where}, with the same probability")


def _plan_hashed(
    epsilon: str, releases: int | None, expect: int | None, memory: str | None, groups: str | None, *, as_json: bool
) -> None:
    from panbayes.stream.distinct_counter import parse_memory
    from panbayes.stream.distinct_planning import COMMON_MEMORY, COMMON_RELEASES, plan_distinct
    from panbayes.stream.ids.universes.grouped import parse_groups
    from panbayes.stream.ids.universes.hashed import DEFAULT_MEMORY

    total = parse_epsilon(epsilon, argument="--epsilon")
    count = 1 if groups is None else len(parse_groups(groups).names)
    sizes = tuple(count * size for size in (COMMON_MEMORY if expect is None else (DEFAULT_MEMORY,)))
    columns = plan_distinct(
        epsilon=total,
        memory=sizes if memory is None else (parse_memory(memory),),
        releases=COMMON_RELEASES if releases is None else (releases,),
        expect=expect,
        groups=count,
    )
    heads = [f"{written_size(column.memory)}, {plural(column.releases, 'release')}" for column in columns]
    rows = [
        (f"{users:,}", *(_percent(column.errors[row]) for column in columns))
        for row, users in enumerate(columns[0].users)
    ]
    one = "one tier, " if expect is not None else ""
    of = "" if count == 1 else f" for each of {count} groups by the number of its users"
    emit(
        {"epsilon": str(total), "expect": expect, "groups": count, "columns": [asdict(column) for column in columns]},
        [
            f"Relative standard error{of} ({one}E = {total} for one look at the state and all releases):",
            *aligned([("users", *heads), *rows], indent=0),
        ],
        as_json=as_json,
    )


def _percent(error: float) -> str:
    return f"{100 * error:.2g} %" if error < 1 else "above 100 %"


def written_size(memory: int) -> str:
    """Write a size as people do.

    >>> written_size(131072), written_size(1 << 20), written_size(1000)
    ('128K', '1M', '1000 bytes')
    """
    for unit, name in ((1 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")):
        if memory % unit == 0:
            return f"{memory // unit}{name}"
    return f"{memory} bytes"
