"""What the demo tells when it is done."""

from __future__ import annotations

import math
from typing import Final

from panbayes.bayesnet.results import INTERVAL
from panbayes.cli.demo.job import BOUND, CHOSEN, HOSPITALS, TEST, Outcome
from panbayes.cli.demo.population import clinic_schema
from panbayes.cli.text import aligned
from panbayes.consortium.agreement.strategy import strategies
from panbayes.privacy.written import show_fraction

__all__ = ["account"]

TARGET: Final = "readmitted"
EVIDENCE: Final = {"insulin": "Up", "a1c": ">8"}


def account(outcome: Outcome) -> list[str]:
    """Tell what was learned, how well, and what to try next."""
    epsilon = show_fraction(outcome.epsilon)
    people = ", ".join(f"{name} {number:,}" for name, number in HOSPITALS.items())
    given = ", ".join(f"{name} = {value}" for name, value in EVIDENCE.items())
    return [
        f"Three hospitals ({people} patients, all made up)",
        f"learn one network of {len(clinic_schema())} attributes for an analyst whom they do not trust;",
        f"each study is private at ε = {epsilon} for every patient.",
        "",
        f"How well each network predicts {TEST:,} other patients",
        "(cross entropy in bits per patient, lower is better):",
        *_bits(outcome, epsilon),
        "",
        f"A question to the network of {CHOSEN}:",
        f"who is {TARGET}, given {given}?",
        *_answers(outcome, epsilon),
        "",
        f"{outcome.synthetic.records:,} synthetic patients differ from the real ones by {outcome.distance:.3f}",
        "on average over all pairs of attributes (total variation: 0 is the same, 1 is",
        "nothing in common).",
        "",
        f"Everything is in {outcome.output}: model.json, synthetic.csv, study.toml, clinic.toml,",
        "the hospitals' files and their ledgers.",
        f"Figures: {' and '.join(outcome.figures) or 'none, for want of matplotlib: pip install panbayes[figures]'}.",
        "Try:",
        f"  panbayes show {outcome.output}/model.json",
        f"  panbayes query {outcome.output}/model.json 'readmitted | age=\"[75, 120]\"'",
    ]


def _bits(outcome: Outcome, epsilon: str) -> list[str]:
    bits = outcome.bits
    uniform = sum(math.log2(size) for size in clinic_schema().sizes)
    rows = [("strategy", "learns from", "ε", "bits")]
    rows.append(("guessing uniformly", "nothing", "0", f"{uniform:.2f}"))
    private = [strategy for strategy in strategies().values() if strategy.private]
    for strategy in sorted(private, key=lambda strategy: bits[strategy.name]):
        patients = "three hospitals" if strategy.several else "north alone"
        rows.append((strategy.name, patients, epsilon, f"{bits[strategy.name]:.2f}"))
    rows.append((f"{BOUND}, the bound", "three hospitals", "none", f"{bits[BOUND]:.2f}"))
    return aligned(rows)


def _answers(outcome: Outcome, epsilon: str) -> list[str]:
    private = outcome.networks[CHOSEN].posterior(TARGET, EVIDENCE)
    exact = outcome.networks[BOUND].posterior(TARGET, EVIDENCE)
    rows = [(TARGET, f"at ε = {epsilon}", INTERVAL, "no privacy")]
    intervals = private.interval_texts() or ["not known"] * len(private.rows())
    rows += [
        (label[0], f"{p:.4f}", interval, f"{q:.4f}")
        for (label, p), interval, (_, q) in zip(private.rows(), intervals, exact.rows(), strict=True)
    ]
    return aligned(rows)
