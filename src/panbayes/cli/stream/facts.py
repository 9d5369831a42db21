"""What is public about a state, for programs and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from panbayes.cli.stream.timing import due_text
from panbayes.cli.text import aligned

if TYPE_CHECKING:
    from panbayes.stream.schedule import Due
    from panbayes.stream.setup import StreamSetup

__all__ = ["facts_of", "filter_notes", "known_users", "lines_of"]

UNIT: Final = "everything one user ever does in the stream (for IPv4 a user is an address, for a graph an edge)"


def known_users(setup: StreamSetup) -> int | None:
    """How many users there could be, where that is known."""
    from panbayes.stream.ids.universes.kind import SizedUniverse

    return setup.sampling.size if isinstance(setup.universe, SizedUniverse) else None


def facts_of(setup: StreamSetup) -> dict[str, object]:
    """Return what is public, as JSON can say it."""
    from panbayes.stream.ids.universes.grouped import GroupedUniverse
    from panbayes.stream.ids.universes.hashed import HashedUniverse
    from panbayes.stream.state.layout import VERSION

    calibration, users = setup.calibration, setup.universe
    own: dict[str, object] = {"rmse": setup.error()}
    if isinstance(users, GroupedUniverse):
        own = {"groups": {users.groups.field: list(users.groups.names)}}
        own |= {"tiers": users.each.tiers, "cells": users.each.cells, "of_cells": users.each.of}
        own |= {"relative_error": setup.error(), "key": users.each.key.hex(), "ipv6": users.each.ipv6 or None}
    if isinstance(users, HashedUniverse):
        own = {"relative_error": setup.error(), "tiers": users.tiers, "cells": users.cells, "of_cells": users.of}
        own |= {"key": users.key.hex(), "ipv6": users.ipv6 or None, "panels": users.panels, "panel": users.panel}
    return {
        "version": VERSION,
        "universe": known_users(setup),
        "universe_kind": users.describe(),
        "sample": users.entries,
        "epsilon": str(calibration.epsilon),
        "state_epsilon": float(calibration.state_epsilon),
        "statistic": setup.statistic.name,
        "max": setup.statistic.most,
        "state_law": calibration.law.name,
        "levels": calibration.law.levels,
        "noise_scale": float(calibration.noise_scale),
        "releases": calibration.releases,
        **own,
        "state_bytes": setup.state_bytes,
        "protects": UNIT,
        "scope": setup.scope,
        "half_life": setup.half_life,
        "flipped": calibration.flipped,
        "eta": str(calibration.eta),
        "where": [str(condition) for condition in setup.where],
        "at": None if setup.schedule is None else setup.schedule.name,
        **({} if setup.part is None else {"part": setup.part.number, "parts": setup.part.of}),
        **({} if setup.part is None else {"key": setup.part.key.hex()}),
    }


def lines_of(
    setup: StreamSetup,
    left: int,
    *,
    copies: Sequence[tuple[str, str]] = (),
    turns: int = 0,
    due: Due | None = None,
) -> list[str]:
    """Return what is public, for people."""
    from panbayes.stream.ids.universes.grouped import GroupedUniverse
    from panbayes.stream.ids.where import describe

    facts, users, size = facts_of(setup), setup.universe, known_users(setup)
    planned = "the one release" if facts["releases"] == 1 else f"all {facts['releases']} releases"
    guarantee = (
        f"E = {facts['epsilon']} against one look at {'the state' if setup.part is None else 'each part'} and {planned}"
    )
    unit = UNIT
    if setup.renews:
        guarantee, unit = f"E = {facts['epsilon']} for {setup.scope}", UNIT.replace("ever does", "does then")
    elif setup.calibration.flipped:
        guarantee += " and flipped copies"
    rows = [("guarantee", guarantee), ("protects", unit)]
    if setup.part is not None:
        rows.append(("part", f"{setup.part.number} of {setup.part.of}; every part is fed all ids, and takes its own"))
    if setup.where:
        rows.append(("counts", f"only events where {describe(setup.where)}"))
    if isinstance(users, GroupedUniverse):
        rows.append(("groups", f"{users.groups.field}: {', '.join(users.groups.names)}; events of others are ignored"))
    here = "" if setup.part is None else f"{setup.entries:,} of "
    there = "" if setup.part is None else f", {setup.entries:,} in this part"
    if size is None:
        rows += [
            ("state", f"{here}{users.entries:,} cells ({facts['state_bytes']:,} bytes)"),
            (
                "error",
                f"{100 * setup.error():.2g} % of the {setup.statistic.figure.removeprefix('number of ')}, where cells "
                "fill; panbayes stream plan says more",
            ),
            ("key", str(facts["key"])),
        ]
    else:
        rows += [
            ("users", f"{size:,}, of whom {users.entries:,} have an entry{there} ({facts['state_bytes']:,} bytes)"),
            ("error", f"{facts['rmse']:.4g} root mean squared in the {setup.statistic.figure}, at worst"),
            *([] if setup.part is None else [("key", setup.part.key.hex())]),
        ]
    if setup.calibration.flipped:
        grown = f"the variance is {setup.flipped_cost():.3g} times that without them"
        rows.append(("flipped copies", f"{setup.calibration.flipped}, each η = {setup.calibration.eta}; {grown}"))
    if setup.half_life is not None:
        rows.append(("half-life", f"{setup.half_life:.4g} turns"))
    if setup.forget:
        rows.append(("period", f"{turns}, ended by: panbayes stream turn"))
    rows += [*setup.statistic.remarks(setup.calibration), ("releases left", f"{left} of {facts['releases']}")]
    if due is not None and setup.schedule is not None:
        ended = left == 0 and not setup.forget
        rows.append((setup.schedule.name, "the plan has ended" if ended else due_text(due)))
    return aligned([*rows, *copies])


def filter_notes(setup: StreamSetup) -> list[str]:
    """Say what a filter means for a user who is counted under several."""
    if not setup.where:
        return []
    return ["A state with another filter is one more that a user may be in: losses add up (panbayes stream portfolio)."]
