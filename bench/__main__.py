"""Run every benchmark of this package, or those named: ``python -m bench [name ...]``.

A benchmark is a module with a function ``run``; other modules are their helpers.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
import time
from collections.abc import Callable

import bench


def benchmarks() -> dict[str, Callable[[], None]]:
    """Return the benchmarks by name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(bench.__path__) if module.name != "__main__")
    modules = {name: importlib.import_module(f"bench.{name}") for name in names}
    return {name: module.run for name, module in modules.items() if hasattr(module, "run")}


def main(wanted: list[str]) -> int:
    """Run the wanted benchmarks, or all; return the exit code."""
    found = benchmarks()
    unknown = [name for name in wanted if name not in found]
    if unknown:
        print(f"bench: no benchmark is called {unknown[0]!r}; there are: {', '.join(found)}", file=sys.stderr)
        return 2
    for name in wanted or found:
        start = time.perf_counter()
        print(f"== {name} ==", flush=True)
        found[name]()
        print(f"({time.perf_counter() - start:.0f} s)\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
