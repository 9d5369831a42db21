"""Apache DataSketches' distinct counters, HLL and CPC, in a process of their own inside ``.venv-peers``.

``python bench/peer_datasketches.py`` prints, as JSON, for each sketch of about 128 KB its size, the root mean squared
relative error over some counts of a million users, and million updates per CPU-second with integers and with texts. A
sketch is updated one id at a time, which is all that its Python interface offers. Neither sketch is private: from its
state anybody can test whether a person was there.

This file is also imported by ``python -m bench`` in the ordinary environment, where the peer is missing; so it is
imported where it is used.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from bench.peer_privbayes import environment

__all__ = ["measured"]

USERS = 10**6
ROUNDS = 20
EVENTS = 10**6


def measured() -> dict[str, dict[str, float]] | None:
    """Return what the peer says of itself, or nothing where it is not installed."""
    if not environment().exists():
        return None
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run(
        [str(environment()), "-m", "bench.peer_datasketches"], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return None
    found: dict[str, dict[str, float]] = json.loads(done.stdout)
    return found


class _Sketch(Protocol):
    def update(self, datum: int | str, /) -> None: ...

    def get_estimate(self) -> float: ...


def _speed(sketch: _Sketch, ids: list[int] | list[str]) -> float:
    start = time.process_time()
    for one in ids:
        sketch.update(one)
    return EVENTS / (time.process_time() - start) / 1e6


def _main() -> None:
    import datasketches

    def hll() -> datasketches.hll_sketch:
        return datasketches.hll_sketch(18, datasketches.HLL_4)

    def cpc() -> datasketches.cpc_sketch:
        return datasketches.cpc_sketch(17)

    makers: dict[str, Callable[[], _Sketch]] = {"HLL": hll, "CPC": cpc}
    full_hll, full_cpc = hll(), cpc()
    _speed(full_hll, list(range(EVENTS)))
    _speed(full_cpc, list(range(EVENTS)))
    sizes = {"HLL": len(full_hll.serialize_compact()), "CPC": len(full_cpc.serialize())}
    facts = {}
    for name, make in makers.items():
        errors = []
        for round_ in range(ROUNDS):
            sketch = make()
            for user in range(round_ * USERS, (round_ + 1) * USERS):
                sketch.update(user)
            errors.append(sketch.get_estimate() / USERS - 1)
        facts[name] = {
            "bytes": sizes[name],
            "error": (sum(error * error for error in errors) / ROUNDS) ** 0.5,
            "integers": _speed(make(), list(range(EVENTS))),
            "texts": _speed(make(), [f"user-{i}@example.org" for i in range(EVENTS)]),
        }
    print(json.dumps(facts))


if __name__ == "__main__":
    _main()
