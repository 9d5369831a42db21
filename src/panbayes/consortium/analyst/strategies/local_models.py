"""PrivBayes inside each holder: the whole model of one, or synthetic records of several models pooled.

Thesis: section "PrivBayes"; Theorem thm_privbayes_overall; Algorithm "Sharing the Noisy Model"; Theorem
thm_noisy_mv_priv (the thesis gives two theorems this label; the second is meant).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.strategies import local_models
from panbayes.consortium.analyst.holders import Holders, answer_of, digest
from panbayes.consortium.analyst.method import Method
from panbayes.consortium.analyst.pooled_counts import PooledCounts, pool
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.analyst.result import SMOOTHING, fitted, learn_structure
from panbayes.consortium.protocol.answers import ModelAnswer
from panbayes.consortium.protocol.envelope import Release
from panbayes.schema.schema import Schema
from panbayes.tables.codes import code_type
from panbayes.tables.table import Table

__all__ = ["NOISY_MODEL", "PRIVBAYES"]

POOLED_RECORDS: Final = 2**24
"""Records of all holders pooled at most: shares of so many draws have standard errors below 1/8000."""

POOLED_CODES: Final = 2**29
"""Values of all pooled records at most, half a gigabyte of memory or one: no holder can ask for more by its word."""


def _learn_privbayes(holders: Holders) -> Network:
    """Take the one holder's local model."""
    study = holders.study
    releases = _models(holders)
    (release,) = releases.values()
    structure, counts = _local_model(answer_of(release, ModelAnswer), study.schema, public_size(release))
    return fitted(holders, structure, counts, releases)


def _learn_noisy_model(holders: Holders) -> Network:
    """Draw n_j records from holder j's model, pool them, and learn without noise from the pool.

    n_j is what holder j says. Where all together would be more than can be pooled, each gives its part of that.
    """
    study = holders.study
    releases = _models(holders)
    records = _pooled_records({name: public_size(release) for name, release in releases.items()}, len(study.schema))
    codes = np.empty((len(study.schema), sum(records.values())), dtype=code_type(study.schema))
    filled = 0
    for name, release in sorted(releases.items()):
        answer = answer_of(release, ModelAnswer)
        local = fit(study.schema, *_local_model(answer, study.schema, public_size(release)), smoothing=SMOOTHING)
        seed = int(digest(study.hash, name, answer.cells.data.hex()), 16)
        drawn = local.sample_table(records[name], np.random.default_rng(seed), independent=True).codes
        codes[:, filled : filled + records[name]] = drawn
        filled += records[name]
    pooled = ExactCounts(Table(study.schema, codes))
    degree = 1 if study.degree == "auto" else study.degree
    return fitted(holders, learn_structure(replace(study, degree=degree), pooled), pooled, releases)


def _pooled_records(sizes: Mapping[str, int], attributes: int) -> dict[str, int]:
    """Return how many records are drawn for each holder: as many as it has people, or its part of the most.

    >>> _pooled_records({"a": 10, "b": 30}, 4), _pooled_records({"a": 10**8, "b": 3 * 10**8}, 4)
    ({'a': 10, 'b': 30}, {'a': 4194304, 'b': 12582912})
    """
    most, total = min(POOLED_RECORDS, POOLED_CODES // attributes), sum(sizes.values())
    return {name: size if total <= most else size * most // total for name, size in sizes.items()}


def _models(holders: Holders) -> Mapping[str, Release]:
    study = holders.study
    most = {"degree": min(local_models.AUTO_DEGREE, len(study.schema) - 1)} if study.degree == "auto" else {}
    return holders.ask(local_models.model(study).ask(**most), round_number=0)


def _local_model(answer: ModelAnswer, schema: Schema, size: int) -> tuple[Structure, PooledCounts]:
    sets = [(*pair.parents, pair.child) for pair in answer.pairs]
    counts = pool([answer.cells], sets, sizes=schema.sizes, total=size)
    return Structure.of((pair.child, pair.parents) for pair in answer.pairs), counts


PRIVBAYES: Final = Method(local_models.PRIVBAYES.name, _learn_privbayes)
NOISY_MODEL: Final = Method(local_models.NOISY_MODEL.name, _learn_noisy_model)
