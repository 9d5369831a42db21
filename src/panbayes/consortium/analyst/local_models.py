"""PrivBayes inside each holder: the whole model of one, or synthetic records of several models pooled."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from panbayes.bayesnet.learning.parameters import fit
from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.bayesnet.table_counts import ExactCounts
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.analyst.asking import SMOOTHING, Holders, digest, expect, finish, learn_structure, step
from panbayes.consortium.analyst.pooled_counts import PooledCounts, pool
from panbayes.consortium.analyst.reply_checks import public_size
from panbayes.consortium.protocol.messages import ModelAnswer, ModelQuery, ratio
from panbayes.errors import InputError
from panbayes.privacy import composition
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table, code_type

__all__ = ["AUTO_DEGREE", "learn_noisy_model", "learn_privbayes"]

AUTO_DEGREE: Final = 4
"""The most parents that degree = "auto" considers."""


def learn_privbayes(holders: Holders) -> Network:
    """Take the one holder's local model. Thesis: section "PrivBayes"; Theorem thm_privbayes_overall."""
    study = holders.study
    if len(holders.names) != 1:
        raise InputError(
            f"{study.source}, strategy",
            found=f'"privbayes" learns from one holder, found {len(holders.names)}',
            remedy='give one --holder, or use "noisy-majority-voting" or "noisy-model"',
        )
    releases = holders.ask(_model_query(study), round_number=0)
    (release,) = releases.values()
    structure, counts = _local_model(expect(release, ModelAnswer), study.schema, public_size(release))
    return finish(study, structure, counts, releases, _model_steps(study))


def learn_noisy_model(holders: Holders) -> Network:
    """Draw n_j records from holder j's model, pool them, and learn without noise from the pool.

    Thesis: Algorithm "Sharing the Noisy Model"; Theorem thm_noisy_mv_priv (the thesis gives two
    theorems this label; the second is meant).
    """
    study = holders.study
    releases = holders.ask(_model_query(study), round_number=0)
    columns = []
    for name, release in sorted(releases.items()):
        answer = expect(release, ModelAnswer)
        local = fit(study.schema, *_local_model(answer, study.schema, public_size(release)), smoothing=SMOOTHING)
        seed = int(digest(study.hash, name, answer.cells.data.hex()), 16)
        columns.append(local.sample(public_size(release), np.random.default_rng(seed)).codes)
    pooled = ExactCounts(Table(study.schema, np.concatenate(columns, axis=1).astype(code_type(study.schema))))
    degree = 1 if study.degree == "auto" else study.degree
    structure = learn_structure(replace(study, degree=degree), pooled)
    return finish(study, structure, pooled, releases, _model_steps(study))


def _model_query(study: Study) -> ModelQuery:
    automatic = study.degree == "auto"
    return ModelQuery(
        first=study.first_attribute,
        degree=min(AUTO_DEGREE, len(study.schema) - 1) if study.degree == "auto" else study.degree,
        theta=ratio(study.theta) if automatic else None,
        score=study.score,
        mechanism=study.mechanism,
        structure_epsilon=ratio(study.split * study.budget),
        tables_epsilon=ratio((1 - study.split) * study.budget),
        clip=study.clip == "holder",
    )


def _model_steps(study: Study) -> tuple[composition.Step, ...]:
    attributes = len(study.schema)
    return (
        step(f"{attributes - 1} choices of an attribute and its parents", study.mechanism, study.split * study.budget),
        step(f"counts of {attributes} tables", "discrete Laplace", (1 - study.split) * study.budget),
    )


def _local_model(answer: ModelAnswer, schema: Schema, size: int) -> tuple[Structure, PooledCounts]:
    sets = [(*pair.parents, pair.child) for pair in answer.pairs]
    counts = pool([answer.cells], sets, sizes=schema.sizes, total=size)
    return Structure.of((pair.child, pair.parents) for pair in answer.pairs), counts
