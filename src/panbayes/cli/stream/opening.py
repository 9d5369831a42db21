"""From the options of ``panbayes stream open`` to a setup: what is public and fixed before a stream starts."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from panbayes.cli.stream.hashed import is_hashed, refuse_with_hashed, refuse_without_hashed
from panbayes.cli.stream.windows import planned_copies
from panbayes.errors import InputError
from panbayes.stream.laws.registry import DEFAULT_LAW, law_kind

if TYPE_CHECKING:
    from panbayes.stream.ids.part import Part
    from panbayes.stream.setup import StreamSetup
    from panbayes.stream.turns import Window

__all__ = ["Clock", "Conditions", "GroupList", "Opening"]

Conditions = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="CONDITION",
        help="Count only events whose field has such a value: 'country=DE', 'kind!=bot', 'bytes>=1000'. Given several "
        "times, all must hold.",
        show_default="all events count",
    ),
]
Clock = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="WHEN",
        help="Release by the clock: hourly, daily or weekly, in UTC, once each and no more than --releases; where "
        "there are turns, turn by it.",
        show_default="whenever an estimate is asked for",
    ),
]
GroupList = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="FIELD=VALUE,…",
        help="With hashed: count the users of every group, such as country=DE,FR,IT; a user loses ε over all groups "
        "together. Events with another value are ignored.",
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """What a user asks of a new state, as it was written."""

    universe: str
    epsilon: str
    releases: int
    sample: int | None
    expect: int | None
    memory: str | None
    ipv6: int | None
    key: str | None
    statistic: str | None
    most: int | None
    law: str
    levels: int
    state_epsilon: str | None
    panel: str | None
    periods: bool
    half_life: str | None
    flipped: int
    eta: str | None
    where: list[str]
    groups: str | None
    at: str | None
    parts: int | None = None
    part: str | None = None

    def setups(self) -> list[StreamSetup]:
        """Check everything and return the setup of each part, or of the whole."""
        whole = self.setup()
        if self.parts is None or whole.part is None:
            return [whole]
        first = whole.part
        return [replace(whole, part=replace(first, number=number)) for number in range(1, first.of + 1)]

    def setup(self) -> StreamSetup:
        """Check everything and return the setup: of the first part, where all are made."""
        from panbayes.stream.ids.where import parse_where
        from panbayes.stream.schedule import read_schedule

        where, schedule = parse_where(self.where), None if self.at is None else read_schedule(self.at)
        setup = self._hashed() if is_hashed(self.universe) else self._known()
        return replace(setup, where=where, schedule=schedule)

    def _share(self) -> Part | None:
        """Which part this is, if it is one; where all are made, the first of them."""
        from panbayes.stream.ids.part import KEY_BYTES, Part, check_parts, parse_key, parse_part

        if self.parts is not None and self.part is not None:
            raise InputError("--part", found="found with --parts", remedy="give --parts to make all of them at once")
        if self.part is not None:
            return parse_part(self.part, self.key, argument="--part")
        if self.parts is None:
            return None
        chosen = parse_key(self.key, argument="--key") if self.key is not None else os.urandom(KEY_BYTES)
        return Part(1, check_parts(self.parts, argument="--parts"), chosen)

    @property
    def _other_law(self) -> str | None:
        return None if (self.law, self.levels) == (DEFAULT_LAW, 2) else f"{self.law} on {self.levels} levels"

    def _hashed(self) -> StreamSetup:
        from panbayes.stream.distinct_counter import any_ids, expected
        from panbayes.stream.ids.universes.hashed import DEFAULT_MEMORY
        from panbayes.stream.setup import configure_hashed
        from panbayes.stream.turns import parse_window

        window = parse_window(self.panel, periods=self.periods, half_life=self.half_life)
        counted = None if self.statistic == "distinct" else self.statistic
        refuse_with_hashed(
            {"--sample": self.sample, "--max": self.most, "--state-law": self._other_law, "--statistic": counted}
        )
        share = self._share()
        if self.groups is not None:
            return self._grouped(window, share)
        users = any_ids(
            expect=expected(self.expect, window),
            memory=self.memory or DEFAULT_MEMORY,
            ipv6=self.ipv6,
            key=self.key if share is None else share.key.hex(),
            parts=1 if share is None else share.of,
        )
        return configure_hashed(
            users,
            epsilon=self.epsilon,
            releases=self.releases,
            state_epsilon=self.state_epsilon,
            window=window,
            flipped=planned_copies(self.flipped, self.eta),
            part=share,
        )

    def _grouped(self, window: Window, share: Part | None) -> StreamSetup:
        from panbayes.stream.distinct_counter import any_ids, parse_memory
        from panbayes.stream.ids.universes.grouped import GroupedUniverse, parse_groups
        from panbayes.stream.ids.universes.hashed import DEFAULT_MEMORY
        from panbayes.stream.setup import configure_groups

        groups = parse_groups(self.groups or "")
        panels = len(groups.names)
        if self.panel is not None or self.flipped:
            given = "--panel" if self.panel is not None else "--flipped"
            raise InputError(given, found="found with --groups", remedy="leave it out: groups are panels of their own")
        each = any_ids(
            expect=None if self.expect is None else -(-self.expect // panels),
            memory=DEFAULT_MEMORY if self.memory is None else parse_memory(self.memory) // panels,
            ipv6=self.ipv6,
            key=self.key if share is None else share.key.hex(),
            parts=1 if share is None else share.of,
        )
        return configure_groups(
            GroupedUniverse(replace(each, panels=panels), groups),
            epsilon=self.epsilon,
            releases=self.releases,
            state_epsilon=self.state_epsilon,
            window=window,
            part=share,
        )

    def _known(self) -> StreamSetup:
        from panbayes.stream.setup import configure, require_same_elsewhere
        from panbayes.stream.statistics.methods.density import Density
        from panbayes.stream.statistics.registry import read_statistic, sampled
        from panbayes.stream.turns import parse_window

        window = parse_window(self.panel, periods=self.periods, half_life=self.half_life)
        refuse_without_hashed(
            {
                "--expect": self.expect,
                "--memory": self.memory,
                "--ipv6": self.ipv6,
                "--key": None if self.parts or self.part else self.key,
                "--panel": self.panel,
                "--groups": self.groups,
            }
        )
        wanted = sampled(
            read_statistic(self.statistic or "density", self.most, argument="--statistic"), argument="--statistic"
        )
        if isinstance(wanted, Density):
            wanted = Density(law_kind(self.law, argument="--state-law").name, self.levels)
        elif self._other_law is not None:
            raise InputError(
                "--state-law", found=f"found it with --statistic {wanted.name}", remedy="leave it and --levels out"
            )
        setup = configure(
            self.universe,
            statistic=wanted,
            epsilon=self.epsilon,
            releases=self.releases,
            sample=self.sample,
            state_epsilon=self.state_epsilon,
            window=window,
            flipped=planned_copies(self.flipped, self.eta),
            part=self._share(),
        )
        return setup if self.part is None else require_same_elsewhere(setup)
