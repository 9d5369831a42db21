"""A process that feeds states as it is told, line by line on standard input, and then waits: its memory is looked at.

No memory of an arena or a buffer is given back, so that nothing is hidden by that. With ``leak`` as its argument the
process never wipes, to show what a scan would find.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from panbayes import StreamEstimator
from panbayes.stream.ids import arena
from panbayes.stream.ids.arena import private_memory
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.formats import lines
from panbayes.stream.statistics.methods.statistic import Answer

_BREAK: Final = 10


def tell(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def dropped(buffer: lines.LineBuffer, size: int) -> None:
    """Drop the start of a buffer as the old reader did: by a copy, and here without overwriting what is left."""
    data, have = buffer._data, buffer._have  # noqa: SLF001
    data[: have - size] = data[size:have].copy()
    buffer._have = have - size  # noqa: SLF001


_KEPT: Final[list[NDArray[np.uint8]]] = []


def kept_memory(size: int) -> NDArray[np.uint8]:
    _KEPT.append(private_memory(size))
    return _KEPT[-1]


def content(path: str) -> NDArray[np.uint8]:
    """Read a file, by no buffer in between."""
    whole = np.empty(Path(path).stat().st_size, dtype=np.uint8)
    with Path(path).open("rb", buffering=0) as file:
        file.readinto(whole.data)
    return whole


def feed(state: str, form: str, path: str, name: str | None) -> None:
    """Feed one file: its lines; or what is in it, as an array or a column that lies in memory of ours to overwrite."""
    with StreamEstimator[Answer].open(state) as estimator:
        if form == "array":
            ids = content(path).view(np.int64)
            estimator.update(ids)
            ids[:] = 0
        elif form == "column":
            whole = content(path)
            offsets = np.concatenate([[0], np.flatnonzero(whole == _BREAK) + 1]).astype(np.int64)
            buffers = [None, pa.py_buffer(offsets.data), pa.py_buffer(whole.data)]
            estimator.update(pa.Array.from_buffers(pa.large_string(), offsets.size - 1, buffers))
            whole[:], offsets[:] = 0, 0
        else:
            for batch in batches(path, form=form, column=name, fields=estimator.setup.fields):
                estimator.update(batch)
                del batch
                if path.endswith("pipe"):
                    tell("batch")


if __name__ == "__main__":
    for module in (arena, lines):
        setattr(module, "private_memory", kept_memory)  # noqa: B010
    if "leak" in sys.argv:
        setattr(arena.Arena, "wipe", lambda _: None)  # noqa: B010
        setattr(lines.LineBuffer, "_drop", dropped)  # noqa: B010
    for line in sys.stdin:
        feed(**json.loads(line))
        tell("done")
