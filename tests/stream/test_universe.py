"""Ids of every kind, in every container, to slots."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import cast

import msgspec
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.sampling import Sampling
from panbayes.stream.ids.universes.integers import IntegerUniverse
from panbayes.stream.ids.universes.kind import (
    Saved,
    SizedUniverse,
    Universe,
    UniverseKind,
    UniverseSpec,
    sampling_of,
)
from panbayes.stream.ids.universes.listed import ListedUniverse
from panbayes.stream.ids.universes.registry import load_universe, read_universe, universe_kinds
from tests.effort import often
from tests.stream.slots import slots_of


def slots(universe: Universe, ids: object) -> list[int]:
    """Slots of ids; whatever has none is −1."""
    found = slots_of(universe, ids)
    return [slot if 0 <= slot < universe.entries else -1 for slot in found]


def containers(texts: list[str | None]) -> dict[str, object]:
    return {
        "list": texts,
        "polars": pl.Series(texts, dtype=pl.String),
        "arrow": pa.array(texts, pa.string()),
        "arrow large": pa.array(texts, pa.large_string()),
        "arrow view": pa.array(texts, pa.string_view()),
        "arrow chunks": pa.chunked_array([pa.array(texts[:3], pa.string()), pa.array(texts[3:], pa.string())]),
        "arrow slice": pa.array(["x" * 20, *texts], pa.string())[1:],
        "polars slice": pl.Series(["x" * 20, *texts], dtype=pl.String)[1:],
        "numpy object": np.array(texts, dtype=object),
    }


KINDS = pytest.mark.parametrize("kind", universe_kinds().values(), ids=lambda kind: kind.name)
SIZED = pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in universe_kinds().values()
        if isinstance(read_universe(kind.example.spec, sample=None), SizedUniverse)
    ],
    ids=lambda kind: kind.name,
)


@SIZED
@pytest.mark.parametrize("sample", [None, 40])
def test_a_universe_knows_its_own_and_nobody_else(kind: UniverseKind, sample: int | None) -> None:
    """Every id has its own slot, or none because it is not in the sample; strangers never have one."""
    ids, strangers = list(kind.example.ids), list(kind.example.strangers)
    universe = read_universe(kind.example.spec, sample=sample)
    assert sampling_of(universe).size == len(ids)
    found = slots(universe, ids)
    assert sorted(slot for slot in found if slot >= 0) == list(range(sample or len(ids)))
    assert slots(universe, strangers) == [-1] * len(strangers)
    # Whoever comes in, in whatever order and however often, has the same slot.
    assert slots(universe, [*strangers, *ids[::-1], *ids]) == [-1] * len(strangers) + found[::-1] + found
    assert slots(universe, pl.Series([*ids, None])) == [*found, -1]
    assert slots(universe, [f" {text}\r" for text in ids]) == found
    assert not any(text in universe.describe() for text in ids if len(text) > 3 and text not in str(kind.example.spec))


@KINDS
@pytest.mark.parametrize("sample", [None, 40])
def test_a_universe_survives_a_state_file(kind: UniverseKind, sample: int | None) -> None:
    universe = read_universe(kind.example.spec, sample=sample if kind.name != "hashed" else None)
    saved = universe.save()
    again = load_universe(saved)
    assert again.save() == saved
    assert (again.describe(), type(again)) == (universe.describe(), type(universe))
    assert (again.entries, again.sections) == (universe.entries, universe.sections)
    ids = [*kind.example.ids, *kind.example.strangers]
    assert slots(again, ids) == slots(universe, ids)
    assert saved.header.startswith(b'{"kind":"' + kind.name.encode() + b'",')
    for damaged in (
        Saved(saved.header, saved.table + b"x"),
        Saved(saved.header.replace(b'"kind":"', b'"kind":"un'), saved.table),
        Saved(saved.header.replace(b'"sample":', b'"samples":'), saved.table),
        Saved(saved.header[:-1] + b',"more":1}', saved.table),
    ):
        with pytest.raises((ValueError, InputError, msgspec.MsgspecError)):
            load_universe(damaged)


@KINDS
def test_one_kind_claims_a_spec(kind: UniverseKind) -> None:
    claiming = [other.name for other in universe_kinds().values() if other.claims(kind.example.spec)]
    assert claiming == [kind.name]
    assert kind.spelling


TEXTS: list[str | None] = ["5", "007", " 12\r", "abc", None, "-3", "9" * 30, "1.5", "", "99", "100", "٣"]


@pytest.mark.parametrize("container", containers(TEXTS))
def test_integers_as_text(container: str) -> None:
    found = slots(IntegerUniverse(Sampling.of(100, None)), containers(TEXTS)[container])
    assert found == [5, 7, 12, -1, -1, -1, -1, -1, -1, 99, -1, -1]


def test_integers_in_every_container() -> None:
    """Those of NumPy; of the others tell test_arrow and test_containers."""
    for ids in (
        [5, 99, 100, -1, 2**80],
        np.array([5, 99, 100, -1, 2**62]),
        np.array([5, 99, 100, 2**64 - 1, 2**63], dtype=np.uint64),
        np.array([5, 0, 99, 0, 100, 0, -1, 0, -7, 0], dtype=np.int32)[::2],
        pl.Series([5, 99, 100, None, -4]),
        range(5, 400, 94),
    ):
        assert slots(IntegerUniverse(Sampling.of(100, None)), ids) == [5, 99, -1, -1, -1], type(ids)


@settings(max_examples=often(40, 200))
@given(
    st.one_of(
        st.ip_addresses(v=4).map(str),
        st.text("0123456789.", max_size=17),
        st.text(max_size=20),
        st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 300), st.integers(0, 300)).map(
            lambda t: ".".join(map(str, t))
        ),
    )
)
def test_addresses_against_the_standard_library(text: str) -> None:
    """Alone (read byte by byte) and with text behind it (read by words)."""
    stripped = text.strip(" \t\n\r\v\f")
    parts = stripped.split(".")
    right = len(parts) == 4 and all(1 <= len(p) <= 3 and p.isascii() and p.isdecimal() and int(p) < 256 for p in parts)
    expected = int(ipaddress.IPv4Address(".".join(str(int(p)) for p in parts))) if right else -1
    universe = read_universe("ipv4", sample=None)
    assert slots(universe, [text]) == [expected]
    assert slots(universe, [text, "10.0.0.1", "255.255.255.255"]) == [expected, 0x0A000001, 2**32 - 1]


def test_a_network() -> None:
    universe = read_universe("ipv4:10.1.0.0/16", sample=None)
    ids = ["10.1.0.0", "10.1.255.255", "10.2.0.0", "9.255.255.255", "10.1.0.7 "]
    assert slots(universe, ids) == slots(universe, pl.Series(ids)) == [0, 65535, -1, -1, 7]
    assert slots(universe, np.array([0x0A010003, 3])) == [3, -1]


def test_a_list_of_texts() -> None:
    names = ["ann", "bob", "ζωή", "somebody.with.a.long.name@example.org", "x" * 3000]
    universe = ListedUniverse.of([*names, "", "  "], None)
    found = slots(universe, [*names, "ann\r", " bob", "carl", "", "an", "annn", None])
    assert sorted(found[:5]) == [0, 1, 2, 3, 4]
    assert found[5:] == [found[0], found[1], -1, -1, -1, -1, -1]
    assert slots(universe, pl.Series(names)) == found[:5]
    with pytest.raises(InputError, match="list of texts"):
        slots(universe, [1, 2])
    sampled = ListedUniverse.of((f"user{i}" for i in range(1000)), 100)
    inside = [s for s in slots(sampled, [f"user{i}" for i in range(1000)]) if s >= 0]
    assert sorted(inside) == list(range(100))


@pytest.mark.parametrize(("size", "sample"), [(1000, 100), (1001, 1000), (2, 1), (3, 2), (65536, 300), (70_001, 7)])
def test_a_sample_is_a_permutation_cut_short(size: int, sample: int) -> None:
    universe = IntegerUniverse(Sampling.of(size, sample))
    inside = [slot for slot in slots(universe, np.arange(-3, size + 3)) if slot >= 0]
    assert sorted(inside) == list(range(sample))


@pytest.mark.parametrize("present", ["the first", "every tenth", "the odd"])
def test_samples_of_structured_sets_are_hypergeometric(present: str) -> None:
    """Over many keys, the number of present users in the sample has the mean and variance of a fair sample."""
    size, sample, keys = 5000, 200, often(800, 3000)
    users = {"the first": np.arange(500), "every tenth": np.arange(0, size, 10), "the odd": np.arange(1, size, 2)}[
        present
    ]
    rng = np.random.default_rng(4)
    counts = []
    for _ in range(keys):
        found = Sampling(size, sample, rng.bytes(96)).slots(users, Arena())
        counts.append(int((found >= 0).sum()))
    d = users.size / size
    variance = sample * d * (1 - d) * (size - sample) / (size - 1)
    assert abs(np.mean(counts) - sample * d) < 4.5 * (variance / keys) ** 0.5
    # The standard error of a variance is √(2/keys) of it, of 800 keys 5 %; 4.5 of them are allowed.
    assert np.var(counts) == pytest.approx(variance, rel=4.5 * (2 / keys) ** 0.5)


def test_a_damaged_table_cannot_hold_a_search_for_ever() -> None:
    saved = ListedUniverse.of(["ann", "bob"], None).save()
    full = Saved(saved.header, b"\x01" * len(saved.table))
    with pytest.raises(ValueError, match="free places"):
        load_universe(full)
    uneven = Saved(saved.header.replace(b'"capacity":8', b'"capacity":7'), saved.table[: 7 * 12])
    with pytest.raises(ValueError, match="power of two"):
        load_universe(uneven)


def test_specifications(tmp_path: Path) -> None:
    names = tmp_path / "users.txt"
    names.write_text("ann\r\nbob\n\n", encoding="utf-8")
    assert sampling_of(read_universe("1,000", sample=None)).size == 1000
    assert sampling_of(read_universe(7, sample=3)).sample == 3
    assert sampling_of(read_universe("IPv4", sample=10)).size == 2**32
    assert sampling_of(read_universe(str(names), sample=None)).size == 2
    for wrong in (
        "0",
        "-5",
        "ipv4:10.0.0.0/33",
        "ipv4:10.0.0.1/8",
        "nobody.txt",
        str(tmp_path),
        str(2**50),
        ",",
        "_1",
        1.5,
        None,
        b"x",
        [1, 2],
    ):
        with pytest.raises(InputError, match="universe: "):
            read_universe(cast(UniverseSpec, wrong), sample=None)
    for sample in (0, 11):
        with pytest.raises(InputError, match="sample"):
            read_universe(10, sample=sample)
    names.write_text("ann\nann\n", encoding="utf-8")
    with pytest.raises(InputError, match="twice"):
        read_universe(names, sample=None)
    names.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        read_universe(names, sample=None)
