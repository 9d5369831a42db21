from __future__ import annotations

import json
import os
import re
import stat
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from panbayes.errors import InputError
from panbayes.stream.estimator import DensityEstimator
from panbayes.stream.setup import configure
from panbayes.stream.state.inspection import inspect_state
from tests.conftest import ROOT
from tests.effort import often

COUNTS = 16384


SETUP = configure(1000, epsilon=1, releases=3)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state"
    DensityEstimator.start(path, SETUP).close()
    return path


@pytest.mark.parametrize(
    ("spec", "sample", "levels"),
    [("1000", None, 2), ("1000", 100, 3), ("ipv4:10.0.0.0/20", 100, 2), ("list", None, 3), ("list", 100, 2)],
)
def test_a_state_survives_restarts(tmp_path: Path, spec: str, sample: int | None, levels: int) -> None:
    users = tmp_path / "users"
    users.write_text("".join(f"user{i}\n" for i in range(500)), encoding="utf-8")
    path = tmp_path / "state"
    universe = str(users) if spec == "list" else spec
    with DensityEstimator.create(
        path, universe, epsilon=2, sample=sample, law="quantized-laplace", levels=levels
    ) as estimator:
        setup = estimator.setup
    ids = {"1000": list(range(300)), "ipv4:10.0.0.0/20": ["10.0.0.1", "10.0.15.255"], "list": ["user3", "user7"]}[spec]
    for _ in range(2):
        with DensityEstimator.open(path) as estimator:
            assert estimator.setup.calibration == setup.calibration
            assert estimator.setup.sampling == setup.sampling
            estimator.update(ids)
    with DensityEstimator.open(path, writing=False) as estimator:
        assert estimator.estimate().fresh
    with DensityEstimator.open(path, writing=False) as estimator:
        assert not estimator.estimate().fresh
    assert b"user" not in path.read_bytes()


def test_the_file_is_private_and_says_no_times(state: Path) -> None:
    assert stat.S_IMODE(state.stat().st_mode) == 0o600
    earliest = (int(time.time()) // 86400 - 1) * 86400  # the state may have been made before midnight

    def check() -> None:
        status = state.stat()
        for moment in (status.st_mtime, status.st_atime):
            assert moment % 86400 == 0
            assert moment >= earliest

    check()
    with DensityEstimator.open(state) as estimator:
        estimator.update([1, 2, 3])
        check()
        estimator.estimate()
        check()
    check()
    os.utime(state)
    DensityEstimator.open(state).close()
    check()


def test_the_size_for_a_thousand_million_users(tmp_path: Path) -> None:
    """126 MB at most; the file is laid out without drawing its entries, which takes a second more."""
    from panbayes.stream.state.file import StateFile

    path = tmp_path / "large"
    StateFile.create(path, configure(10**9, epsilon=1), fill=lambda _: None)
    assert path.stat().st_size <= 126_000_000


def test_no_event_counts_and_no_second_file(state: Path) -> None:
    """Feeding changes entries only: the rest of the file stays as it was, byte for byte, and nothing appears beside."""
    before = state.read_bytes()
    with DensityEstimator.open(state) as estimator:
        estimator.update(np.tile(np.arange(500), 100))
        estimator.update(["77777777", "not an id"])
    after = state.read_bytes()
    entries = slice(24576, 24576 + 128)
    assert before[: entries.start] == after[: entries.start]
    assert before[entries.stop :] == after[entries.stop :]
    assert before[entries] != after[entries]
    assert [p.name for p in state.parent.iterdir()] == ["state"]


def test_a_second_writer_is_refused_and_estimates_are_not(state: Path) -> None:
    with DensityEstimator.open(state) as writer:
        with pytest.raises(InputError, match="being fed by another process"):
            DensityEstimator.open(state)
        with DensityEstimator.open(state, writing=False) as reader:
            assert reader.estimate().releases_left == 2
            with pytest.raises(InputError, match="estimates only"):
                reader.update([1])
        assert writer.estimate().releases_left == 1
    DensityEstimator.open(state).close()


def test_a_torn_release_count_falls_back_and_never_gives_a_release_twice(state: Path) -> None:
    with DensityEstimator.open(state, writing=False) as estimator:
        first = estimator.estimate()
        second = estimator.estimate()
    data = bytearray(state.read_bytes())
    copies = [struct.unpack_from("<QIII", data, COUNTS + i * 4096) for i in (0, 1)]
    newest = max((0, 1), key=lambda i: copies[i][0])
    # A crash in the middle of writing the third release damages the copy it writes: the older one.
    torn = bytearray(data)
    torn[COUNTS + (1 - newest) * 4096 + 24] ^= 1
    state.write_bytes(torn)
    with DensityEstimator.open(state, writing=False) as estimator:
        assert estimator.releases_left == 1
        last = estimator.last()
        assert last is not None
        assert last.statistic == second.statistic
    assert first.fresh
    both = bytearray(torn)
    both[COUNTS + newest * 4096 + 24] ^= 1
    state.write_bytes(both)
    with pytest.raises(InputError, match="how many releases are left"):
        DensityEstimator.open(state)


def damage(path: Path, how: str) -> None:
    data = bytearray(path.read_bytes())
    match how:
        case "cut":
            data = data[:28_000]
        case "cut in the header":
            data = data[:100]
        case "longer":
            data += b"x"
        case "empty":
            data = bytearray()
        case "text":
            data = bytearray(b"hello\n")
        case "version 9":
            data[16:20] = struct.pack("<I", 9)
        case "header changed":
            data[40] ^= 1
        case "weaker noise":
            length = struct.unpack_from("<I", data, 20)[0]
            header = bytes(data[28 : 28 + length])
            weaker = re.sub(rb'("noise_scale":")(\d)', rb"\g<1>0", header, count=1)
            assert weaker != header
            data[28 : 28 + length] = weaker
            data[24:28] = struct.pack("<I", zlib.crc32(weaker))
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("cut", "damaged: it has 28000 bytes instead of"),
        ("cut in the header", "damaged"),
        ("longer", "damaged"),
        ("empty", "not a stream state"),
        ("text", "not a stream state"),
        ("version 9", "version 9; this panbayes reads version 1"),
        ("header changed", "checksum"),
        ("weaker noise", "damaged"),
    ],
)
def test_a_damaged_state_is_refused(state: Path, how: str, message: str) -> None:
    damage(state, how)
    for writing in (True, False):
        with pytest.raises(InputError, match=message):
            DensityEstimator.open(state, writing=writing)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("epsilon", "1/0"),
        ("epsilon", "1e3"),
        ("epsilon", "1e99999999"),
        ("epsilon", "2000"),
        ("epsilon", "9" * 61),
        ("state_epsilon", "999"),
        ("noise_scale", "1/0"),
        ("noise_scale", f"1/{10**30}"),
    ],
)
def test_numbers_that_no_setup_has_are_refused_at_once(state: Path, key: str, text: str) -> None:
    """Nothing is proved about them: that would take for ever, or fail in another way."""
    data = bytearray(state.read_bytes())
    length = struct.unpack_from("<I", data, 20)[0]
    header = re.sub(rf'("{key}":")[^"]*'.encode(), rf"\g<1>{text}".encode(), bytes(data[28 : 28 + length]), count=1)
    data[28 : 28 + len(header)] = header
    data[20:28] = struct.pack("<II", len(header), zlib.crc32(header))
    state.write_bytes(data)
    with pytest.raises(InputError, match="promises what does not hold"):
        DensityEstimator.open(state)


def edit_header(path: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of a file in place, with the right length and checksum."""
    data = path.read_bytes()
    header = json.loads(data[28 : 28 + struct.unpack_from("<I", data, 20)[0]])
    edit(header)
    written = json.dumps(header, separators=(",", ":")).encode()
    with path.open("r+b") as file:
        file.seek(20)
        file.write(struct.pack("<II", len(written), zlib.crc32(written)) + written)


@pytest.mark.parametrize(
    "edit",
    [
        lambda header: header["universe"].update(sample=10**400),
        lambda header: header["universe"].update(size=10**400),
        lambda header: header["law"].update(scores=[0, 10**30]),
        lambda header: header["law"].update(scores=[0, 2**20 + 1], init=[1, 2**32 - 1]),
        lambda header: header.update(noise_scale="9" * 40),
        lambda header: header.update(noise_scale=str(2**31 + 1)),
        lambda header: header.update(releases=10**9),
    ],
)
def test_a_crafted_header_with_a_right_checksum_is_refused_at_once(
    state: Path, edit: Callable[[dict[str, Any]], object]
) -> None:
    edit_header(state, edit)
    for look in (DensityEstimator.open, inspect_state):
        with pytest.raises(InputError, match="promises what does not hold"):
            look(state)


@pytest.mark.parametrize(
    ("crafted", "message"),
    [
        (b'{"left":1000000000,"last":7}', "is not possible"),
        (b'{"left":4,"last":null}', "is not possible"),
        (b'{"left":3,"last":7}', "is not possible"),
        (b'{"left":2,"last":null}', "is not possible"),
        (b'{"left":2,"last":1000000}', "is not possible"),
        (b'{"left":2,"last":-1000000}', "is not possible"),
        (b'{"left":2,"last":1' + b"0" * 300 + b"}", "is not possible"),
        (b'{"left":-1,"last":7}', "cannot be read"),
        (b'{"left":2,"last":7.5}', "cannot be read"),
        (b'{"left":2,"last":7,"more":1}', "cannot be read"),
        (b'{"left":2,"last":7,"site":"00112233445566778899aabbccddeeff"}', "is not possible"),
        (b'{"left":2,"last":7,"site":"somewhere"}', "cannot be read"),
        (b"[" * 1000, "cannot be read"),
    ],
)
def test_a_crafted_release_count_with_a_right_checksum_is_not_believed(
    state: Path, crafted: bytes, message: str
) -> None:
    write_copy(state, crafted)
    with pytest.raises(InputError, match=message):
        DensityEstimator.open(state)


def write_copy(path: Path, count: bytes) -> None:
    """Write a newer record in place, with this release count, the standing of the one in force and a right checksum."""
    data = path.read_bytes()
    form = "<QIII"
    head = struct.calcsize(form)
    which = max((0, 1), key=lambda i: struct.unpack_from("<Q", data, COUNTS + i * 4096)[0])
    start = COUNTS + which * 4096
    sequence, *sizes, _ = struct.unpack_from(form, data, start)
    standing = data[start + head + sizes[0] : start + head + sum(sizes)]
    sequence += 1
    checksum = zlib.crc32(count + standing, sequence)
    with path.open("r+b") as file:
        file.seek(COUNTS + sequence % 2 * 4096)
        file.write(struct.pack(form, sequence, len(count), len(standing), checksum) + count + standing)


def test_a_record_that_was_written_by_these_tests_is_believed(state: Path) -> None:
    write_copy(state, b'{"left":2,"last":7}')
    with DensityEstimator.open(state) as estimator:
        last = estimator.last()
        assert last is not None
        assert (last.statistic, last.releases_left) == (7, 2)


def test_a_budget_too_small_to_be_drawn_is_the_users_mistake() -> None:
    with pytest.raises(InputError, match="plan fewer releases"):
        DensityEstimator(1000, epsilon="0.00001", releases=10_000, state_epsilon="0.00000999")


def test_other_refusals(state: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="exists already"):
        DensityEstimator.create(state, 10, epsilon=1)
    with pytest.raises(InputError, match="cannot be created"):
        DensityEstimator.create(tmp_path / "no" / "state", 10, epsilon=1)
    with pytest.raises(InputError, match="cannot be opened"):
        DensityEstimator.open(tmp_path / "nothing")
    with pytest.raises(InputError, match="cannot be opened"):
        DensityEstimator.open(tmp_path)
    state.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        DensityEstimator.open(state)
    assert [p.name for p in tmp_path.iterdir()] == ["state"]


def test_kill_at_any_point(tmp_path: Path) -> None:
    """Kills (many more in the soak tests): every acknowledged batch counts, no release is shown unpaid."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.stream.kill_harness", str(tmp_path), str(often(12, 60)), "1"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
