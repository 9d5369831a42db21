"""What is public about a state, for programs and for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from panbayes.cli.text import aligned

if TYPE_CHECKING:
    from panbayes.stream.setup import StreamSetup

__all__ = ["facts_of", "known_users", "lines_of"]

UNIT: Final = "everything one user ever does in the stream (for IPv4 a user is an address, for a graph an edge)"


def known_users(setup: StreamSetup) -> int | None:
    """How many users there could be, where that is known."""
    from panbayes.stream.ids.universes.kind import SizedUniverse

    return setup.sampling.size if isinstance(setup.universe, SizedUniverse) else None


def facts_of(setup: StreamSetup) -> dict[str, object]:
    """Return what is public, as JSON can say it."""
    from panbayes.stream.ids.universes.hashed import HashedUniverse
    from panbayes.stream.state.layout import VERSION

    calibration, users = setup.calibration, setup.universe
    own: dict[str, object] = {"rmse": setup.error()}
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
    }


def lines_of(setup: StreamSetup, left: int, *, copies: Sequence[tuple[str, str]] = (), turns: int = 0) -> list[str]:
    """Return what is public, for people."""
    facts, users, size = facts_of(setup), setup.universe, known_users(setup)
    guarantee = f"E = {facts['epsilon']} against one look at the state and all {facts['releases']} releases"
    unit = UNIT
    if setup.renews:
        guarantee, unit = f"E = {facts['epsilon']} for {setup.scope}", UNIT.replace("ever does", "does then")
    elif setup.calibration.flipped:
        guarantee += " and flipped copies"
    rows = [("guarantee", guarantee), ("protects", unit)]
    if size is None:
        rows += [
            ("state", f"{users.entries:,} cells ({facts['state_bytes']:,} bytes)"),
            (
                "error",
                f"{100 * setup.error():.2g} % of the users, where cells fill; panbayes stream plan says more",
            ),
            ("key", str(facts["key"])),
        ]
    else:
        rows += [
            ("users", f"{size:,}, of whom {users.entries:,} have an entry ({facts['state_bytes']:,} bytes)"),
            ("error", f"{facts['rmse']:.4g} root mean squared in the {setup.statistic.figure}, at worst"),
        ]
    if setup.calibration.flipped:
        grown = f"the variance is {setup.flipped_cost():.3g} times that without them"
        rows.append(("flipped copies", f"{setup.calibration.flipped}, each η = {setup.calibration.eta}; {grown}"))
    if setup.half_life is not None:
        rows.append(("half-life", f"{setup.half_life:.4g} turns"))
    if setup.forget:
        rows.append(("period", f"{turns}, ended by: panbayes stream turn"))
    rows += [*setup.statistic.remarks(setup.calibration), ("releases left", f"{left} of {facts['releases']}")]
    return aligned([*rows, *copies])
