"""A copy of the state that may be handed over, because every bit of it was flipped by a coin.

An auditor wants to see the memory. A second look at the state itself would lose everything; a copy in which every bit
is flipped with probability φ, fresh for each copy, does not.

**What it costs.** A copy with η = ln((1 − φ)/φ) adds η to ρ, as a release of noise scale 1/η does: ρ = Σ 1/σ + Σ η.
*Proof.* Given the other entries, the likelihood of a copy as a function of this user's entry y is, up to a factor that
no stream changes, l(y) = e^(−η|b − y|), where b is the copied bit. That is the likelihood of an output in the proof of
:mod:`panbayes.stream.guarantee.loss` with scores 0 and 1 and 1/σ = η, and nothing else about outputs is used there. ∎
The bound is attained, as for releases.

Drawing the state itself again around every announced look is not offered. Redraws from the update law with chance γ,
before and after each of K looks, lose at least K·ln(1/γ), and shrink the signal by (1 − γ)^(2K): at 0.5 for one look γ
is 0.61 and the variance 42 times as large, where a flipped copy of η = 0.5 makes it 2.6 times as large (E = 1).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from panbayes.errors import InputError
from panbayes.exact.bounds import surely_at_most_exp
from panbayes.privacy.written import MAX_DIGITS, Written, parse_epsilon, parse_ratio
from panbayes.stream.guarantee.calibration import MAX_RELEASES
from panbayes.stream.laws.state_law import COIN

__all__ = ["NO_COPIES", "FlippedCopies", "FlippedCopy", "flip_chance", "is_site"]


@dataclass(frozen=True, slots=True)
class FlippedCopies:
    """How many flipped copies are planned, and what each adds to ρ."""

    count: int = 0
    eta: Fraction = Fraction(0)

    @classmethod
    def plan(cls, count: int, eta: Written) -> FlippedCopies:
        """Plan ``count`` copies of ``eta`` each.

        >>> FlippedCopies.plan(2, 0.5)
        FlippedCopies(count=2, eta=Fraction(1, 2))
        """
        if not 1 <= count <= MAX_RELEASES:
            raise InputError("flipped", found=f"found {count}", remedy=f"plan 1 to {MAX_RELEASES} copies")
        return cls(count, parse_epsilon(eta, argument="eta"))


NO_COPIES = FlippedCopies()


def flip_chance(eta: Fraction) -> int:
    """The least φ out of 2³² with (1 − φ)/φ ≤ e^η, exactly.

    >>> round(flip_chance(Fraction(1)) / COIN, 6)
    0.268941
    """
    chance = max(1, math.floor(COIN / (1 + math.exp(float(eta)))) - 2)
    while not surely_at_most_exp(Fraction(COIN - chance, chance), eta):
        chance += 1
    return chance


def is_site(text: str) -> bool:
    """Say whether a text can be what a site is called: 32 hexadecimal digits."""
    return re.fullmatch("[0-9a-f]{32}", text) is not None


class _Form(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A copy as it is written."""

    kind: str
    version: int
    users: str
    entries: int
    parts: int
    init: int
    update: int
    flip: int
    out_of: int
    epsilon: str
    eta: str
    turn: int
    private: bool
    bits: str
    universe: str
    spread: tuple[int, ...]
    size: int | None
    forget: int
    where: tuple[str, ...]
    site: str


_KIND: Final = "panbayes flipped copy"
_VERSION: Final = 1


@dataclass(frozen=True, slots=True, eq=False)
class FlippedCopy:
    """A flipped copy: ``bits`` are the entries, 8 a byte from the lowest, each flipped with ``flip`` out of 2³².

    ``users`` says whose, ``entries`` how many, in ``sections`` of equal size. A bit was 1 with the chance ``init`` or
    ``update`` out of 2³². ``epsilon`` is the total E of the stream, of which this copy took ``eta`` of ρ; ``turn`` is
    the number of periods that were over. ``private`` is false if coins were simulated. ``universe`` is a digest of
    whose entry is which; hashed users of each section fall as densely as if all were spread over ``spread`` cells,
    known ones are ``size``; ``forget`` is the chance out of 2³² of an entry to be drawn anew at a turn, and ``where``
    which events count. ``site`` tells the state from all others; it was drawn at random when the state began.

    >>> from panbayes import Density, StreamEstimator
    >>> with StreamEstimator(1_000, Density(), epsilon=2, flipped=FlippedCopies.plan(1, 0.5)) as estimator:
    ...     copy = estimator.look()
    >>> copy.entries, copy.eta
    (1000, Fraction(1, 2))
    """

    users: str
    entries: int
    sections: int
    init: int
    update: int
    flip: int
    epsilon: Fraction
    eta: Fraction
    turn: int
    private: bool
    bits: NDArray[np.uint8]
    universe: str
    spread: tuple[int, ...]
    size: int | None
    forget: int
    where: tuple[str, ...]
    site: str

    def __post_init__(self) -> None:
        """Refuse what is no copy of a state."""
        if not 1 <= self.sections <= self.entries or self.bits.size != 8 * math.ceil(self.entries / 64):
            raise ValueError("a copy has as many bits as there are entries")
        if not 0 < self.flip < COIN // 2 or not 0 < self.init < self.update < COIN or self.turn < 0:
            raise ValueError("the probabilities of a copy are not those of one")
        if (len(self.spread) == self.sections) is not (self.size is None):
            raise ValueError("users are known, or spread over cells")
        if any(spread < max(3, self.entries // self.sections) for spread in self.spread):
            raise ValueError("users are spread over the cells of a section, or over more")
        if self.size is not None and self.size < self.entries:
            raise ValueError("every entry has a user")
        if not is_site(self.site):
            raise ValueError("a site has 32 hexadecimal digits")

    @property
    def chances(self) -> tuple[float, float]:
        """With which chances a bit of the copy is 1, without and with a user."""
        flip = self.flip / COIN
        init, update = (flip + (1 - 2 * flip) * chance / COIN for chance in (self.init, self.update))
        return init, update

    def cells(self) -> NDArray[np.bool_]:
        """The bits of the copy, a row for each section."""
        size = self.entries // self.sections
        every = np.unpackbits(self.bits, bitorder="little")[: size * self.sections]
        return every.reshape(self.sections, size).astype(np.bool_)

    def ones(self) -> tuple[float, ...]:
        """An unbiased estimate of the number of ones in each section of the state."""
        size, flip = self.entries // self.sections, self.flip / COIN
        return tuple((int(seen) - size * flip) / (1 - 2 * flip) for seen in self.cells().sum(axis=1, dtype=np.int64))

    def density(self) -> float:
        """An unbiased estimate of the fraction of entries whose user was seen."""
        init, update = self.init / COIN, self.update / COIN
        return (sum(self.ones()) / (self.entries // self.sections * self.sections) - init) / (update - init)

    def to_bytes(self) -> bytes:
        """Write the copy as JSON."""
        form = _Form(
            kind=_KIND,
            version=_VERSION,
            users=self.users,
            entries=self.entries,
            parts=self.sections,
            init=self.init,
            update=self.update,
            flip=self.flip,
            out_of=COIN,
            epsilon=str(self.epsilon),
            eta=str(self.eta),
            turn=self.turn,
            private=self.private,
            bits=base64.b64encode(self.bits.tobytes()).decode("ascii"),
            universe=self.universe,
            spread=self.spread,
            size=self.size,
            forget=self.forget,
            where=self.where,
            site=self.site,
        )
        return msgspec.json.encode(form)

    @classmethod
    def from_bytes(cls, data: bytes, *, name: str = "copy") -> FlippedCopy:
        """Read what :meth:`to_bytes` wrote; ``name`` is what an error calls it."""
        try:
            form = msgspec.json.decode(data, type=_Form)
            bits = np.frombuffer(base64.b64decode(form.bits, validate=True), dtype=np.uint8)
            epsilon, eta = (parse_ratio(text, digits=2 * MAX_DIGITS) for text in (form.epsilon, form.eta))
            if (form.kind, form.version, form.out_of) != (_KIND, _VERSION, COIN) or epsilon is None or eta is None:
                raise ValueError("another kind of file")
            return cls(
                users=form.users,
                entries=form.entries,
                sections=form.parts,
                init=form.init,
                update=form.update,
                flip=form.flip,
                epsilon=epsilon,
                eta=eta,
                turn=form.turn,
                private=form.private,
                bits=bits,
                universe=form.universe,
                spread=form.spread,
                size=form.size,
                forget=form.forget,
                where=form.where,
                site=form.site,
            )
        except (ValueError, msgspec.MsgspecError, binascii.Error):
            raise InputError(
                name, found="is not a flipped copy", remedy="make one with: panbayes stream look"
            ) from None
