"""Run one peer on integer codes: started by :mod:`bench.quality` and :mod:`bench.rivals` with the peers' interpreter.

Arguments: the peer's name, ε, δ, a seed, the file with ``codes`` and ``sizes`` (and perhaps ``test`` codes), the file
to write to, and for AIM perhaps how many rounds per attribute (dpmm's own default is 16) and how many CPU-seconds.
Writes ``few`` (as many synthetic records as were given), ``codes`` (ten times as many) and, for dpmm, ``log_prob`` of
the test records under the fitted graphical model itself. Prints one line of JSON with the CPU-seconds of fitting and
the peak memory. Imports nothing of panbayes.

AIM and MST are dpmm's, with values too rare to measure merged (its default) and at most 80 MB for the model (the AIM
paper's value; dpmm's pipeline has no bound). AIM fits its model anew after every round, starting from the last one:
here by 50 iterations, which spares time, and once by 500 at the end, which is closer to the optimum than dpmm's last
fit from nothing (on the table ``dense`` 12.296 bits; 12.297 by 200 iterations a round, 12.296 by 1,000 from nothing).
Two of its functions are replaced by quicker ones that return the same (:func:`_quicken`).
"""

from __future__ import annotations

import importlib
import json
import math
import resource
import sys
import time
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["main"]

TIMES: Final = 10
MEGABYTES: Final = 80
ITERATIONS: Final = 50
LAST_ITERATIONS: Final = 500


def main(arguments: list[str]) -> None:
    """Fit the peer, write its synthetic codes, and print what it took."""
    name, epsilon, delta, seed, given, made, *more = arguments
    rounds, limit = (int(more[0]) if more else 16), (int(more[1]) if len(more) > 1 else 0)
    if limit:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    data = np.load(given)
    codes, sizes = data["codes"], data["sizes"].tolist()
    pandas = importlib.import_module("pandas")
    columns = [f"a{i:03d}" for i in range(len(sizes))]
    frame = pandas.DataFrame({column: values.astype(int) for column, values in zip(columns, codes, strict=True)})
    start = time.process_time()
    if name.startswith("dpmm"):
        model = _dpmm(name, float(Fraction(epsilon)), float(Fraction(delta)), rounds * len(sizes))
        model.fit(frame, domain=dict(zip(columns, sizes, strict=True)), random_state=int(seed))
        if name.endswith("AIM"):
            mechanism = model.gen.generator
            mechanism.engine.iters = LAST_ITERATIONS
            mechanism.model = mechanism.engine.estimate(mechanism.measures)
    else:
        model = _dpart(name, float(Fraction(epsilon)), frame, columns, sizes, pandas)
    seconds = time.process_time() - start
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    results: dict[str, Any] = {}
    if name.startswith("dpmm") and "test" in data:
        results["log_prob"] = _log_prob(model.gen.generator, data["test"], columns)
    for key, times in (("few", 1), ("codes", TIMES)):
        records = times * codes.shape[1]
        if name.startswith("dpmm"):
            synthetic = model.generate(n_records=records, random_state=int(seed) + times)
        else:
            synthetic = model.sample(records)
        results[key] = np.array([synthetic[column].astype(int).to_numpy() for column in columns])
    np.savez(made, **results)
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


def _dpmm(name: str, epsilon: float, delta: float, rounds: int) -> Any:
    pipelines = importlib.import_module("dpmm.pipelines")
    _quicken()
    kind, options = pipelines.MSTPipeline, {}
    if name.endswith("AIM"):
        kind, options = pipelines.AIMPipeline, {"n_iters": ITERATIONS, "rounds": rounds}
    return kind(
        epsilon=epsilon,
        delta=delta,
        compress=True,
        disable_processing=True,
        n_jobs=1,
        max_model_size=MEGABYTES,
        gen_kwargs=options,
    )


def _quicken() -> None:
    """Replace log-sum-exp, equal to the last digits, and the size of a model with one more table, exactly equal."""
    vars(importlib.import_module("dpmm.models.base.mbi.factor"))["logsumexp"] = _log_sum_exp
    vars(importlib.import_module("dpmm.models.aim"))["hypothetical_model_size"] = _model_size


def _log_sum_exp(values: NDArray[np.float64], axis: tuple[int, ...] | None = None) -> Any:
    top = values.max(axis=axis, keepdims=True)
    result = np.log(np.exp(values - top).sum(axis=axis, keepdims=True)) + top
    return float(result.item()) if axis is None else result.squeeze(axis=axis)


def _model_size(domain: Any, cliques: list[tuple[str, ...]]) -> float:
    """Return the megabytes of the junction tree: its attributes are eliminated in turns, the cheapest first."""
    sizes = dict(zip(domain.attrs, domain.shape, strict=True))
    near: dict[str, set[str]] = {attribute: set() for attribute in sizes}
    for clique in cliques:
        for attribute in clique:
            near[attribute].update(clique)
    cost = {a: math.prod(sizes[b] for b in near[a] | {a}) for a in sizes}
    made: list[set[str]] = []
    cells = 0
    while cost:
        gone = min(cost, key=cost.__getitem__)
        joined = near[gone] | {gone}
        if not any(joined <= larger for larger in made):
            made.append(joined)
            cells += cost[gone]
        del cost[gone]
        for attribute in joined - {gone}:
            near[attribute] = (near[attribute] | joined) - {gone}
            cost[attribute] = math.prod(sizes[b] for b in near[attribute] | {attribute})
    return cells * 8 / 2**20


def _dpart(name: str, epsilon: float, frame: Any, columns: list[str], sizes: list[int], pandas: Any) -> Any:
    engines = importlib.import_module("dpart.engines")
    kind = engines.Independent if name.endswith("independent") else engines.PrivBayes
    options = {} if name.endswith("independent") else {"n_parents": 1}
    # As texts of one length: dpart takes numbers for measurements.
    labels = {column: [f"{value:05d}" for value in range(size)] for column, size in zip(columns, sizes, strict=True)}
    for column, values in labels.items():
        frame[column] = pandas.Categorical.from_codes(frame[column], categories=values)
    bounds = {column: {"categories": values} for column, values in labels.items()}
    model = kind(epsilon=epsilon, bounds=bounds, **options)
    model.fit(frame)
    return model


def _log_prob(mechanism: Any, test: NDArray[np.int64], columns: list[str]) -> NDArray[np.float64]:
    """Return ln p of each record under dpmm's graphical model.

    Merged values share the probability of their group equally, as dpmm gives them out again.
    """
    model = mechanism.model
    places, spread = {}, np.zeros(test.shape[1])
    for column, values in zip(columns, test, strict=True):
        support = mechanism.compressor.supports[column]
        merged = np.where(support, np.cumsum(support) - 1, support.sum())
        places[column] = merged[values]
        spread += np.where(support, 0, np.log(max(1, (~support).sum())))[values]
    total = sum(
        factor.values[tuple(places[column] for column in factor.domain.attrs)]
        for factor in (model.potentials[clique] for clique in model.cliques)
    )
    result: NDArray[np.float64] = total - model.belief_propagation(model.potentials, logZ=True) - spread
    return result


if __name__ == "__main__":
    main(sys.argv[1:])
