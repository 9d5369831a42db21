"""Mutants: every broken promise of the catalogue must be noticed on an ordinary day, and most changes at random.

``python -m tests.soak.mutants`` tries them one by one, and says which tests noticed what.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from tests.effort import soak
from tests.soak.mutants.catalogue import catalogue
from tests.soak.mutants.generator import mutants_of
from tests.soak.mutants.judged import judged
from tests.soak.mutants.trees import Tree, source
from tests.soak.mutants.trials import Trials, generated, sampled, table

pytestmark = soak

PARTS: Final = 8
"""The catalogue is tried in so many parts, so that there is work for every worker."""

SAMPLE: Final = 40
"""Mutants of every room."""

ROOMS: Final = ("consortium/holder", "dp", "privacy", "stream", "tables")


@pytest.mark.parametrize("part", range(PARTS))
def test_every_broken_promise_is_noticed(part: int, tmp_path: Path) -> None:
    trials = Trials(Tree(tmp_path / "tree"))
    chosen = [mutant for mutant in catalogue()[part::PARTS] if not mutant.soak]
    found = [trials.semantic(mutant) for mutant in chosen]
    trials.check(found)
    survivors = [trial.kind for trial in found if trial.outcome == "survived"]
    assert not survivors


@pytest.mark.parametrize("room", ROOMS)
def test_most_changes_at_random_are_noticed(room: str, tmp_path: Path) -> None:
    trials = Trials(Tree(tmp_path / "tree"))
    found = [trials.generated(mutant) for mutant in sampled(generated(room), many=SAMPLE, seed=31)]
    trials.check(found)
    left = [trial for trial in found if trial.outcome == "survived" and not trial.judged]
    sys.stdout.write("\n".join((*table(found), *(trial.text() for trial in left), "")))
    assert len(left) <= SAMPLE // 4, Counter(trial.file for trial in left)


def test_judged_mutants_are_those_of_the_generator_and_say_why() -> None:
    made: dict[str, set[tuple[str, str, str]]] = {}
    for (file, *change), reason in judged().items():
        if file not in made:
            made[file] = {(one.code, one.before, one.after) for one in mutants_of(file, source(file))}
        assert reason, (file, change)
        assert tuple(change) in made[file], f"{file} has no such code any more, or is no module: {change}"
