"""Many slightly wrong messages, quickly: for tests that nothing but MalformedError ever comes out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

# Types and lengths that lie: nil, the unused byte, arrays, maps, texts and bytes without end, text that is not UTF-8,
# a NaN, a negative number.
WORDS = (
    b"\xc0",
    b"\xc1",
    b"\xff",
    b"\xdd\xff\xff\xff\xff",
    b"\xdf\xff\xff\xff\xff",
    b"\xdb\x7f\xff\xff\xff",
    b"\xc6\xff",
    b"\x90",
    b"\x91",
    b"\x80",
    b"\xa1\xff",
    b"\xd9\x02\xc3\x28",
    b"\xcb\x7f\xf8\0\0\0\0\0\0",
    b"\xd3" + b"\xff" * 8,
)
WOUNDS = (1, 1, 1, 2, 4)


def mutations(seeds: Sequence[bytes], count: int, *, seed: int, words: Sequence[bytes] = WORDS) -> Iterator[bytes]:
    """Yield ``count`` messages, each a seed with one to four wounds: flips, cuts, repeats, insertions, splices."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        draws: list[int] = generator.integers(0, 2**31, 18).tolist()
        data = bytearray(seeds[draws[0] % len(seeds)])
        for wound in range(WOUNDS[draws[1] % len(WOUNDS)]):
            kind, where, what, much = draws[2 + 4 * wound : 6 + 4 * wound]
            at = where % (len(data) + 1)
            match kind % 7:
                case 0 if at < len(data):
                    data[at] ^= 1 << what % 8
                case 1 if at < len(data):
                    data[at] = what % 256
                case 2:
                    del data[at:]
                case 3:
                    del data[at : at + 1 + much % 8]
                case 4:
                    data[at:at] = words[what % len(words)]
                case 5:
                    data[at:at] = data[at : at + 1 + much % 40]
                case _:
                    other = seeds[what % len(seeds)]
                    data[at:] = other[much % len(other) :]
        yield bytes(data)
