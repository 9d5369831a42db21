"""Trials of mutants: each is put into a copy of the tree, and tests are run until one fails."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tests.soak.mutants.catalogue import SemanticMutant
from tests.soak.mutants.generator import Mutant, mutants_of
from tests.soak.mutants.judged import judgement
from tests.soak.mutants.trees import Outcome, Tree, likely_tests, modules_of, source

__all__ = ["Trial", "Trials", "generated", "sampled", "table"]


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a mutant: ``by`` is the test that noticed it, ``judged`` why nobody need notice it."""

    file: str
    function: str
    line: int
    kind: str
    code: str
    before: str
    after: str
    outcome: Outcome
    seconds: float
    by: str = ""
    judged: str = ""

    def text(self) -> str:
        """Write it as a line of JSON."""
        said = {name: getattr(self, name) for name in self.__slots__}
        return json.dumps(said | {"seconds": round(self.seconds, 1)}, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Trials:
    """Trials in one ``tree``."""

    tree: Tree

    def semantic(self, mutant: SemanticMutant) -> Trial:
        """Try a mutant of the catalogue."""
        applied = mutant.applied()
        with self.tree.exchanged(applied.file, applied.text):
            run = self.tree.run(mutant.tests, only=mutant.only)
        said = applied.file, mutant.function, 0, mutant.name, mutant.promise, mutant.find, mutant.replace
        return Trial(*said, run.outcome, run.seconds, run.by)

    def generated(self, mutant: Mutant) -> Trial:
        """Try a generated mutant on all tests of its room, those first that are likeliest to notice it."""
        text = mutant.applied(source(mutant.file))
        if text is None:
            raise ValueError("a mutant that is none was to be tried")
        with self.tree.exchanged(mutant.file, text):
            run = self.tree.run(likely_tests(mutant.file))
        judged = judgement(mutant) if run.outcome == "survived" else ""
        said = mutant.file, mutant.function, mutant.line, mutant.kind, mutant.code, mutant.before, mutant.after
        return Trial(*said, run.outcome, run.seconds, run.by, judged)

    def check(self, trials: Iterable[Trial]) -> None:
        """Refuse trials in which a test noticed a mutant that does not pass without one."""
        tests = {trial.by.partition("[")[0] for trial in trials if "::" in trial.by or trial.by.endswith(".py")}
        if tests:
            run = self.tree.run(sorted(tests))
            if run.outcome != "survived":
                raise RuntimeError(f"{run.by or tests} does not pass without a mutant")


def generated(room: str = "", files: Iterable[str] = ()) -> list[Mutant]:
    """Return all mutants of some ``files``, by their paths below the package, else of a room."""
    return [one for file in sorted(files) or modules_of(room) for one in mutants_of(file, source(file))]


def sampled(mutants: Sequence[Mutant], *, many: int | None, seed: int) -> list[Mutant]:
    """Return so many of some mutants, by a ``seed``, or all of them; what is no Python is none."""
    chosen = list[Mutant]()
    for place in np.random.default_rng(seed).permutation(len(mutants)).tolist():
        if len(chosen) == many:
            break
        if mutants[place].applied(source(mutants[place].file)) is not None:
            chosen.append(mutants[place])
    return sorted(chosen, key=lambda one: (one.file, one.place))


def table(trials: Iterable[Trial]) -> Iterator[str]:
    """Yield the lines of a table of what became of mutants, by file."""
    counts: dict[str, Counter[str]] = {}
    for trial in trials:
        counted = counts.setdefault(trial.file, Counter())
        counted["judged" if trial.judged else trial.outcome] += 1
    names = ("killed", "timeout", "judged", "survived")
    yield f"{'module':50}" + "".join(f"{name:>10}" for name in names)
    for file, found in (*sorted(counts.items()), ("all", sum(counts.values(), Counter()))):
        yield f"{file:50}" + "".join(f"{found[name]:10}" for name in names)
