"""How many people of each block are in a register, and the sum of what they are known by: kept beside it.

People are known by 16 bytes of a keyed hash (:mod:`panbayes.consortium.holder.people`). Their sum modulo 2¹²⁸ does not
depend on the order in which they came, and whoever removes or changes a row, or adds one, leaves another sum but for a
chance of 2⁻¹²⁸. The sums are in no chain: heads leave the holder, and must not depend on ids that nobody has paid for.
So who can write to the file, and knows this, can write down sums that fit; a slip, a damaged row or a row that was
removed by hand shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

__all__ = ["RegisterSums", "read_sums"]

_SIZE: Final = 2**128


@dataclass(frozen=True, slots=True)
class RegisterSums:
    """By block: how many people, and their sum.

    >>> one = RegisterSums().having("2026-10", [bytes(15) + b"a", bytes(15) + b"b"])
    >>> one.by_block["2026-10"]
    (2, 195)
    >>> read_sums(one.text()) == one
    True
    """

    by_block: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def having(self, block: str, people: Iterable[bytes]) -> RegisterSums:
        """Return the sums with more people in a block."""
        count, found = self.by_block.get(block, (0, 0))
        for person in people:
            count, found = count + 1, found + int.from_bytes(person)
        return RegisterSums({**self.by_block, block: (count, found % _SIZE)}) if count else self

    def text(self) -> str:
        """Write the sums."""
        said = {block: [count, f"{found:032x}"] for block, (count, found) in self.by_block.items()}
        return json.dumps(said, sort_keys=True)


def read_sums(text: str) -> RegisterSums | None:
    """Read what :meth:`RegisterSums.text` wrote; None for anything else."""
    try:
        return RegisterSums(
            {str(block): (int(count), int(found, 16)) for block, (count, found) in json.loads(text).items()}
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
