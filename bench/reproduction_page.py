"""The tables and figures of docs/reproduction.md, out of folders that ``python -m reproduction`` has filled.

``python -m bench.reproduction_page FOLDER...`` writes what stands between the marks of the page and copies the figures:
figures and verdicts, all verdicts in one table, and what other partitions of the records do. An experiment is taken
from the first folder that has it with records dealt out in turns; folders of other partitions are set beside it.
"""

from __future__ import annotations

import json
import math
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from reproduction.distributed_pictures import SHORT
from reproduction.distributed_trials import ADAPTIVE, PUBLISHED
from reproduction.experiment import Experiment, experiments
from reproduction.partition import PARTITIONS, TURNS
from reproduction.results import Results, Row, parse_csv

__all__ = ["closing", "main", "put", "section", "skew"]

PAGE: Final = Path("docs/reproduction.md")
FIGURES: Final = Path("docs/figures/reproduction")
_BRIEF: Final = 150
_SAME: Final = ("strategy", "epsilon", "degree", "holders", "attributes")


def _told(folder: Path, name: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return told


def _ordered() -> list[Experiment]:
    """Every experiment, by chapters."""
    return sorted(experiments().values(), key=lambda one: one.section[:9])


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _holds(verdict: dict[str, Any]) -> str:
    return "yes" if verdict["confirmed"] else "**no**"


def section(experiment: Experiment, told: dict[str, Any]) -> str:
    """Return what the page says of an experiment: its figures, and a row for every sentence."""
    repeated = told["run"]["repetitions"]
    often = f", {repeated:,} repetitions" if repeated else ""
    often += " (`--quick`)" if repeated and told["run"]["quick"] else ""
    lines = [f"### {experiment.title}\n", f"`{experiment.name}`: {experiment.section}{often}.\n"]
    lines += [f"![{one.label}](figures/reproduction/{one.name}.png)\n" for one in experiment.pictures]
    lines += ["| the thesis says | where | holds | what was found |", "|---|---|---|---|"]
    for verdict in told["verdicts"]:
        found = verdict["numbers"]
        if verdict["reason"] and not verdict["confirmed"]:
            found += f". *Why:* {verdict['reason']}"
        lines.append(_line(verdict["sentence"], verdict["label"], _holds(verdict), found))
    return "\n".join(lines) + "\n"


def closing(told: dict[str, dict[str, Any]]) -> str:
    """Return all verdicts in one table, each with the beginning of its numbers."""
    verdicts = [(one.name, verdict) for one in _ordered() for verdict in told[one.name]["verdicts"]]
    held = sum(bool(verdict["confirmed"]) for _, verdict in verdicts)
    lines = [f"{held} of {len(verdicts)} sentences hold.\n", "| experiment | sentence | holds | number |"]
    lines.append("|---|---|---|---|")
    for name, verdict in verdicts:
        brief = textwrap.shorten(verdict["numbers"], _BRIEF, placeholder=" …")
        lines.append(_line(f"`{name}`", verdict["sentence"], _holds(verdict), brief))
    return "\n".join(lines) + "\n"


def skew(name: str, by: dict[str, Results]) -> str:
    """Return the cross entropies of an experiment under every partition, where all of them have them."""
    others = {partition: found for partition, found in by.items() if partition != TURNS}
    lines = [f"`{name}`:\n", _line("strategy", "ε", "holders", *(PARTITIONS[one] for one in PARTITIONS if one in by))]
    lines.append("|---" * (3 + len(by)) + "|")
    for row in by[TURNS].rows:
        same = {key: row[key] for key in _SAME if key in row}
        rows = [row, *(found for results in others.values() if (found := _matching(results.rows, same)) is not None)]
        if len(rows) == len(by) and row["strategy"] in (*PUBLISHED, ADAPTIVE) and row.get("attributes", "all") == "all":
            where = (SHORT[str(row["strategy"])], f"{row['epsilon']:g}", f"{row['holders']}")
            lines.append(_line(*where, *map(_shown, rows)))
    return "\n".join(lines) + "\n"


def _matching(rows: Sequence[Row], same: Row) -> Row | None:
    return next((row for row in rows if all(row[key] == value for key, value in same.items())), None)


def _shown(row: Row) -> str:
    error = float(row["deviation"]) / math.sqrt(float(row["repetitions"]))
    return f"{row['bits']:.2f} ± {error:.2f}"


def put(page: str, mark: str, text: str) -> str:
    """Put a text between the marks of this name."""
    begin, end = f"<!-- generated: {mark} -->\n", f"<!-- end: {mark} -->\n"
    before, found, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not (found and ended):
        raise SystemExit(f"the page has no marks for {mark}")
    return f"{before}{begin}\n{text}\n{end}{after}"


def main(given: list[Path]) -> None:
    """Write the page again."""
    places: dict[tuple[str, str], Path] = {}
    for folder in given:
        for name in experiments():
            if (folder / f"{name}.json").is_file():
                places.setdefault((name, _told(folder, name)["run"].get("partition", TURNS)), folder)
    told = {name: _told(places[name, TURNS], name) for name in experiments()}
    beside = [
        skew(name, {one: _results(places[name, one], name) for one in PARTITIONS if (name, one) in places})
        for name in experiments()
        if any((name, one) in places for one in PARTITIONS if one != TURNS)
    ]
    page = PAGE.read_text(encoding="utf-8")
    page = put(page, "verdicts", "\n".join(section(one, told[one.name]) for one in _ordered()))
    page = put(page, "all verdicts", closing(told))
    page = put(page, "partitions", "\n".join(beside))
    PAGE.write_text(page, encoding="utf-8")
    FIGURES.mkdir(parents=True, exist_ok=True)
    for experiment in experiments().values():
        for picture in experiment.pictures:
            shutil.copyfile(places[experiment.name, TURNS] / f"{picture.name}.png", FIGURES / f"{picture.name}.png")


def _results(folder: Path, name: str) -> Results:
    return parse_csv((folder / f"{name}.csv").read_text(encoding="utf-8"))


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
