"""The hash of ids without a list: against plain Python, one id one cell, and as good as random on ids people have."""

from __future__ import annotations

import hashlib
import ipaddress
import uuid
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.kernels.fold_hash import ODD, Key, integer_cells, text_cells
from panbayes.stream.ids.kernels.ipv6 import read_ipv6
from tests.effort import often, some

MASK = (1 << 64) - 1
FINE = 1 << 40
"""So many cells that a cell tells the upper bits of a hash."""


def key_of(seed: int) -> Key:
    a, b, c, d = np.random.default_rng(seed).integers(0, 1 << 64, 4, dtype=np.uint64)
    return a, b, c, d


def fold(a: int, b: int) -> int:
    product = (a & MASK) * (b & MASK)
    return product & MASK ^ product >> 64


def plain_hash(words: tuple[int, int], size: int, key: list[int], a: int) -> int:
    u, v = words
    return fold(fold(u ^ key[1], v ^ a) ^ key[2], (key[3] + 2 * size & MASK) | 1)


def plain_text(text: bytes, key: list[int]) -> int:
    """The hash as the module describes it."""

    def word(at: int) -> int:
        return int.from_bytes(text[at : at + 8], "little")

    a, size, at = key[0], len(text), 0
    while size - at > 16:
        a = fold(word(at) ^ key[1], word(at + 8) ^ a)
        at += 16
    if size >= 8:
        return plain_hash((word(max(0, size - 16)), word(size - 8)), size, key, a)
    return plain_hash((word(0), 0), size, key, a)


def plain_cell(value: int, tiers: int, cells: int, of: int) -> int:
    tier = 0
    while tier < tiers - 1 and not value >> tier & 1:
        tier += 1
    cell = value * of >> 64
    return tier * cells + cell if cell < cells else -1


def cells_of(
    texts: list[bytes], key: Key, tiers: int = 1, cells: int = FINE, of: int = FINE, ipv6: int = 0
) -> list[int]:
    spans, out = Texts.of(texts), np.empty(len(texts), dtype=np.int64)
    text_cells(spans.data, spans.starts, spans.lengths, key, tiers, cells, of, ipv6, True, out)
    return [int(cell) for cell in out]


def cells_of_integers(
    values: NDArray[np.integer], key: Key, tiers: int = 1, cells: int = FINE, of: int = FINE
) -> list[int]:
    out = np.empty(values.size, dtype=np.int64)
    integer_cells(values, key, tiers, cells, of, out)
    return [int(cell) for cell in out]


SHAPES = st.sampled_from([(1, 64, 64), (1, 640, 100_000), (18, 58_240, 58_240), (40, 64, 64), (1, FINE, FINE)])


def is_integer(text: bytes) -> bool:
    try:
        return str(int(text)).encode() == text and -(1 << 63) <= int(text) < 1 << 64
    except ValueError:
        return False


@settings(max_examples=often(80, 400))
@given(st.lists(st.binary(min_size=1, max_size=90), min_size=1, max_size=6), st.integers(0, 1 << 32), SHAPES)
def test_texts_against_plain_python(texts: list[bytes], seed: int, shape: tuple[int, int, int]) -> None:
    """At every place of a buffer and with more or nothing behind it."""
    key = key_of(seed)
    words = [int(word) for word in key]
    expected = [
        plain_cell(
            plain_hash((int(t) & MASK, int(int(t) < 0)), 0, words, words[0]) if is_integer(t) else plain_text(t, words),
            *shape,
        )
        for t in texts
    ]
    assert cells_of(texts, key, *shape) == expected


def test_texts_of_every_length_against_plain_python() -> None:
    for size in range(1, 70):
        rng, key = np.random.default_rng(size), key_of(size)
        text = bytes(rng.integers(97, 123, size, dtype=np.uint8))
        expected = plain_cell(plain_text(text, [int(word) for word in key]), 18, 1000, 1000)
        assert cells_of([text], key, 18, 1000, 1000) == [expected], size
        assert cells_of([b"x", text, b"and more behind it"], key, 18, 1000, 1000)[1] == expected, size


@settings(max_examples=often(60, 300))
@given(st.integers(-(1 << 63), (1 << 64) - 1), st.integers(0, 1 << 32), SHAPES)
def test_an_integer_is_the_text_of_its_digits(value: int, seed: int, shape: tuple[int, int, int]) -> None:
    key = key_of(seed)
    kind = np.uint64 if value >= 1 << 63 else np.int64
    found = cells_of_integers(np.array([value], dtype=kind), key, *shape)
    assert found == cells_of([str(value).encode()], key, *shape)
    assert found == [
        plain_cell(plain_hash((value & MASK, int(value < 0)), 0, [int(w) for w in key], int(key[0])), *shape)
    ]


def test_only_the_text_a_program_writes_is_an_integer() -> None:
    key = key_of(1)
    texts = ["7", "07", "+7", "-7", "7.0", "--7", "-", "-0", "0", "00", "7e0"]
    texts += [str(1 << 64), str(-(1 << 63) - 1), str((1 << 64) - 1), str(-(1 << 63)), "9" * 25, "18446744073709551616"]
    found = cells_of([text.encode() for text in dict.fromkeys(texts)], key)
    assert len(set(found)) == len(found)
    assert cells_of_integers(np.array([7, -7, 0, -(1 << 63)]), key) == cells_of(
        [b"7", b"-7", b"0", str(-(1 << 63)).encode()], key
    )
    # A number of eight bits is not the character of that number.
    assert cells_of_integers(np.array([97]), key) != cells_of([b"a"], key)


def test_what_may_have_another_form_is_marked_and_nothing_else() -> None:
    texts = [
        "ann",
        " ann",
        "ann ",
        "\tann",
        "ann\x00",
        "\x01ann",
        "an n",
        "é",
        "a" * 15 + "é",
        "é" + "a" * 40,
        "a" * 40,
    ]
    texts += ["a" * 20 + "\x80", "~" * 7, "~" * 8, "~" * 16, "~" * 17, " ", "\x7f"]
    spans, out = Texts.of([text.encode() for text in texts]), np.empty(len(texts), dtype=np.int64)
    marked = text_cells(spans.data, spans.starts, spans.lengths, key_of(1), 1, 64, 64, 0, False, out)
    expected = [not text.isascii() or text[0] <= " " or text[-1] <= " " for text in texts]
    assert (out == ODD).tolist() == expected
    assert marked == sum(expected)
    missing = np.empty(1, dtype=np.int64)
    assert text_cells(spans.data, np.zeros(1, int), np.zeros(1, int), key_of(1), 1, 64, 64, 0, False, missing) == 0
    assert missing[0] == -1


ADDRESSES = st.one_of(
    st.ip_addresses(v=6).map(str),
    st.ip_addresses(v=6).map(lambda a: a.exploded.upper()),
    st.ip_addresses(v=4).map(lambda a: f"::ffff:{a}"),
    st.ip_addresses(v=4).map(lambda a: f"64:ff9b::{a}"),
    st.lists(
        st.sampled_from(["0", "1", "ab", "FFFF", "", "10000", "1.2.3.4", "01.2.3.4", "1.2.3.256"]), max_size=10
    ).map(":".join),
    st.text("0123456789abcdefABCDEF:.", max_size=20),
)


def check_ipv6(text: str) -> None:
    try:
        expected = int(ipaddress.IPv6Address(text))
    except ValueError:
        expected = -1
    data = np.frombuffer(b"ab" + text.encode() + b":1", dtype=np.uint8)
    found, upper, lower = read_ipv6(data, 2, 2 + len(text))
    assert (int(upper) << 64 | int(lower) if found else -1) == expected, text


EDGES = """
:: ::1 1:: 1:2:3:4:5:6:7:8 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 1:2:3:4::5:6:7:8 1::2:3:4:5:6:7:8
1:2:3:4:5:6:7 1:2:3:4:5:6:7:8:9 :1:: 1: : 1::2::3 1:::2 ::12345 1:2:3:4:5:6:1.2.3.4 1:2:3:4:5:6:7:1.2.3.4 ::1.2.3
::1.2.3.4.5 ::01.2.3.4 ::1.2.3.4:5 ::g 1:2:3:4:5::1.2.3.4 ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255
"""


@settings(max_examples=often(300, 1500))
@given(ADDRESSES)
def test_ipv6_against_the_standard_library(text: str) -> None:
    check_ipv6(text)


def test_ipv6_at_its_edges() -> None:
    for text in EDGES.split():
        check_ipv6(text)


def test_ipv6_addresses_are_one_however_they_are_written() -> None:
    key = key_of(2)
    same = [b"2001:db8::1", b"2001:0DB8:0:0:0:0:0:1", b"2001:db8:0::0.0.0.1"]
    neighbour, other = b"2001:db8::2", b"2001:db8:0:1::1"
    for bits, alike in ((128, False), (64, True), (0, False)):
        found = cells_of([*same, neighbour, other], key, ipv6=bits)
        assert len(set(found[:3])) == (3 if bits == 0 else 1)
        assert (found[3] == found[0]) is alike
        assert found[4] not in found[:4]
    mapped = cells_of([b"::ffff:10.1.200.3", b"::ffff:0a01:c803", b"10.1.200.3"], key, ipv6=64)
    assert len(set(mapped)) == 1
    # Everything else is the text that it is.
    others = [b"10.1.2.3", b"ann", b"12", b"fe80::1%eth0", b"::/0", b"::", b"a:b"]
    assert [a == b for a, b in zip(cells_of(others, key, ipv6=64), cells_of(others, key), strict=True)] == [
        text != b"::" for text in others
    ]


def emails(count: int) -> list[bytes]:
    return [f"user.{i}@mail{i % 7}.example.org".encode() for i in range(count)]


def uuids(count: int) -> list[bytes]:
    return [str(uuid.UUID(bytes=hashlib.sha256(b"%d" % i).digest()[:16], version=4)).encode() for i in range(count)]


COUNT = 100_000
STRUCTURED: dict[str, Callable[[], list[bytes] | NDArray[np.int64]]] = {
    "integers": lambda: np.arange(COUNT),
    "multiples of 2**32": lambda: np.arange(COUNT) << 32,
    "multiples of 1000": lambda: np.arange(COUNT) * 1000,
    "negative": lambda: -np.arange(1, COUNT + 1),
    "bits": lambda: np.unique(
        np.concatenate([(np.int64(1) << a) | (np.int64(1) << b) for a in range(63) for b in [np.arange(63)]])
    ),
    "addresses": lambda: [str(ipaddress.IPv4Address(0x0A000000 + i)).encode() for i in range(COUNT)],
    "emails": lambda: emails(COUNT),
    "uuids": lambda: uuids(COUNT),
    "padded": lambda: [b"%020d" % i for i in range(COUNT)],
    "long": lambda: [b"x" * 50 + b"%08d" % i + b"y" * 50 for i in range(COUNT)],
    "short": lambda: [bytes([a, b, c]) for a in range(33, 120) for b in range(33, 120) for c in range(40, 66)],
}


@pytest.mark.parametrize("name", STRUCTURED)
def test_structured_ids_are_spread_and_collide_as_at_random(name: str) -> None:
    """Chi-square over tiers and cells for some keys; the sum has a law of its own, and p is above 10⁻⁶ both ways.

    Among 2³⁰ cells, over the same number of keys: the number of lost ids is Poisson of mean Σ n²/2³¹.
    """
    ids = STRUCTURED[name]()
    spans, out = Texts.of(ids) if isinstance(ids, list) else None, np.empty(len(ids), dtype=np.int64)

    def found(key: Key, tiers: int, cells: int, of: int) -> NDArray[np.int64]:
        if spans is not None:
            text_cells(spans.data, spans.starts, spans.lengths, key, tiers, cells, of, 0, True, out)
        else:
            integer_cells(np.asarray(ids), key, tiers, cells, of, out)
        return out

    tiers, cells, keys = 8, 64, often(5, 10)
    expected = len(ids) * np.repeat(2.0 ** -np.minimum(np.arange(1, tiers + 1), tiers - 1), cells) / cells
    total, freedom = 0.0, 0
    for seed in range(keys):
        counts = np.bincount(found(key_of(seed), tiers, cells, cells), minlength=tiers * cells)
        total += float(((counts - expected) ** 2 / expected).sum())
        freedom += tiers * cells - 1
    assert 1e-6 < stats.chi2.sf(total, freedom) < 1 - 1e-6
    lost = sum(len(ids) - np.unique(found(key_of(100 + seed), 1, 1 << 30, 1 << 30)).size for seed in range(keys))
    mean = keys * len(ids) ** 2 / 2**31
    assert stats.poisson.cdf(lost, mean) > 1e-7
    assert stats.poisson.sf(lost - 1, mean) > 1e-7


@pytest.mark.parametrize("size", some([1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 36, 64], 7))
def test_every_bit_of_an_id_changes_half_of_its_hash(size: int) -> None:
    """For each of the id's bits and each of the 40 upper bits of the hash, over many keys and texts."""
    rng, rounds = np.random.default_rng(size), often(800, 2000)
    changed = np.zeros((8 * size, 40))
    for _ in range(rounds // 100):
        key = key_of(int(rng.integers(1 << 32)))
        for _ in range(100):
            text = rng.integers(128, 256, size, dtype=np.uint8)
            flipped = np.repeat(text[None], 8 * size, axis=0)
            flipped[np.arange(8 * size), np.arange(8 * size) // 8] ^= np.uint8(1) << (np.arange(8 * size) % 8).astype(
                np.uint8
            )
            found = cells_of([text.tobytes(), *(row.tobytes() for row in flipped)], key)
            different = np.array(found[1:], dtype=np.uint64) ^ np.uint64(found[0])
            changed += (different[:, None] >> np.arange(40, dtype=np.uint64)) & np.uint64(1)
    # Of 800 the standard deviation of a share is 0.018; the largest of up to 20,480 may be six of them away.
    assert float(np.abs(changed / rounds - 0.5).max()) < 6.5 * 0.5 / rounds**0.5
