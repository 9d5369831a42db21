"""Small random networks, and the slow, obvious answers to hold the fast ones against."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.bayesnet.structure import Structure
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema
from panbayes.tables.table import Table

FloatArray = NDArray[np.float64]

TRICKY = ("", " ", "<30", "[70-80)", "a,b", "x;y", "p=q", 'say "hi"', "Größe", "table", "// no", "}\n", "%41", "日本")


def plain_schema(sizes: Sequence[int]) -> Schema:
    return Schema(
        "plain",
        tuple(Attribute(f"x{i}", categories=tuple(f"v{j}" for j in range(size))) for i, size in enumerate(sizes)),
    )


def random_structure(attributes: int, degree: int, rng: np.random.Generator) -> Structure:
    order = rng.permutation(attributes).tolist()
    pairs = []
    for place, child in enumerate(order):
        count = int(rng.integers(0, min(place, degree) + 1))
        pairs.append((child, rng.choice(order[:place], count, replace=False).tolist() if count else []))
    return Structure.of(pairs)


def random_network(
    seed: int,
    *,
    attributes: int = 6,
    degree: int = 3,
    largest: int = 4,
    zeros: float = 0.2,
    schema: Schema | None = None,
) -> Network:
    """A network with domains of 1 to ``largest`` values; a share ``zeros`` of the entries is impossible."""
    rng = np.random.default_rng(seed)
    schema = schema or plain_schema(rng.integers(1, largest + 1, attributes).tolist())
    structure = random_structure(len(schema), degree, rng)
    tables = []
    for child in range(len(schema)):
        shape = [schema.sizes[p] for p in structure.parents(child)]
        weights = rng.gamma(0.7, size=(*shape, schema.sizes[child])) + 1e-3
        weights[rng.random(weights.shape) < zeros] = 0
        weights[..., int(rng.integers(schema.sizes[child]))] += 0.1
        tables.append(weights / weights.sum(axis=-1, keepdims=True))
    return Network(schema, structure, tuple(tables))


def tricky_schema(seed: int) -> Schema:
    """A schema of names and labels that trip file formats, with every kind of domain."""
    rng = np.random.default_rng(seed)
    names = [name for name in TRICKY if name.strip()]
    chosen = rng.choice(len(names), 4, replace=False)
    labels = [[TRICKY[i] for i in rng.choice(len(TRICKY), int(rng.integers(1, 5)), replace=False)] for _ in chosen]
    texts = [Attribute(names[i], categories=tuple(own)) for i, own in zip(chosen, labels, strict=True)]
    binned = Attribute("age (years)", bins=(0, 40, 65.5, 120), missing="missing", other="odd")
    return Schema("odd; names", (*texts, binned, Attribute("Yes/No", categories=(True, False))))


def joint(network: Network) -> FloatArray:
    """The whole joint distribution, one axis per attribute."""
    result = np.ones(network.schema.sizes)
    for child, table in enumerate(network.tables):
        scope = [*network.structure.parents(child), child]
        order = np.argsort(scope).tolist()
        shape = [network.schema.sizes[v] if v in scope else 1 for v in range(len(network.schema))]
        result = result * table.transpose(order).reshape(shape)
    return result


def given(joint_table: FloatArray, evidence: Mapping[int, int]) -> FloatArray:
    """The joint with everything that contradicts the evidence set to zero; not normalised."""
    kept = np.zeros_like(joint_table)
    where = tuple(evidence.get(v, slice(None)) for v in range(joint_table.ndim))
    kept[where] = joint_table[where]
    return kept


def marginal(table: FloatArray, targets: Sequence[int]) -> FloatArray:
    """Sum out all but the targets, axes in their order."""
    summed: FloatArray = table.sum(axis=tuple(v for v in range(table.ndim) if v not in targets))
    left = sorted(targets)
    return summed.transpose([left.index(v) for v in targets])


def random_evidence(network: Network, seed: int) -> dict[int, int]:
    rng = np.random.default_rng(seed)
    size = len(network.schema)
    chosen = rng.choice(size, int(rng.integers(0, size + 1)), replace=False).tolist()
    return {v: int(rng.integers(network.schema.sizes[v])) for v in chosen}


def all_records(network: Network) -> Table:
    """Every combination of values once."""
    codes = np.array(list(itertools.product(*map(range, network.schema.sizes))), dtype=np.uint8).T
    return Table(network.schema, np.ascontiguousarray(codes))


seeds = st.integers(0, 2**32 - 1)
