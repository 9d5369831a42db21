"""The tables and figures of docs/reproduction.md, out of folders that ``panbayes reproduce`` has filled.

``python -m bench.reproduction_page FOLDER...`` writes the verdicts between the marks of the page and copies the
figures; an experiment is taken from the first folder that has it.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

from panbayes.reproduce.experiment import Experiment, experiments

__all__ = ["main", "regenerated", "section"]

PAGE: Final = Path("docs/reproduction.md")
FIGURES: Final = Path("docs/figures/reproduction")
BEGIN, END = "<!-- generated: verdicts -->\n", "<!-- end: verdicts -->\n"


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
        holds = "yes" if verdict["confirmed"] else "**no**"
        cells = (verdict["sentence"], verdict["label"], holds, found)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def regenerated(page: str, folders: dict[str, Path]) -> str:
    """Put the verdicts of every experiment's folder between their marks, by chapters."""
    before, _, rest = page.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise SystemExit("the page has no marks")
    sections = [
        section(one, json.loads((folders[one.name] / f"{one.name}.json").read_text(encoding="utf-8")))
        for one in sorted(experiments().values(), key=lambda one: one.section[:9], reverse=True)
    ]
    return before + BEGIN + "\n" + "\n".join(sections) + "\n" + END + after


def main(given: list[Path]) -> None:
    """Write the page again."""
    folders = {name: next(one for one in given if (one / f"{name}.json").is_file()) for name in experiments()}
    PAGE.write_text(regenerated(PAGE.read_text(encoding="utf-8"), folders), encoding="utf-8")
    FIGURES.mkdir(parents=True, exist_ok=True)
    for experiment in experiments().values():
        for picture in experiment.pictures:
            shutil.copyfile(folders[experiment.name] / f"{picture.name}.png", FIGURES / f"{picture.name}.png")


if __name__ == "__main__":
    main([Path(folder) for folder in sys.argv[1:]])
