"""The demo's job: three hospitals learn together by every strategy, and what they learned is measured."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.cli.demo.population import clinic_network, clinic_schema
from panbayes.cli.study_file import study_text
from panbayes.consortium.agreement.strategy import strategies
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.files import output_file, write_text
from panbayes.schema.schema import dump_schema
from panbayes.tables.table import Table

__all__ = ["BOUND", "CHOSEN", "HOSPITALS", "TEST", "Outcome", "run_job"]

HOSPITALS: Final = {"north": 12_000, "south": 8_000, "west": 4_000}
"""The hospitals and how many patients each has."""

TEST: Final = 6_000
"""Other patients, on whom the networks are tried."""

SEED: Final = 2016
CHOSEN: Final = "adaptive"
"""The strategy whose network is saved, sampled and drawn."""

_FILES: Final = (
    *(f"{name}.csv" for name in (*HOSPITALS, "test", "synthetic")),
    *("clinic.toml", "study.toml", "model.json", "network.png", "marginals.png"),
)

BOUND: Final = "non-private"
"""The strategy that the others are compared with."""


@dataclass(frozen=True)
class Outcome:
    """What the demo did: the ``networks`` of every strategy and how well each predicts, in bits per patient.

    ``distance`` is the mean total variation distance between patients and ``synthetic`` ones over all pairs of
    attributes; ``figures`` names the pictures, none where matplotlib is not installed.
    """

    epsilon: Fraction
    output: Path
    networks: dict[str, Network]
    bits: dict[str, float]
    synthetic: Table
    distance: float
    figures: tuple[str, ...]


def run_job(output: Path, *, epsilon: Fraction) -> Outcome:
    """Draw patients, learn, measure, and leave every file in the folder ``output``."""
    _check_folder(output)
    hospitals, test = _patients(output)
    networks = _learn_all(hospitals, epsilon, output)
    chosen = networks[CHOSEN]
    synthetic = chosen.sample_table(sum(HOSPITALS.values()), SEED)
    with output_file(output / "synthetic.csv") as temporary:
        synthetic.decoded().write_csv(temporary)
    chosen.save(output / "model.json")
    pooled = Table(clinic_schema(), np.concatenate([table.codes for table in hospitals.values()], axis=1))
    return Outcome(
        epsilon,
        output,
        networks,
        {name: float(network.log_prob(test).mean()) / -math.log(2) for name, network in networks.items()},
        synthetic,
        _pair_distance(pooled, synthetic),
        _draw(chosen, pooled, synthetic, output),
    )


def _check_folder(output: Path) -> None:
    """Refuse a folder in which files with the demo's names are somebody's own: the demo would replace them."""
    there = [name for name in _FILES if os.path.lexists(output / name)]
    schema = output / "clinic.toml"
    if not there or (schema.is_file() and schema.read_text(errors="replace") == dump_schema(clinic_schema())):
        return
    raise InputError(
        "--output", found=f"{output / there[0]} is not the demo's, which would replace it", remedy="give a new folder"
    )


def _patients(output: Path) -> tuple[dict[str, Table], Table]:
    """Draw the patients, write the hospitals' files and the schema, and keep some patients for testing."""
    population = clinic_network()
    write_text(output / "clinic.toml", dump_schema(clinic_schema()))
    rng = np.random.default_rng(SEED)
    hospitals = {name: population.sample_table(number, rng, independent=True) for name, number in HOSPITALS.items()}
    test = population.sample_table(TEST, rng, independent=True)
    for name, table in (*hospitals.items(), ("test", test)):
        with output_file(output / f"{name}.csv", private=True) as temporary:
            table.decoded().write_csv(temporary)
    return hospitals, test


def _learn_all(hospitals: dict[str, Table], epsilon: Fraction, output: Path) -> dict[str, Network]:
    studies = {name: Study(f"demo, {name}", clinic_schema(), name, epsilon) for name in strategies()}
    write_text(output / "study.toml", study_text(studies[CHOSEN], schema="clinic.toml"))
    alone = {"north": hospitals["north"]}
    return {
        name: learn(study, hospitals if study.how.several else alone, state=output / "ledgers")
        for name, study in studies.items()
    }


def _pair_distance(real: Table, made: Table) -> float:
    """Return the mean total variation distance over all pairs of attributes."""
    sizes = real.schema.sizes
    distances = []
    for i in range(len(sizes)):
        for j in range(i):
            cells = sizes[i] * sizes[j]
            first, second = (
                np.bincount(t.codes[i].astype(np.int64) * sizes[j] + t.codes[j], minlength=cells) / t.records
                for t in (real, made)
            )
            distances.append(float(np.abs(first - second).sum()) / 2)
    return float(np.mean(distances))


def _draw(network: Network, pooled: Table, synthetic: Table, output: Path) -> tuple[str, ...]:
    """Draw the network and two marginals, where matplotlib is installed."""
    if find_spec("matplotlib") is None:
        return ()
    # Imported here: the demo runs without matplotlib, and the import takes a second.
    from panbayes.cli.demo.figures import draw_marginals, draw_network

    schema = network.schema
    draw_network(network, output / "network.png", title=f"Learned by {CHOSEN} from three hospitals")
    shown = ("age", "readmitted")
    marginals = {
        series: {name: _marginal(table, schema.index(name)) for name in shown}
        for series, table in (("patients", pooled), ("synthetic", synthetic))
    }
    labels = {name: schema.attributes[schema.index(name)].labels for name in shown}
    draw_marginals(labels, marginals, output / "marginals.png")
    return ("network.png", "marginals.png")


def _marginal(table: Table, attribute: int) -> NDArray[np.float64]:
    return np.bincount(table.codes[attribute], minlength=table.schema.sizes[attribute]) / table.records
