"""An id is the same id in a list and in a stream, however its text was written."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from panbayes.errors import InputError
from panbayes.stream.ids.arena import Arena
from panbayes.stream.ids.canonical import canonical, canonical_bytes
from panbayes.stream.ids.chunk import Texts
from panbayes.stream.ids.feeding import batches
from panbayes.stream.ids.universes.kind import Universe, UniverseSpec
from panbayes.stream.ids.universes.registry import read_universe
from tests.effort import often
from tests.stream.slots import slots_of

COMPOSED, DECOMPOSED = "Am\u00e9lie", "Ame\u0301lie"
SPACES = [chr(c) for c in range(0x110000) if chr(c).isspace() and not 0x1C <= c <= 0x1F]
"""Python calls four separators of old teletypes white space too; Unicode does not."""


def slots(universe: Universe, ids: object) -> list[int]:
    return slots_of(universe, ids)


def forms(items: list[bytes]) -> list[bytes]:
    texts = canonical(Texts.of(items), Arena())
    spans = zip(texts.starts.tolist(), texts.lengths.tolist(), strict=True)
    return [texts.data[start : start + length].tobytes() for start, length in spans]


def test_a_list_with_a_byte_order_mark_keeps_its_first_id(tmp_path: Path) -> None:
    path = tmp_path / "users.txt"
    path.write_bytes(b"\xef\xbb\xbfann\nbob\n")
    assert slots(read_universe(path, sample=None), ["ann", "bob"]) == [0, 1]


@pytest.mark.parametrize(
    ("universe", "second"), [(("ann", "bob"), "bob"), (2, "1"), ("ipv4:0.0.0.0/31", "0.0.0.1")], ids=str
)
def test_a_stream_with_a_byte_order_mark_keeps_its_first_id(
    tmp_path: Path, universe: UniverseSpec, second: str
) -> None:
    path = tmp_path / "in.txt"
    path.write_bytes(b"\xef\xbb\xbf" + second.encode() + b"\n")
    read = read_universe(universe, sample=None)
    assert [slots(read, batch) for batch in batches(str(path))] == [[1]]


@pytest.mark.parametrize("written", [COMPOSED, DECOMPOSED])
@pytest.mark.parametrize("seen", [COMPOSED, DECOMPOSED, f"\u00a0{COMPOSED}\u3000", f"\ufeff{DECOMPOSED}\u2003\r"])
def test_an_id_is_the_same_in_every_unicode_form_and_white_space(written: str, seen: str) -> None:
    universe = read_universe([f"{written}\u00a0", "bob"], sample=None)
    assert slots(universe, ["bob", seen, "x", seen]) == [1, 0, -1, 0]
    assert slots(read_universe(3, sample=None), ["\u20031\u00a0", "2"]) == [1, 2]
    assert slots(read_universe("ipv4:10.0.0.0/8", sample=None), ["\u200310.0.0.7\u00a0"]) == [7]


def test_a_list_that_names_an_id_in_two_forms_names_it_twice() -> None:
    with pytest.raises(InputError, match="names an id twice"):
        read_universe([COMPOSED, DECOMPOSED], sample=None)


def test_case_and_look_alikes_stay_apart() -> None:
    universe = read_universe(["ann", "Ann", "\u0430nn", "\uff41nn"], sample=None)
    assert slots(universe, ["ann", "Ann", "\u0430nn", "\uff41nn"]) == [0, 1, 2, 3]


odd_texts = st.text(
    st.sampled_from([*SPACES, "\ufeff", "\u0301", "e", "\u00e9", "\u212b", "\u1e9b", "\u0323", "\ud55c", "\u1100"]),
    max_size=8,
).map(str.encode)


@settings(max_examples=often(80, 400))
@given(st.lists(st.one_of(odd_texts, st.text(max_size=9).map(str.encode), st.binary(max_size=9)), max_size=12))
def test_the_compiled_loop_and_plain_python_agree(items: list[bytes]) -> None:
    assert forms(items) == [canonical_bytes(item) for item in items]


@settings(max_examples=often(80, 400))
@given(st.one_of(odd_texts, st.binary(max_size=9)))
def test_the_one_form_is_its_own_form(item: bytes) -> None:
    once = canonical_bytes(item)
    assert canonical_bytes(once) == once


def test_every_character_that_python_knows_is_in_its_form() -> None:
    """One character at a time, inside and at the ends of an id: the loop passes over none that Python would change."""
    letters = [chr(c) for c in range(0, 0x110000, often(11, 1)) if not 0xD800 <= c < 0xE000]
    space = {*SPACES, "\ufeff"}
    for shape in ("{0}x{0}", "x{0}", "{0}x", "12345678x{0}"):
        bare = shape.format("").encode()
        wanted = [bare if c in space else unicodedata.normalize("NFC", shape.format(c)).encode() for c in letters]
        assert forms([shape.format(c).encode() for c in letters]) == wanted


def test_random_sequences_are_composed_as_python_composes_them() -> None:
    """Of all characters that form C may change or move, and some that it does not: starters, marks, syllables."""
    rng = np.random.default_rng(11)
    moving = [
        c
        for c in range(0x30000)
        if unicodedata.combining(chr(c)) or (unicodedata.decomposition(chr(c)) or "<").startswith("<") is False
    ]
    pool = [*moving, *range(0x1100, 0x1200), *range(0xAC00, 0xAC40), *range(0x0900, 0x0E00), *map(ord, "aeiou AEIOU")]
    pool = [c for c in pool if not 0xD800 <= c < 0xE000]
    texts = ["".join(map(chr, rng.choice(pool, int(rng.integers(1, 9))))) for _ in range(often(1_000, 6_000))]
    marks = [chr(c) for c in moving if unicodedata.combining(chr(c))]
    texts += [
        "ae\u1100\ud55c"[int(rng.integers(4))] + "".join(rng.choice(marks[:120], int(rng.integers(1, 6))))
        for _ in range(often(1_000, 6_000))
    ]
    items = [text.encode() for text in texts]
    assert forms(items) == [canonical_bytes(item) for item in items]
