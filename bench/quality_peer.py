"""Run one peer on integer codes: started by :mod:`bench.quality` with the peers' own interpreter.

Arguments: the peer's name, ε, δ, a seed, the file with ``codes`` and ``sizes``, the file to write synthetic codes to.
Prints one line of JSON with CPU-seconds and peak memory. Imports nothing of panbayes.
"""

from __future__ import annotations

import importlib
import json
import resource
import sys
import time
from fractions import Fraction

import numpy as np

__all__ = ["main"]

RECORDS_TIMES = 10


def main(arguments: list[str]) -> None:
    """Fit the peer, write its synthetic codes, and print what it took."""
    name, epsilon, delta, seed, given, made = arguments
    data = np.load(given)
    codes, sizes = data["codes"], data["sizes"].tolist()
    pandas = importlib.import_module("pandas")
    columns = [f"a{i:03d}" for i in range(len(sizes))]
    frame = pandas.DataFrame({column: values.astype(int) for column, values in zip(columns, codes, strict=True)})
    start = time.process_time()
    records = RECORDS_TIMES * codes.shape[1]
    if name.startswith("dpmm"):
        pipelines = importlib.import_module("dpmm.pipelines")
        kind = pipelines.AIMPipeline if name.endswith("AIM") else pipelines.MSTPipeline
        model = kind(
            epsilon=float(Fraction(epsilon)),
            delta=float(Fraction(delta)),
            compress=True,
            disable_processing=True,
            n_jobs=1,
            gen_kwargs={"n_iters": 200} if name.endswith("AIM") else {},
        )
        model.fit(frame, domain=dict(zip(columns, sizes, strict=True)), random_state=int(seed))
        synthetic = model.generate(n_records=records, random_state=int(seed))
    else:
        engines = importlib.import_module("dpart.engines")
        kind = engines.Independent if name.endswith("independent") else engines.PrivBayes
        options = {} if name.endswith("independent") else {"n_parents": 1}
        # As texts of one length: dpart takes numbers for measurements.
        labels = {
            column: [f"{value:05d}" for value in range(size)] for column, size in zip(columns, sizes, strict=True)
        }
        for column, values in labels.items():
            frame[column] = pandas.Categorical.from_codes(frame[column], categories=values)
        bounds = {column: {"categories": values} for column, values in labels.items()}
        model = kind(epsilon=float(Fraction(epsilon)), bounds=bounds, **options)
        model.fit(frame)
        synthetic = model.sample(records)
    seconds = time.process_time() - start
    rows = np.array([synthetic[column].astype(int).to_numpy() for column in columns])
    np.savez(made, codes=rows)
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "megabytes": megabytes}))


if __name__ == "__main__":
    main(sys.argv[1:])
