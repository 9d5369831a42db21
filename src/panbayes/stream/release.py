"""A release as it is published: JSON with everything public that it takes to say what its counts mean.

Whoever has it can recompute estimate and interval (:meth:`StreamRelease.estimate`), with this program or another: the
page on streams says how. A release of one part of a state is about its own entries; :func:`combine` adds up
those of all parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final, Literal

import msgspec

from panbayes.dp.sampler import MAX_SCALE, MIN_SCALE
from panbayes.errors import InputError
from panbayes.privacy.written import MAX_DIGITS, parse_ratio
from panbayes.stream.accuracy.density_error import Design
from panbayes.stream.accuracy.tier_design import TierDesign
from panbayes.stream.density_estimate import DensityEstimate
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.grouped_estimate import GroupedEstimate
from panbayes.stream.guarantee.calibration import MAX_RELEASES
from panbayes.stream.ids.part import KEY_BYTES, MOST_PARTS, Part, noises
from panbayes.stream.ids.sampling import MAX_UNIVERSE
from panbayes.stream.ids.universes.hashed import MOST_PANELS
from panbayes.stream.laws.state_law import COIN
from panbayes.stream.setup import MAX_COUNTS
from panbayes.stream.statistics.methods.density import density_answer
from panbayes.stream.statistics.methods.distinct import distinct_answer
from panbayes.stream.statistics.methods.statistic import Released
from panbayes.stream.turns import half_life_of

__all__ = ["Section", "StreamRelease", "combine"]

_KIND: Final = "panbayes release"
_VERSION: Final = 1
_MOST_SPREAD: Final = MAX_UNIVERSE * MOST_PANELS << 40
_LARGEST: Final = 1 << 53


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What one count is of: ``cells`` entries of the whole state, of known users (each has one), or hashed ones.

    Hashed users fall as densely as if all of them were spread over ``spread`` cells; they are those of a ``group``, if
    there are groups.
    """

    cells: int
    spread: int | None = None
    group: str | None = None


class _Law(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    scores: tuple[int, ...]
    init: tuple[int, ...]
    update: tuple[int, ...]
    out_of: int


class _Noise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The noise of the counts: each is the sum of so many ``terms``."""

    scale: str
    terms: tuple[int, ...]


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A release as it is written."""

    kind: str
    version: int
    stream: str
    about: str
    where: tuple[str, ...]
    statistic: Literal["density", "distinct"]
    users: int | None
    by: str | None
    sections: tuple[Section, ...]
    law: _Law
    noise: _Noise
    forget: int
    part: int | None
    parts: int
    turn: int
    period: int | None
    number: int
    releases: int
    counts: tuple[int, ...]
    epsilon: str
    scope: str
    private: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRelease:
    """Released ``counts``, one for each of the ``sections``, with everything public that gives them a meaning.

    ``stream`` is a digest of the setup: releases of one stream have the same. ``about`` says who is counted, ``where``
    which events, ``statistic`` what for; ``users`` is how many there could be, if known, and ``by`` the field of the
    groups, if there are any. An entry has the level j, which counts ``scores[j]``, with the chance ``init[j]`` without
    and ``update[j]`` with a user, out of 2³²; at every turn it is drawn anew with the chance ``forget`` out of 2³².
    ``noise_scale`` is σ of the two-sided geometric noise. The state has ``parts``; this release is that of number
    ``part``, or of all of them. ``turn`` is how many periods had ended, ``period``
    that of the clock, and the release was ``number`` of ``releases``. ``epsilon`` is E, for ``scope``; ``private`` is
    false if coins or noise were simulated. ``fresh`` is false for one that was made before; it is not written.

    >>> from panbayes import DensityEstimator
    >>> with DensityEstimator(1_000, epsilon=1) as estimator:
    ...     release = estimator.release()
    >>> StreamRelease.from_bytes(release.to_bytes()).estimate().density == release.estimate().density
    True
    """

    stream: str
    about: str
    where: tuple[str, ...] = ()
    statistic: Literal["density", "distinct"]
    users: int | None = None
    by: str | None = None
    sections: tuple[Section, ...]
    scores: tuple[int, ...]
    init: tuple[int, ...]
    update: tuple[int, ...]
    noise_scale: Fraction
    forget: int = 0
    part: int | None = None
    parts: int = 1
    turn: int = 0
    period: int | None = None
    number: int
    releases: int
    counts: tuple[int, ...]
    epsilon: Fraction
    scope: str
    private: bool
    fresh: bool = False

    def __post_init__(self) -> None:
        """Refuse what nobody can have released."""
        if not re.fullmatch("[0-9a-f]{64}", self.stream):
            raise ValueError("a stream has a digest of 64 hexadecimal digits")
        if not 1 <= len(self.sections) == len(self.counts) <= MAX_COUNTS or max(map(abs, self.counts)) > _LARGEST:
            raise ValueError("a release has 1 to 256 counts, one for each section")
        if not 1 <= self.parts <= MOST_PARTS or (self.part is not None and not 1 <= self.part <= self.parts > 1):
            raise ValueError("a part is one of 2 to 1024")
        if not 1 <= self.number <= self.releases <= MAX_RELEASES or self.turn < 0 or not 0 <= self.forget <= COIN:
            raise ValueError("a release is one of those that were planned")
        if not MIN_SCALE <= self.noise_scale <= MAX_SCALE or self.epsilon <= 0:
            raise ValueError("a release has noise, and a guarantee")
        laws = (self.init, self.update)
        if any(len(law) != len(self.scores) or min(law) < 1 or sum(law) != COIN for law in laws):
            raise ValueError("levels have chances out of 2³²")
        if not 2 <= len(self.scores) <= 256 or self.scores[0] != 0 or sorted(set(self.scores)) != list(self.scores):
            raise ValueError("levels have scores, from 0 on")
        if not self._mean(self.init) < self._mean(self.update):
            raise ValueError("who came counts more")
        self._check_sections()

    def _mean(self, law: tuple[int, ...]) -> int:
        return sum(p * a for p, a in zip(law, self.scores, strict=True))

    def _check_sections(self) -> None:
        cells, spread = self.sections[0].cells, [section.spread for section in self.sections]
        whole = len(self.sections) * cells
        if self.stretches and (cells % 64 or whole // 64 < self.parts):
            raise ValueError("stretches are of whole words")
        if not (1 if self.stretches else self.parts) <= cells <= MAX_UNIVERSE:
            raise ValueError("a section has an entry in every part")
        if self.statistic == "density":
            known = self.users is not None and cells <= self.users <= MAX_UNIVERSE
            if not known or len(spread) != 1 or spread[0] is not None or self.by is not None:
                raise ValueError("a density is of known users, in one section")
            return
        if self.users is not None or self.scores != (0, 1) or any(one.cells != cells for one in self.sections):
            raise ValueError("distinct users are counted by bits, in sections of one size")
        if any(v is None or not max(3, cells) <= v <= _MOST_SPREAD for v in spread):
            raise ValueError("hashed users are spread over the cells, or over more")
        names = [section.group for section in self.sections]
        if (self.by is None) is not (names == [None] * len(names)) or (self.by is not None and None in names):
            raise ValueError("groups have a field, and every section is of one of them")

    @property
    def releases_left(self) -> int:
        """How many more were planned."""
        return self.releases - self.number

    @property
    def stretches(self) -> bool:
        """Whether parts are stretches of the entries, as they are of several sections; else entries go round."""
        return self.parts > 1 and len(self.sections) > 1

    @property
    def noise_terms(self) -> tuple[int, ...]:
        """How many noises each count has: that of each part which was added up and has an entry of the section."""
        sections, cells = len(self.sections), self.sections[0].cells
        if not self.stretches:
            return (self.parts if self.part is None else 1,) * sections
        if self.part is None:
            return noises(sections, cells, self.parts)
        own = Part(self.part, self.parts, bytes(KEY_BYTES), stretches=True).edges(sections, sections * cells)
        return tuple(int(start < end) for start, end in own)

    @property
    def half_life(self) -> float | None:
        """After how many turns half is forgotten, if entries are forgotten one by one."""
        return half_life_of(self.forget)

    def estimate(self, *, confidence: float = 0.95) -> DensityEstimate | DistinctEstimate | GroupedEstimate:
        """Say what the counts mean; refused for one part, which says nothing of the whole."""
        if not 0 < confidence < 1:
            raise InputError("confidence", found=f"found {confidence}", remedy="give a number between 0 and 1")
        if self.part is not None:
            raise InputError(
                "release",
                found=f"it is of part {self.part} of {self.parts}, which says nothing of the whole by itself",
                remedy="combine it with those of the other parts",
            )
        if self.statistic == "density":
            chances = [tuple(p / COIN for p in law) for law in (self.init, self.update)]
            cells, scale = self.sections[0].cells, float(self.noise_scale)
            design = Design(chances[0], chances[1], self.scores, cells, self.users, scale, self.noise_terms[0])
            return density_answer(design, self._released(self.counts), epsilon=self.epsilon, confidence=confidence)
        if self.by is None:
            return self._distinct(range(len(self.sections)), confidence)
        names = dict.fromkeys(section.group or "" for section in self.sections)
        places = {name: [t for t, one in enumerate(self.sections) if one.group == name] for name in names}
        return GroupedEstimate(self.by, {name: self._distinct(found, confidence) for name, found in places.items()})

    def _distinct(self, places: Iterable[int], confidence: float) -> DistinctEstimate:
        """Say how many users the counts at these places speak of."""
        chosen = [(self.sections[t], self.counts[t], self.noise_terms[t]) for t in places]
        spread, terms = tuple(section.spread or 0 for section, _, _ in chosen), tuple(one[2] for one in chosen)
        chances, scale = (self.init[1] / COIN, self.update[1] / COIN), float(self.noise_scale)
        design = TierDesign(*chances, chosen[0][0].cells, spread, scale, terms)
        released = self._released(tuple(count for _, count, _ in chosen))
        return distinct_answer(design, released, epsilon=self.epsilon, confidence=confidence)

    def _released(self, counts: tuple[int, ...]) -> Released:
        return Released(counts, self.fresh, self.releases_left, self.private, self.half_life, self.scope)

    def to_bytes(self) -> bytes:
        """Write the release as JSON."""
        form = _Form(
            kind=_KIND,
            version=_VERSION,
            stream=self.stream,
            about=self.about,
            where=self.where,
            statistic=self.statistic,
            users=self.users,
            by=self.by,
            sections=self.sections,
            law=_Law(self.scores, self.init, self.update, COIN),
            noise=_Noise(str(self.noise_scale), self.noise_terms),
            forget=self.forget,
            part=self.part,
            parts=self.parts,
            turn=self.turn,
            period=self.period,
            number=self.number,
            releases=self.releases,
            counts=self.counts,
            epsilon=str(self.epsilon),
            scope=self.scope,
            private=self.private,
        )
        fields: dict[str, object] = msgspec.to_builtins(form)
        lines = [f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in fields.items()]
        return ("{\n" + ",\n".join(lines) + "\n}\n").encode()

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "release") -> StreamRelease:
        """Read what :meth:`to_bytes` wrote; ``name`` is what an error calls it."""
        try:
            form = msgspec.json.decode(data, type=_Form)
            found = cls(
                stream=form.stream,
                about=form.about,
                where=form.where,
                statistic=form.statistic,
                users=form.users,
                by=form.by,
                sections=form.sections,
                scores=form.law.scores,
                init=form.law.init,
                update=form.law.update,
                noise_scale=_ratio(form.noise.scale),
                forget=form.forget,
                part=form.part,
                parts=form.parts,
                turn=form.turn,
                period=form.period,
                number=form.number,
                releases=form.releases,
                counts=form.counts,
                epsilon=_ratio(form.epsilon),
                scope=form.scope,
                private=form.private,
            )
            known = (form.kind, form.version, form.law.out_of) == (_KIND, _VERSION, COIN)
            if not known or form.noise.terms != found.noise_terms:
                raise ValueError("another kind of file")
        except (ValueError, msgspec.MsgspecError):
            raise InputError(
                name, found="is not a release", remedy="make one with: panbayes stream estimate --release"
            ) from None
        return found

    def facts(self) -> dict[str, object]:
        """Return everything, as JSON can say it."""
        written: dict[str, object] = msgspec.json.decode(self.to_bytes())
        return {**written, "fresh": self.fresh, "releases_left": self.releases_left}

    def lines(self, _universe: int | None) -> list[tuple[str, ...]]:
        """Return what people want to see of a part, as rows of texts."""
        which = "the whole" if self.part is None else f"part {self.part} of {self.parts}"
        return [
            (which, self.about, ""),
            ("release", "fresh" if self.fresh else "the last one again", f"{self.releases_left} left"),
        ]

    def notes(self) -> list[str]:
        """Return what must be said below them."""
        if self.part is None:
            return []
        return ["One part says nothing of the whole: combine the releases of all parts (panbayes stream combine)."]


def _ratio(text: str) -> Fraction:
    found = parse_ratio(text, digits=2 * MAX_DIGITS)
    if found is None:
        raise ValueError("a release has exact ratios")
    return found


def combine(releases: Iterable[StreamRelease], *, names: Iterable[str] = ()) -> StreamRelease:
    """Add up the releases of all parts of one state: the counts of each section, with the noise of every part.

    Refused, by name, where they are not the parts of one whole, each once, of one period and one number of release.
    ``names`` are what errors call the releases, such as their files.

    >>> from panbayes import DistinctCounter
    >>> key, found = "00" * 16, []
    >>> for number in (1, 2):
    ...     with DistinctCounter(epsilon=4, expect=10_000, part=f"{number}/2", key=key) as part:
    ...         part.update(range(10_000))
    ...         found.append(part.release())
    >>> 9_000 < combine(found).estimate().users < 11_000
    True
    """
    given = list(releases)
    called = list(names) or [f"release {place}" for place in range(1, len(given) + 1)]
    if not given:
        raise InputError("releases", found="none", remedy="give the release of every part")
    first = given[0]
    for one, name in zip(given, called, strict=True):
        _check_kin(first, one, name)
    seen: dict[int, str] = {}
    for one, name in zip(given, called, strict=True):
        number = one.part or 0
        if number in seen:
            raise InputError(
                name, found=f"is of part {number}, and so is {seen[number]}", remedy="give every part once"
            )
        seen[number] = name
    missing = [number for number in range(1, first.parts + 1) if number not in seen]
    if missing:
        several = "" if len(missing) == 1 else "s"
        listed = ", ".join(map(str, missing[:8])) + (" …" if len(missing) > 8 else "")
        raise InputError(
            "releases",
            found=f"part{several} {listed} of {first.parts} {'are' if several else 'is'} missing",
            remedy="give the release of every part: nothing is scaled up",
        )
    counts = tuple(sum(column) for column in zip(*(one.counts for one in given), strict=True))
    return replace(first, part=None, counts=counts, fresh=all(one.fresh for one in given))


def _check_kin(first: StreamRelease, one: StreamRelease, name: str) -> None:
    """Refuse a release that cannot be added to another."""
    if one.part is None:
        of = "a whole state" if one.parts == 1 else "all parts already"
        raise InputError(name, found=f"is a release of {of}", remedy="give releases of parts")
    differs = (
        ("parts", f"is of one of {one.parts} parts, and the first of {first.parts}"),
        ("turn", f"is of period {one.turn}, and the first of period {first.turn}"),
        ("number", f"is release number {one.number}, and the first is number {first.number}"),
        ("period", "was made in another period of the clock than the first"),
        ("stream", "is of another stream than the first: its key or something else that is public differs"),
        ("private", "was made with simulated coins or noise and the first was not, or the other way round"),
    )
    for field, found in differs:
        if getattr(one, field) != getattr(first, field):
            raise InputError(name, found=found, remedy="combine the parts of one state, of the same release")
    same = replace(one, part=first.part, counts=first.counts, fresh=first.fresh)
    if same != replace(first, fresh=first.fresh):
        raise InputError(name, found="says something else of the stream than the first", remedy="make it again")
