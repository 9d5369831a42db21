"""How often intervals hold the truth, on laws that can be asked exactly: ``python -m bench.coverage [LAW ...]``.

A table is drawn from each law, learned from with simulated noise, and asked questions that are drawn at random: the law
of one attribute, of two together, of one given another, of one given two others (the values that are given are those of
a record), and of one given all others (``classify``). Every cell of every answer counts. Printed is, for each kind of
question, the part of the true probabilities that the 90 % intervals hold, as the mean over laws and for the worst of
them, and the means over laws of their median width and of the median actual error. Whoever knew the size of normal
errors would cover 90 % with intervals 4.9 times the median error wide. ``--by-size`` splits by the size of the
published probability, ``--by-law`` prints every law, ``--checked`` asks laws on which no factor was set; ``--holders``
deals the records out, and ``--epsilon`` asks for pure privacy at one ε instead of the settings.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.known_laws import CHECKED, LAWS, KnownLaw, known_law
from panbayes.bayesnet.network import Network
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn

__all__ = ["Kind", "main", "rows", "run"]

Kind: TypeAlias = Literal["single", "pair", "given one", "given two", "given all", "mean"]
KINDS: Final[tuple[Kind, ...]] = ("single", "pair", "given one", "given two", "given all", "mean")

DELTA: Final = Fraction(1, 10**9)
SIZES: Final = (0.0, 1e-3, 1e-2, 1e-1, 1.0)
FEW: Final = 20


@dataclass(frozen=True)
class Setting:
    """What a table is learned with."""

    epsilon: Fraction
    delta: Fraction
    adjacency: Literal["replace", "add-remove"]
    records: int

    @property
    def label(self) -> str:
        """Its name in tables."""
        privacy = f"({float(self.epsilon):g}, 10⁻⁹)" if self.delta else f"pure {float(self.epsilon):g}"
        return f"{privacy}, n = {self.records:,}"


SETTINGS: Final = (
    Setting(Fraction(1, 10), DELTA, "add-remove", 20_000),
    Setting(Fraction(1), DELTA, "add-remove", 20_000),
    Setting(Fraction(10), DELTA, "add-remove", 20_000),
    Setting(Fraction(1), Fraction(0), "replace", 20_000),
    Setting(Fraction(1), DELTA, "add-remove", 5_000),
)


@dataclass(frozen=True)
class Cells:
    """Cells of answers: the truth, what was published, and the ends of the interval."""

    truth: NDArray[np.float64]
    published: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def together(cls, parts: Sequence[Cells]) -> Cells:
        """Put cells together."""
        return cls(
            *(
                np.concatenate([np.ravel(getattr(part, name)) for part in parts])
                for name in ("truth", "published", "low", "high")
            )
        )

    def part(self, chosen: NDArray[np.bool_]) -> Cells:
        """Take some of them."""
        return Cells(self.truth[chosen], self.published[chosen], self.low[chosen], self.high[chosen])

    @property
    def covered(self) -> float:
        """The part of the intervals that hold the truth."""
        return float(((self.low <= self.truth + 1e-12) & (self.truth <= self.high + 1e-12)).mean())

    @property
    def width(self) -> float:
        """The median width."""
        return float(np.median(self.high - self.low))

    @property
    def error(self) -> float:
        """The median error."""
        return float(np.median(np.abs(self.truth - self.published)))


def learned(law: KnownLaw, setting: Setting, seed: int, holders: int = 1) -> Network:
    """Draw a table, deal it out and learn from it."""
    table = law.draw(setting.records, seed + 100)
    study = Study(
        "coverage", table.schema, "adaptive", setting.epsilon, adjacency=setting.adjacency, delta=setting.delta
    )
    return learn(study, {f"holder {j}": table.select(slice(j, None, holders)) for j in range(holders)}, simulate=seed)


def questions(law: KnownLaw, kind: Kind, number: int, seed: int) -> Iterator[tuple[tuple[int, ...], dict[int, int]]]:
    """Draw targets and evidence."""
    rng = np.random.default_rng(seed)
    records = law.draw(number, seed).codes
    targets, given = {"single": (1, 0), "pair": (2, 0), "given one": (1, 1), "given two": (1, 2), "mean": (1, 1)}[kind]
    if kind == "single":
        yield from (((v,), {}) for v in range(law.visible))
        return
    for column in range(number):
        chosen = rng.choice(law.visible, targets + given, replace=False).tolist()
        yield tuple(chosen[:targets]), {v: int(records[v, column]) for v in chosen[targets:]}


def asked(law: KnownLaw, network: Network, kind: Kind, number: int, seed: int) -> Cells:
    """Ask questions of one kind of the network and of the law."""
    if kind == "given all":
        return _classified(law, network, number, seed)
    found = []
    schema = network.schema
    for targets, evidence in questions(law, kind, number, seed):
        names = [schema.names[v] for v in targets]
        given = {schema.names[v]: schema.attributes[v].labels[code] for v, code in evidence.items()}
        truth = law.network.engine.posterior(targets, evidence)
        if kind == "mean":
            numbers = np.array(schema.attributes[targets[0]].numbers)
            if not numbers.size:
                continue
            mean = network.expectation(names[0], given)
            ends = mean.interval or (-np.inf, np.inf)
            found.append(Cells(*(np.array([x]) for x in (float(truth @ numbers), mean.mean, *ends))))
            continue
        answer = network.posterior(names, given)
        if answer.low is not None and answer.high is not None:
            found.append(Cells(truth, answer.probabilities, answer.low, answer.high))
    return Cells.together(found)


def _classified(law: KnownLaw, network: Network, number: int, seed: int) -> Cells:
    table = law.draw(number, seed)
    rng = np.random.default_rng(seed)
    found = []
    for target in rng.choice(law.visible, min(3, law.visible), replace=False).tolist():
        answer = network.classify_table(table, network.schema.names[target])
        truth = np.stack(
            [
                law.network.engine.posterior((target,), {v: int(c) for v, c in enumerate(record) if v != target})
                for record in table.codes.T.tolist()
            ]
        )
        if answer.low is not None and answer.high is not None:
            found.append(Cells(truth, answer.probabilities, answer.low, answer.high))
    return Cells.together(found)


def rows(title: str, laws: Sequence[Cells], *, by_size: bool) -> Iterator[str]:
    """Write rows of a Markdown table: means over laws."""
    covered, widths, errors = ([getattr(law, name) for law in laws] for name in ("covered", "width", "error"))
    width, error = float(np.mean(widths)), float(np.mean(errors))
    yield (
        f"| {title} | {np.mean(covered):.1%} | {min(covered):.1%} | {width:.2g} | {error:.2g} "
        f"| {np.median(np.array(widths) / np.maximum(errors, 1e-12)):.1f} |"
    )
    for low, high in pairwise(SIZES) if by_size else ():
        parts = [law.part((law.published >= low) & (law.published < high)) for law in laws]
        enough = [part for part in parts if part.truth.size >= FEW]
        if enough:
            yield from rows(f"{title}, p from {low:g}", enough, by_size=False)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("laws", nargs="*")
    parser.add_argument("--checked", action="store_true")
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--by-size", action="store_true")
    parser.add_argument("--by-law", action="store_true")
    parser.add_argument("--settings", type=int, nargs="*", default=list(range(len(SETTINGS))))
    parser.add_argument("--holders", type=int, default=1)
    parser.add_argument("--epsilon", type=Fraction, help="pure privacy at this ε, replace, 20,000 records")
    chosen = parser.parse_args(arguments)
    settings = [SETTINGS[place] for place in chosen.settings]
    if chosen.epsilon is not None:
        settings = [Setting(chosen.epsilon, Fraction(0), "replace", 20_000)]
    print("| setting, questions | covered | worst law | width | error | width / error |\n|---|---|---|---|---|---|")
    laws = {name: known_law(name) for name in chosen.laws or (CHECKED if chosen.checked else LAWS)}
    for setting in settings:
        gathered: dict[Kind, list[Cells]] = {}
        for name, law in laws.items():
            network = learned(law, setting, chosen.seed, chosen.holders)
            for kind in KINDS:
                if kind == "mean" and not any(attribute.numbers for attribute in law.schema.attributes):
                    continue
                cells = asked(law, network, kind, chosen.questions, chosen.seed + 7)
                gathered.setdefault(kind, []).append(cells)
                if chosen.by_law:
                    print("\n".join(rows(f"{setting.label}: {name}, {kind}", [cells], by_size=False)), flush=True)
        for kind, parts in gathered.items():
            lines = rows(f"**{setting.label}: {kind}**", parts, by_size=chosen.by_size)
            print("\n".join(lines), flush=True)


def run() -> None:
    """Measure on a few laws: the whole takes long."""
    main(["child", "dense", "ordered", "--settings", "1"])


if __name__ == "__main__":
    main(sys.argv[1:])
