"""Draw the releases of the example with their intervals, beside the truth, which only a made log can tell."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from matplotlib.figure import Figure


def main(folder: Path) -> None:
    """Read the releases, and write visitors.png."""
    found = [json.loads(file.read_text()) for file in sorted((folder / "releases").glob("*.json"))]
    releases = [one.get("estimate", one) for one in found]
    truth = [int(line) for line in (folder / "truth.txt").read_text().split()]
    days = range(1, len(releases) + 1)
    below = [one["users"] - one["low"] for one in releases]
    above = [one["high"] - one["users"] for one in releases]
    figure = Figure(figsize=(8, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.errorbar(
        days, [one["users"] for one in releases], [below, above], fmt="o", capsize=3, color="#2f6f9f", label="released"
    )
    axes.plot(days, truth, "_", markersize=16, color="#c05a1c", label="in the log (known because it was made)")
    axes.set(ylim=(0, None), xlabel="day", ylabel="distinct visitors", xticks=days)
    axes.set_title("Visitors by day: E = 1 for one person and a whole week, 95 % intervals")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower left")
    figure.savefig(folder / "visitors.png", dpi=150)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
