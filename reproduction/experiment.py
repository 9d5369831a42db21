"""What an experiment of the thesis is: cells of work, sentences that their results test, and pictures of them.

An experiment is one value in one file of ``experiments/``. Its *cells* are all the combinations of parameters; a cell's
result is a pure function of its parameters, the number of repetitions and a seed, so that cells can be computed in any
order, by any number of processes, and again. Verdicts and pictures are functions of the results and of nothing else.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from panbayes.discovery import registry
from reproduction.results import Results, Row, Value

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Cell", "Claim", "Experiment", "Picture", "Verdict", "cell_key", "cell_seed", "experiments"]

Cell: TypeAlias = Mapping[str, Value]
"""The parameters of one piece of work."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether results bear a sentence out, the ``numbers`` that say so, and the ``reason`` why not, where known."""

    confirmed: bool
    numbers: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """A ``sentence`` of the thesis, by the ``label`` where it stands, and how results ``judge`` it."""

    label: str
    sentence: str
    judge: Callable[[Results], Verdict]


@dataclass(frozen=True, slots=True)
class Picture:
    """The figure of the thesis with this ``label``: ``draw`` fills an empty one, ``name`` is its file's."""

    label: str
    name: str
    draw: Callable[[Results, Figure], None]


def _needs_nothing() -> None:
    """Most experiments need no data."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment: its ``cells``, how one of them is ``run``, what is claimed of the results, and their pictures.

    ``cells`` is asked for those of a quick run or of a whole one. ``run`` gets a cell, how often to repeat it and a
    seed. ``repetitions`` are the thesis's, ``quick_repetitions`` enough to see the same; both are 0 where nothing is
    drawn at random. Where holders share records (``partitioned``), cells also say how these are dealt out. ``ready``
    refuses, before anything is computed, where data are needed that are not there.
    """

    name: str
    title: str
    section: str
    cells: Callable[[bool], Sequence[Cell]]
    run: Callable[[Cell, int, int], Sequence[Row]]
    claims: tuple[Claim, ...]
    pictures: tuple[Picture, ...]
    repetitions: int = 0
    quick_repetitions: int = 0
    partitioned: bool = False
    ready: Callable[[], None] = _needs_nothing

    def repeated(self, *, quick: bool) -> int:
        """How often a cell is repeated."""
        return self.quick_repetitions if quick else self.repetitions

    def judged(self, results: Results) -> tuple[Verdict, ...]:
        """Judge every claim."""
        return tuple(claim.judge(results) for claim in self.claims)


@cache
def experiments() -> dict[str, Experiment]:
    """Return every experiment by its name.

    >>> experiments()["actual-budget"].pictures[0].label
    'FIG_actual_privacy_budget'
    """
    return registry("reproduction.experiments", Experiment, lambda experiment: experiment.name)


def cell_key(cell: Cell) -> str:
    """Return the text that a cell is known by.

    >>> cell_key({"epsilon": 0.1, "stream": "zipf"})
    '{"epsilon": 0.1, "stream": "zipf"}'
    """
    return json.dumps(dict(cell), sort_keys=True)


def cell_seed(seed: int, experiment: str, cell: Cell) -> int:
    """Return the seed of a cell: as good as independent of those of all others, and the same in every run."""
    text = f"{seed} {experiment} {cell_key(cell)}"
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8])
