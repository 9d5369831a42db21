"""Where a ledger stands: what was spent, what is kept for studies that have begun, and what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from panbayes.consortium.holder.ledger.accounts import heaviest, shares
from panbayes.consortium.holder.ledger.attempts import PAUSING, Attempt
from panbayes.consortium.holder.ledger.declaration import Dataset, Named, Pin
from panbayes.privacy.classes.pure import NOTHING
from panbayes.privacy.loss import Loss

__all__ = ["Spending", "Summary"]


@dataclass(frozen=True, slots=True)
class Spending:
    """What one study may spend (its ``grant``) and has spent. ``study`` is its hash.

    ``reserved`` is what the cap keeps for it: its grant, or what it had spent when it was ``closed``. ``pin`` is what
    it sees of a dataset that changes; ``delta`` is what a proposal costs of the dataset's own δ.
    """

    study: str
    name: str
    grant: Loss
    spent: Loss
    reserved: Loss
    entries: int
    closed: bool = False
    pin: Pin | None = None
    delta: Fraction = Fraction(0)

    @property
    def blocks(self) -> Named:
        """The blocks it is charged to, None for everybody's."""
        return None if self.pin is None else self.pin.blocks


@dataclass(frozen=True, slots=True)
class Summary:
    """Where a ledger stands: spending per study and in total, the cap, and where the chain begins and ends.

    ``looked`` names the studies without privacy; ``failures``
    are the answers that failed since the holder last looked at their study; ``left_behind`` is the file of attempts if
    the ledger was moved without it. ``dataset`` is what was declared, ``blocks`` are its blocks so far, and whether its
    ids were ``renumbered``. What is spent, reserved and left is that of whom it cost most.
    """

    studies: tuple[Spending, ...]
    cap: Loss | None
    entries: int
    first: str
    head: str
    looked: tuple[str, ...] = ()
    failures: tuple[Attempt, ...] = ()
    left_behind: Path | None = None
    dataset: Dataset | None = None
    blocks: tuple[str, ...] = ()
    renumbered: bool = False

    @property
    def spent(self) -> Loss:
        """The total over all studies, in the class of the cap where that can express it."""
        return self.spent_of(None)

    @property
    def reserved(self) -> Loss:
        """What all studies that have begun may come to."""
        return self.reserved_of(None)

    @property
    def delta(self) -> Fraction:
        """What proposals have spent of the dataset's own δ, of whom they cost most."""
        deltas = [(study.blocks, study.delta) for study in self.studies]
        return max(sum(found, Fraction(0)) for found in shares(None, deltas))

    def spent_of(self, blocks: Named) -> Loss:
        """Return what was spent of whom it cost most, among people of some blocks."""
        return self._heaviest({study.study: study.spent for study in self.studies}, blocks)

    def reserved_of(self, blocks: Named, *, without: str = "") -> Loss:
        """Return what studies may come to for whom they cost most, ``without`` one of them, by its hash."""
        return self._heaviest({one.study: one.reserved for one in self.studies if one.study != without}, blocks)

    @property
    def left(self) -> Loss | None:
        """What the cap leaves for further studies, None without a cap."""
        return None if self.cap is None else self.cap.less(self.reserved)

    @property
    def paused(self) -> tuple[str, ...]:
        """The studies, by their hashes, that are paused until the holder looks at what failed."""
        counted = Counter(failure.study for failure in self.failures)
        return tuple(study for study, failures in counted.items() if failures >= PAUSING)

    def _heaviest(self, losses: Mapping[str, Loss], blocks: Named) -> Loss:
        nothing = NOTHING if self.cap is None else self.cap.times(0)
        return heaviest(nothing, losses, {study.study: study.blocks for study in self.studies}, about=blocks)
