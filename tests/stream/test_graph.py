"""Edges as users: every way of writing one, every pair of vertices, and a graph that grows and shrinks."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.dp.simulated import SimulatedNoise
from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.ids.kernels.edges import number_pairs
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.graph import GraphUniverse
from panbayes.stream.ids.universes.integers import IntegerUniverse
from panbayes.stream.ids.universes.kind import Saved, sampling_of
from panbayes.stream.ids.universes.registry import load_universe, read_universe
from panbayes.stream.state.coins import seeded_coins
from tests.effort import often
from tests.stream.slots import slots_of


def slots(universe: object, ids: list[str]) -> list[int]:
    assert isinstance(universe, GraphUniverse)
    return slots_of(universe, ids)


@pytest.fixture
def people(tmp_path: Path) -> Path:
    path = tmp_path / "people.txt"
    path.write_text("ann\nbob\nζωή\nMary Ann\n\n", encoding="utf-8")
    return path


def test_every_pair_of_vertices_has_one_number() -> None:
    vertices = 60
    pairs = list(itertools.product(range(-2, vertices + 2), repeat=2))
    first, second = (np.array(side, dtype=np.int64) for side in zip(*pairs, strict=True))
    number_pairs(first, second, vertices)
    found: dict[frozenset[int], int] = {}
    for (i, j), number in zip(pairs, first.tolist(), strict=True):
        if i == j or not (0 <= i < vertices and 0 <= j < vertices):
            assert number == -1
        else:
            assert found.setdefault(frozenset((i, j)), number) == number
    assert sorted(found.values()) == list(range(vertices * (vertices - 1) // 2))


def test_the_largest_graph_counts_without_overflow() -> None:
    universe = read_universe("graph:1482910", sample=10)
    last = np.array([1_482_909], dtype=np.int64)
    number_pairs(last, np.array([1_482_908], dtype=np.int64), 1_482_910)
    assert last[0] == sampling_of(universe).size - 1 == 1_482_910 * 1_482_909 // 2 - 1
    with pytest.raises(InputError, match="2 to 1482910 vertices"):
        read_universe("graph:1482911", sample=10)


@pytest.mark.parametrize("between", [",", ", ", " ,", " ", "\t", "  \t ", ",\t"])
def test_a_comma_or_white_space_stands_between(people: Path, between: str) -> None:
    universe = read_universe(f"graph:{people}", sample=None)
    written = [f"ann{between}bob", f"bob{between}ann", f" ζωή{between}bob\r", f"ann{between}", f"{between}ann", "ann"]
    assert slots(universe, written) == [0, 0, 2, -1, -1, -1]


def test_names_with_spaces_need_the_comma(people: Path) -> None:
    universe = read_universe(f"graph:{people}", sample=None)
    assert slots(universe, ["Mary Ann,ann", "ζωή, Mary Ann", "Mary Ann ann", "ann,bob,ζωή"]) == [3, 5, -1, -1]
    assert universe.describe() == "the 6 edges between 4 vertices"


@settings(max_examples=often(40, 200))
@given(st.text("019, \t", max_size=9), st.text("0123456789", max_size=3), st.text("0123456789", max_size=3))
def test_the_split_agrees_with_python(noise: str, left: str, right: str) -> None:
    universe = read_universe("graph:40", sample=None)
    for text in (noise, f"{left},{right}", f"{left} {right}"):
        parts = text.strip(" \t").split(",", 1) if "," in text else re.split(r"[ \t]", text.strip(" \t"), maxsplit=1)
        cleaned = [part.strip(" \t") for part in parts]
        expected = -1
        if len(cleaned) == 2 and all(part.isdecimal() and int(part) < 40 for part in cleaned):
            low, high = sorted(map(int, cleaned))
            expected = high * (high - 1) // 2 + low if low < high else -1
        assert slots(universe, [text]) == [expected]


def test_vertices_that_cannot_be_told_from_an_edge_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "v"
    path.write_text("ann\nlee, bob\n", encoding="utf-8")
    with pytest.raises(InputError, match="universe: a vertex has a comma in its name"):
        read_universe(f"graph:{path}", sample=None)
    for wrong in ("graph:1", "graph:", "graph:nobody.txt", f"graph:{tmp_path}"):
        with pytest.raises(InputError, match="universe: "):
            read_universe(wrong, sample=None)
    with pytest.raises(InputError, match="an edge is a text of two vertices"):
        slots_of(read_universe("graph:5", sample=None), [1, 2])


def test_a_header_with_other_edges_than_pairs_is_refused(people: Path) -> None:
    saved = read_universe(f"graph:{people}", sample=None).save()
    fewer, more = (
        saved.header.replace(b'"size":6,"sample":6', b'"size":%d,"sample":%d' % (size, size)) for size in (5, 7)
    )
    assert fewer != saved.header
    sampled = IntegerUniverse(Sampling(4, 3, bytes(96)))
    with pytest.raises(ValueError, match="pair of its vertices"):
        GraphUniverse(sampled, Sampling(6, 6))
    for header in (fewer, more, saved.header.replace(b'"kind":"list"', b'"kind":"ipv4"')):
        with pytest.raises(ValueError, match=r"pair of its vertices|Invalid value|Object contains|table"):
            load_universe(Saved(header, saved.table))


def test_the_density_of_a_graph_that_grows_and_shrinks() -> None:
    """Edges come several times, in both directions, with loops and strangers between them, and some go again."""
    vertices = 300
    edges = [(i, j) for j in range(vertices) for i in range(j)]
    there, gone = edges[: len(edges) // 2], edges[: len(edges) // 5]
    with DensityEstimator(f"graph:{vertices}", epsilon=4, noise=SimulatedNoise(1), coins=seeded_coins(1)) as estimator:
        estimator.update([f"{i},{j}" for i, j in there])
        estimator.update([f"{j} {i}" for i, j in there[:9000]] + ["5,5", "300,1", "nobody"] * 1000)
        estimator.remove([f"{j},{i}" for i, j in gone])
        answer = estimator.estimate(confidence=1 - 1e-9)
    density = 2 * (len(there) - len(gone)) / (vertices * (vertices - 1))
    assert answer.low <= density <= answer.high
    assert answer.unbiased == pytest.approx(density, abs=0.02)
    assert answer.distinct == pytest.approx(len(there) - len(gone), rel=0.06)
