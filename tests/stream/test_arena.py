"""The memory of a batch: handed out, taken back, overwritten."""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

import numpy as np
import pytest
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena, private_memory
from panbayes.stream.ids.kernels import compiled
from panbayes.stream.ids.kernels.compiled import loop


def test_arrays_lie_beside_each_other_and_a_scope_takes_its_own_back() -> None:
    arena = Arena()
    first = arena.array(3, np.int64)
    with arena.scope():
        second, third = arena.array(5, np.uint8), arena.zeros(7, np.bool_)
        assert not any(np.shares_memory(one, other) for one, other in ((first, second), (second, third)))
        assert not third.any()
    assert np.shares_memory(arena.array(5, np.uint8), second)


def test_a_wipe_overwrites_what_was_handed_out_also_in_scopes_and_beyond_the_first_block() -> None:
    arena, seen = Arena(), list[NDArray[np.int64]]()
    with arena.scope():
        for size in (10, 1 << 20, 3 << 20, 1 << 22, 1):
            seen.append(arena.array(size, np.int64))
            seen[-1].fill(1)
    assert all(array.all() for array in seen)
    arena.wipe()
    assert not any(array.any() for array in seen)
    assert np.shares_memory(arena.array(10, np.int64), seen[0])


def test_a_scope_that_ends_after_a_wipe_takes_nothing_back() -> None:
    """A generator that an error left behind ends when nobody expects it, in the middle of another batch."""
    arena = Arena()
    late = arena.scope()
    with late:
        arena.array(10, np.int64)
        arena.wipe()
        kept = arena.array(10, np.int64)
    assert not np.shares_memory(kept, arena.array(10, np.int64))


def test_an_error_wipes_too() -> None:
    held: list[NDArray[np.int64]] = []

    def work() -> None:
        with Arena() as arena:
            held.append(arena.array(4, np.int64))
            held[0].fill(5)
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        work()
    assert not held[0].any()


def test_a_loop_that_would_allocate_does_not_compile() -> None:
    @loop
    def leaky(size: int) -> int:
        return int(np.zeros(size, dtype=np.int64).sum())

    with pytest.raises((NumbaError, NotImplementedError, RuntimeError)):
        leaky(3)


def test_every_loop_over_events_is_compiled_so_that_it_cannot_allocate() -> None:
    """But those for one id that a program hands over as a Python object, which allocate a word and overwrite it."""
    folder = Path(inspect.getfile(compiled)).parent
    states = folder.parents[1] / "state"
    alone = {"one_text_cell", "find_text", "sampled_one", "redraw_one"}
    for path in [*folder.glob("*.py"), *states.glob("*.py")]:
        if path.name == "compiled.py":
            continue
        after = [part.split("def ", 1)[1].split("(")[0] for part in path.read_text("utf-8").split("@njit")[1:]]
        assert set(after) <= alone, path


MAKERS = {
    "arange", "argsort", "array", "asarray", "ascontiguousarray", "astype", "concatenate", "copy", "cumsum", "empty",
    "empty_like", "flatnonzero", "full", "isin", "nonzero", "ones", "repeat", "take", "tobytes", "tolist", "unique",
    "where", "zeros", "zeros_like",
}  # fmt: skip
"""What makes an array or an object of an array, unless it is told where to put it."""

PUBLIC = {
    "canonical._tables": "tables of Unicode",
    "where._decimal": "a number of a condition",
    "chunk.Texts.of": "texts that are public",
    "sampling._multipliers": "the key of a sample",
    "universes.listed.ListedUniverse.of": "the list of all users",
    "universes.listed.ListedUniverse.save": "the list of all users",
    "universes.hashed._array": "the key of a hash",
    "kernels.addresses.dot_places": "a table of all layouts of an address",
    "formats.csv_lines._of_lines": "the numbers of columns",
    "formats.csv_lines._find_header": "the line that names the columns",
    "formats.lines.LineBuffer.lines": "whether the input begins with a byte-order mark",
    "arrow._of_views": "the addresses of buffers",
    "arrow._bytes": "a view, or nothing",
    "arrow._nothing": "nothing",
    "arrow._ArrowChunk._looked_up": "nothing, where no value is missing",
    "columns.FixedTexts.block": "nothing, of texts without width",
    "columns.chunks": "Python objects of the caller",
    "kernels.fold_hash.one_text_cell": "one id, overwritten",
    "kernels.hash_table.find_text": "one id, overwritten",
    "kernels.feistel.sampled_one": "one id",
}


def makers(path: Path, folder: Path) -> set[str]:
    """The functions of a module that make arrays, by their names."""
    found: set[str] = set()
    module = path.relative_to(folder).with_suffix("").as_posix().replace("/", ".")

    def look(node: ast.AST, within: str) -> None:
        for child in ast.iter_child_nodes(node):
            named = f".{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else ""
            if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
                told = any(keyword.arg in ("out", "where") for keyword in child.keywords)
                on_arena = isinstance(child.func.value, ast.Name | ast.Attribute) and "arena" in ast.unparse(
                    child.func.value
                )
                if child.func.attr in MAKERS and not told and not on_arena:
                    found.add(f"{module}{within}")
            look(child, within + named)

    look(ast.parse(path.read_text("utf-8")), "")
    return found


def test_no_function_makes_an_array_of_events() -> None:
    """From bytes to slots: whoever makes an array stands in the list above, with what is in it."""
    folder = Path(inspect.getfile(Arena)).parent
    found = {name for path in folder.rglob("*.py") if path.name != "arena.py" for name in makers(path, folder)}
    assert found == set(PUBLIC)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not tell how memory is kept")
def test_its_memory_is_left_out_of_core_dumps_and_wiped_in_forked_processes() -> None:
    found = private_memory(1 << 20)
    address = int(found.__array_interface__["data"][0])
    with Path("/proc/self/smaps").open(encoding="ascii", errors="replace") as file:
        flags, here = "", False
        for line in file:
            begin, dash, end = line.split()[0].partition("-")
            if dash and not begin.endswith(":"):
                here = int(begin, 16) <= address < int(end, 16)
            elif here and line.startswith("VmFlags:"):
                flags = line
    assert {"dd", "wf"} <= set(flags.split())
