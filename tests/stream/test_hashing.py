"""The keyed hash against CPython's own, and the keyed permutation against a plain one and by exhaustion."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.kernels.feistel import sampled
from panbayes.stream.ids.kernels.siphash import hash_texts
from panbayes.stream.ids.sampling import Sampling
from tests.effort import often

MASK = (1 << 64) - 1


def hashes(texts: list[bytes], key: bytes) -> list[int]:
    spans, out = Texts.of(texts), np.empty(len(texts), dtype=np.uint64)
    hash_texts(spans.data, spans.starts, spans.lengths, np.frombuffer(key, dtype="<u8"), out)
    return [int(value) for value in out]


def siphash(data: bytes, key: bytes, *, compression: int, finalization: int) -> int:
    """SipHash-c-d as its paper describes it, in plain Python."""
    k0, k1 = int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")
    v = [k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573]

    def rounds(count: int) -> None:
        for _ in range(count):
            for a, b, turn in ((0, 1, 13), (2, 3, 16), (0, 3, 21), (2, 1, 17)):
                v[a] = (v[a] + v[b]) & MASK
                v[b] = ((v[b] << turn | v[b] >> 64 - turn) & MASK) ^ v[a]
                if (a, b) in ((0, 1), (2, 1)):
                    v[a] = (v[a] << 32 | v[a] >> 32) & MASK

    padded = data + bytes(-(len(data) + 1) % 8) + bytes([len(data) & 0xFF])
    for start in range(0, len(padded), 8):
        word = int.from_bytes(padded[start : start + 8], "little")
        v[3] ^= word
        rounds(compression)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(finalization)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_reference_is_the_published_function() -> None:
    """The example of the paper's appendix: SipHash-2-4, key 00 … 0f, input 00 … 0e."""
    expected = 0xA129CA6149BE45E5
    assert siphash(bytes(range(15)), bytes(range(16)), compression=2, finalization=4) == expected


@settings(max_examples=often(40, 200))
@given(st.lists(st.binary(min_size=1, max_size=70), min_size=1, max_size=8), st.binary(min_size=16, max_size=16))
def test_hashes_are_siphash_1_3(texts: list[bytes], key: bytes) -> None:
    expected = [max(1, siphash(text, key, compression=1, finalization=3)) for text in texts]
    assert hashes(texts, key) == expected


@pytest.mark.skipif(sys.hash_info.algorithm != "siphash13", reason="this Python hashes bytes in another way")
@pytest.mark.parametrize("seed", [0, 1, 4294967295])
def test_hashes_are_those_of_cpython(seed: int) -> None:
    """CPython hashes bytes by SipHash-1-3 under a key that it draws from PYTHONHASHSEED by its own generator."""
    texts = [bytes(range(7, 7 + length)) for length in range(1, 200)]
    program = "import sys; print(*(hash(bytes(range(7, 7 + n))) for n in range(1, 200)))"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONHASHSEED": str(seed)}, capture_output=True, text=True, check=True
    )
    assert hashes(texts, cpython_key(seed)) == [int(word) & MASK for word in done.stdout.split()]


def cpython_key(seed: int) -> bytes:
    """The first 16 bytes of CPython's hash secret: all zero for seed 0, else from a linear congruential generator."""
    if seed == 0:
        return bytes(16)
    state, secret = seed, bytearray()
    for _ in range(16):
        state = (state * 214013 + 2531011) & 0xFFFFFFFF
        secret.append(state >> 16 & 0xFF)
    return bytes(secret)


def test_a_missing_id_hashes_to_nothing() -> None:
    assert hashes([b"", b"a"], bytes(16))[0] == 0


def feistel(x: int, *, bits: int, keys: NDArray[np.uint64]) -> int:
    """One pass of the network in plain Python."""
    low = bits // 2
    left, right = x >> low, x & (1 << low) - 1
    for r in range(0, 12, 4):
        a, b, c, d = (int(key) for key in keys[r : r + 4])
        left ^= ((right * a + b) & MASK) >> 64 - (bits - low)
        right ^= ((left * c + d) & MASK) >> 64 - low
    return left << low | right


def permuted(ids: NDArray[np.int64], size: int, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    out = np.empty_like(ids)
    sampled(ids, size, size, max(2, (size - 1).bit_length()), keys, out)
    return out


@pytest.mark.parametrize("size", [*range(1, 70), 127, 128, 129, 1000, 4096, 65_537])
def test_the_permutation_is_one(size: int) -> None:
    """Every small domain, by exhaustion, under several keys: each number is hit once."""
    rng = np.random.default_rng(size)
    for _ in range(5):
        keys = rng.integers(0, 1 << 64, 12, dtype=np.uint64)
        found = permuted(np.arange(size), size, keys)
        np.testing.assert_array_equal(np.sort(found), np.arange(size))


@settings(max_examples=often(40, 200))
@given(st.integers(1, 1 << 40), st.integers(0, 1 << 40), st.integers(0, 1 << 32))
def test_the_permutation_against_a_plain_one(size: int, number: int, seed: int) -> None:
    number %= size
    keys = np.random.default_rng(seed).integers(0, 1 << 64, 12, dtype=np.uint64)
    bits, x = max(2, (size - 1).bit_length()), number
    while (x := feistel(x, bits=bits, keys=keys)) >= size:
        pass
    assert permuted(np.array([number]), size, keys).tolist() == [x]


@pytest.mark.parametrize("word", [None, (1 << 59) - 1])
def test_a_sample_is_the_permutation_cut_short(word: int | None) -> None:
    """Under a random key, and under one of even multipliers that shows that they are made odd."""
    key = np.random.default_rng(6).bytes(96) if word is None else np.array([0, word] * 6, dtype="<u8").tobytes()
    keys = np.frombuffer(key, dtype="<u8").astype(np.uint64)
    keys[::2] |= np.uint64(1)
    ids = np.arange(1000)
    whole = permuted(ids, 1000, keys)
    found = Sampling(1000, 300, key).slots(ids, Arena())
    np.testing.assert_array_equal(found, np.where(whole < 300, whole, -1))
