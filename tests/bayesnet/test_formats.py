"""What every model format promises, tried on each that is found: exact values, one-line refusals, whole files."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from panbayes.bayesnet.factors import Factors
from panbayes.bayesnet.formats.files import format_of, formats, load_factors, save_factors
from panbayes.bayesnet.formats.format import Format
from panbayes.bayesnet.formats.model_json import MODEL
from panbayes.bayesnet.network import Network, read_bif
from panbayes.errors import InputError
from tests.bayesnet.brute import random_network, seeds
from tests.bayesnet.test_model_file import private_network
from tests.effort import often

GOLDEN = sorted((Path(__file__).parent / "golden").iterdir())

every_format = pytest.mark.parametrize("chosen", formats().values(), ids=lambda chosen: chosen.title)


def promised(network: Factors, chosen: Format) -> Factors:
    """What the format gives back of a network."""
    return network if chosen.keeps_statement else replace(network, privacy=None, about={})


@every_format
@settings(max_examples=often(8, 40), deadline=None)
@given(seeds)
def test_values_come_back_to_the_bit(chosen: Format, seed: int) -> None:
    for network in (private_network(seed), random_network(seed)):
        back = chosen.decode(chosen.encode(network), source="model")
        assert back == promised(network, chosen)
        assert all(a.tobytes() == b.tobytes() for a, b in zip(back.tables, network.tables, strict=True))
        assert chosen.encode(back) == chosen.encode(promised(network, chosen))


@every_format
def test_the_suffix_chooses_the_format(chosen: Format, tmp_path: Path) -> None:
    network = private_network()
    for name in (f"a{chosen.suffix}", f"B{chosen.suffix.upper()}", f"c.tar{chosen.suffix}"):
        assert format_of(name) is chosen
        network.save(tmp_path / name)
        assert (tmp_path / name).read_bytes() == chosen.encode(network)
        assert Network.load(tmp_path / name) == promised(network, chosen)
        assert load_factors(str(tmp_path / name)) == promised(network, chosen)


def test_suffixes_are_distinct_and_any_other_name_is_a_model_file(tmp_path: Path) -> None:
    assert all(suffix == chosen.suffix and suffix.startswith(".") for suffix, chosen in formats().items())
    assert len({chosen.title for chosen in formats().values()}) == len(formats())
    for name in ("model", "model.txt", "bif", ".bif.gz"):
        assert format_of(name) is MODEL
    Network.example().save(tmp_path / "weather.bif")
    (tmp_path / "weather.bif").rename(tmp_path / "weather.txt")
    assert read_bif(tmp_path / "weather.txt") == Network.example()


@every_format
def test_mutated_bytes_give_a_network_or_one_line(chosen: Format) -> None:
    mutate(chosen, seed=1, times=1500)


def mutate(chosen: Format, *, seed: int, times: int) -> None:
    """Flip, cut, repeat and swap bytes: a network, or one line that names the file."""
    rng = np.random.default_rng(seed)
    whole = [
        np.frombuffer(chosen.encode(network), dtype=np.uint8) for network in (private_network(), random_network(5))
    ]
    refused = 0
    for _ in range(times):
        changed = whole[int(rng.integers(len(whole)))].copy()
        for _ in range(int(rng.integers(1, 4))):
            at, to = sorted(rng.integers(0, changed.size, 2).tolist())
            match int(rng.integers(5)):
                case 0:
                    changed[at] = rng.integers(256)
                case 1:
                    changed = np.delete(changed, slice(at, min(to, at + 20)))
                case 2:
                    changed = np.insert(changed, at, changed[at : min(to, at + 20)])
                case 3:
                    changed = changed[: max(at, 1)]
                case _:
                    changed[at], changed[to] = changed[to], changed[at]
        complaint = "dir/x"
        try:
            chosen.decode(changed.tobytes(), source="dir/x")
        except InputError as error:
            refused += 1
            complaint = str(error)
        assert complaint.startswith("dir/x")
        assert "\n" not in complaint
    assert refused > times / 10, "mutations that are never refused test nothing"


@every_format
def test_files_that_cannot_be_read_are_named(chosen: Format, tmp_path: Path) -> None:
    path = tmp_path / f"absent{chosen.suffix}"
    with pytest.raises(InputError, match="cannot be read") as caught:
        Network.load(path)
    assert caught.value.argument == str(path)
    for data in (b"", b"\xff\xfe\x00", b"\0" * 64, b"{", b"network", b"[" * 10**5):
        path.write_bytes(data)
        with pytest.raises(InputError) as refused:
            Network.load(path)
        assert refused.value.argument.startswith(str(path))
    path.write_bytes(b" " * 65)
    with pytest.raises(InputError, match="is larger than 64 bytes"):
        load_factors(path, chosen=replace(chosen, max_bytes=64))
    with pytest.raises(InputError, match="is larger than 64 bytes"):
        load_factors("/dev/zero", chosen=replace(chosen, max_bytes=64))  # it has no size and no end


FULL_DISK = """
import resource, sys
from pathlib import Path
from panbayes.bayesnet.network import Network
from panbayes.errors import InputError
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    Network.example().save(Path(sys.argv[1]))
except InputError:
    print("refused")
"""


@every_format
def test_a_file_that_cannot_be_finished_is_whole_or_absent(chosen: Format, tmp_path: Path) -> None:
    """The file may grow to 100 bytes, as on a disk that is full: what was there stays, and nothing else is left."""
    path = tmp_path / f"model{chosen.suffix}"
    for before in ([], [path]):
        done = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("refused\n", 0), done.stderr
        assert list(tmp_path.iterdir()) == before
        if before:
            assert Network.load(path) == promised(private_network(), chosen)
        save_factors(private_network(), path)
    with pytest.raises(InputError, match="cannot be written"):
        save_factors(private_network(), tmp_path / "no" / path.name)


UNSTAMPED = "weather_unstamped.bif"
"""BIF from before files without a statement said so: read as ever, written with the stamp."""


@pytest.mark.parametrize("path", [path for path in GOLDEN if path.name != UNSTAMPED], ids=lambda path: path.name)
def test_files_written_before_stay_as_they_are(path: Path) -> None:
    """Written once and kept, one of each version: read, and written again in the version they have."""
    assert format_of(path).encode(load_factors(path)) == path.read_bytes()


def test_a_bif_file_without_a_stamp_means_what_it_meant() -> None:
    (old,) = (path for path in GOLDEN if path.name == UNSTAMPED)
    stamped = old.with_name("weather.bif")
    assert load_factors(old) == load_factors(stamped)
    assert stamped.read_text().partition("\n")[2] == old.read_text()


@every_format
def test_every_format_has_a_file_that_was_written_before(chosen: Format) -> None:
    assert [path for path in GOLDEN if format_of(path) is chosen]
