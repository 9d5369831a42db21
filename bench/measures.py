"""How good a model or its synthetic records are: the same measures for our networks and for peers' records.

================== ===================================================================================================
``bits``           cross entropy of test records under the model, in bits per record
``pairs``          mean total variation distance over all pairs of attributes, between as many synthetic records and
                   the training records
``triples``        the same over 200 triples of attributes (all if there are fewer), drawn with a fixed seed
``pairs_tenfold``  ``pairs`` with ten times as many synthetic records: less of it is the error of sampling them
``accuracy, auc``  of gradient-boosted trees, and with ``_linear`` of a logistic regression, trained on the synthetic
                   records to predict one attribute of the test records from all others; the area under the curve is
                   one against the rest, weighted by frequency, if there are more than two classes
================== ===================================================================================================

``python -m bench.measures --tables FOLDER NAME...`` prints them, as one JSON object, for models without privacy:
uniform, independent, Chow–Liu, penalised greedy with at most 2 and 3 parents, and for the training records themselves.
The classifiers are scikit-learn's, which the developers' environment has.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import sys
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from bench.subjects import Subject, subject
from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.learning.search import chow_liu, penalised_greedy
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.tables.counting.count_tables import all_pairs, contingencies
from panbayes.tables.table import Table

__all__ = ["area_under_curve", "bits", "distance", "main", "of_network", "of_records", "references", "triples_distance"]

TRIPLES: Final = 200
TENFOLD: Final = 10
SMOOTHING: Final = 0.5
FEW_ATTRIBUTES: Final = 43
"""Three parents are searched for up to so many attributes."""


def bits(network: Network, test: Table) -> float:
    """Return the cross entropy of test records in bits."""
    return float(network.log_prob(test).mean()) / -math.log(2)


def distance(one: Table, other: Table) -> float:
    """Return the mean total variation distance over all pairs of attributes."""
    first, second = (all_pairs(table.codes, table.schema.sizes) for table in (one, other))
    apart = np.abs(first.flat / first.records - second.flat / second.records)
    return float(np.add.reduceat(apart, first.offsets[:-1]).mean()) / 2


def triples_distance(one: Table, other: Table, *, seed: int = 0) -> float:
    """Return the mean total variation distance over some triples of attributes, the same for all tables of a size."""
    every = list(combinations(range(len(one.schema)), 3))
    chosen = np.random.default_rng(seed).choice(len(every), min(TRIPLES, len(every)), replace=False)
    sets = [every[place] for place in chosen]
    found = []
    for triple in sets:  # one after the other: three large domains take memory
        first, second = (contingencies(table.checked, table.schema.sizes, [triple])[triple] for table in (one, other))
        found.append(float(np.abs(first / one.records - second / other.records).sum()) / 2)
    return float(np.mean(found))


def area_under_curve(truth: NDArray[np.bool_], score: NDArray[np.float64]) -> float:
    """Return the area under the curve by ranks; equal scores count half."""
    positive = int(truth.sum())
    ranks = rankdata(score)[truth].sum() - positive * (positive + 1) / 2
    return float(ranks) / (positive * (truth.size - positive))


def _classifiers(schema_sizes: NDArray[np.int64], nominal: NDArray[np.bool_]) -> Iterator[tuple[str, Any]]:
    ensemble, linear = (importlib.import_module(f"sklearn.{part}") for part in ("ensemble", "linear_model"))
    pipeline, preprocessing = (importlib.import_module(f"sklearn.{part}") for part in ("pipeline", "preprocessing"))
    categorical = nominal & (schema_sizes <= 255)
    yield (
        "",
        ensemble.HistGradientBoostingClassifier(categorical_features=categorical, early_stopping=False, random_state=0),
    )
    one_hot = preprocessing.OneHotEncoder(categories=[np.arange(size) for size in schema_sizes])
    yield "_linear", pipeline.make_pipeline(one_hot, linear.LogisticRegression(max_iter=300))


def _prediction(synthetic: Table, held: Subject) -> dict[str, float]:
    """Train on synthetic records, test on real ones."""
    schema, target = held.schema, held.target
    others = [place for place in range(len(schema)) if place != target]
    sizes = np.array(schema.sizes)
    nominal = np.array([not attribute.numeric for attribute in schema.attributes])
    learned, label = synthetic.codes[others].T.astype(np.int64), synthetic.codes[target].astype(np.int64)
    asked, truth = held.test.codes[others].T.astype(np.int64), held.test.codes[target].astype(np.int64)
    results: dict[str, float] = {}
    for suffix, classifier in _classifiers(sizes[others], nominal[others]):
        chances = np.zeros((truth.size, sizes[target]))
        classes = np.unique(label)
        if classes.size == 1:
            chances[:, classes] = 1
        else:
            chances[:, classes] = classifier.fit(learned, label).predict_proba(asked)
        weights = {value: float((truth == value).mean()) for value in np.unique(truth)}
        areas = {
            value: area_under_curve(truth == value, chances[:, value]) for value, share in weights.items() if share < 1
        }
        results[f"accuracy{suffix}"] = float((chances.argmax(1) == truth).mean())
        results[f"auc{suffix}"] = float(np.average(list(areas.values()), weights=[weights[v] for v in areas]))
    return results


def of_records(synthetic: Table, held: Subject) -> dict[str, float]:
    """Return the measures of as many synthetic records as there are training records."""
    return {
        "pairs": distance(synthetic, held.training),
        "triples": triples_distance(synthetic, held.training),
        **_prediction(synthetic, held),
    }


def of_network(network: Network, held: Subject, *, seed: int = 1) -> dict[str, float]:
    """Return all measures of a network."""
    records = held.training.records
    return {
        "bits": bits(network, held.test),
        **of_records(network.sample_table(records, seed), held),
        "pairs_tenfold": distance(network.sample_table(TENFOLD * records, seed + 1), held.training),
    }


def _models(held: Subject) -> Iterator[tuple[str, Network]]:
    counts = ExactCounts(held.training)
    attributes = len(held.schema)
    structures: dict[str, Callable[[], Structure]] = {
        "independent": lambda: Structure.independent(attributes),
        "Chow–Liu": lambda: chow_liu(counts),
        "greedy k ≤ 2": lambda: penalised_greedy(counts, min(2, attributes - 1)),
        "greedy k ≤ 3": lambda: penalised_greedy(counts, min(3, attributes - 1)),
    }
    for name, structure in structures.items():
        if not name.endswith("3") or attributes <= FEW_ATTRIBUTES:
            yield name, fit(held.schema, structure(), counts, smoothing=SMOOTHING)


def references(held: Subject, *, only_bits: bool = False) -> dict[str, dict[str, float]]:
    """Return the measures of models without privacy, and of the training records as if they were synthetic."""
    found = {"uniform": {"bits": float(np.log2(np.array(held.schema.sizes, dtype=float)).sum())}}
    for name, network in _models(held):
        found[name] = {"bits": bits(network, held.test)} if only_bits else of_network(network, held)
    if not only_bits:
        found["real records"] = _prediction(held.training, held)
    return found


def main(arguments: list[str]) -> int:
    """Print the references of some tables."""
    parser = argparse.ArgumentParser(prog="bench.measures", description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--tables", type=Path, action="append", default=[], help="a folder of real tables; repeatable")
    parser.add_argument("--only-bits", action="store_true")
    given = parser.parse_args(arguments)
    found = {name: references(subject(name, given.tables), only_bits=given.only_bits) for name in given.names}
    print(json.dumps(found, indent=1, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
