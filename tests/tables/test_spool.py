"""Large tables on disk: nothing is left behind, whatever ends the process, and nobody else may read."""

from __future__ import annotations

import gc
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from panbayes.bayesnet.network import Network
from panbayes.consortium.local.learn import learn
from panbayes.errors import InputError
from panbayes.schema.attribute import Attribute
from panbayes.schema.schema import Schema, Unit
from panbayes.tables import reading, spool, units
from panbayes.tables.check import check_table
from panbayes.tables.reading import read_records
from panbayes.tables.spool import Spool, unnamed_file
from panbayes.tables.table import Table

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Schema("s", (Attribute("a", categories=("x", "y", "z")), Attribute("b", bins=(0, 10, 20, 30))))
PEOPLE = Schema("s", SCHEMA.attributes, unit=Unit("who", 2))


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A folder of its own for spools; nothing may be in it at the end."""
    place = tmp_path / "spool"
    place.mkdir()
    monkeypatch.setenv("PANBAYES_SPOOL", str(place))
    yield place
    assert list(place.iterdir()) == []


def frame(records: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    who = [
        None if n == 0 else f" {n}" if n % 2 else f"{n}" for n in rng.integers(0, records // 3 + 1, records).tolist()
    ]
    return pl.DataFrame({"a": rng.choice(["x", "y", "z", "w"], records), "b": rng.integers(0, 40, records), "who": who})


CHILD = """
import os, sys, time
import numpy as np
from panbayes.tables.spool import Spool, unnamed_file
spool = Spool(2, np.uint8, keep=0)
spool.append(np.full((2, 300_000), 7, dtype=np.uint8))
assert spool.in_file
print("written", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_of_a_process_that_is_killed(number: int, named: bool, folder: Path) -> None:
    """Also where a file system knows no file without a name: there it loses its name at once."""
    without = "import os; del os.O_TMPFILE\n" if named else ""
    with subprocess.Popen([sys.executable, "-c", without + CHILD], cwd=ROOT, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"written\n"
        assert list(folder.iterdir()) == [], "it has no name while it is used"
        process.send_signal(number)
        process.wait()
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("named", [False, True])
def test_the_file_is_for_its_owner_only_and_gone_when_it_is_closed_or_let_go(
    named: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if named:
        monkeypatch.delattr(os, "O_TMPFILE")
    before = os.umask(0)
    try:
        made = [Spool(1, np.uint8, keep=0) for _ in range(2)]
        for one in made:
            one.append(np.zeros((1, spool.BLOCK_RECORDS), dtype=np.uint8))
    finally:
        os.umask(before)
    files = [one.descriptor for one in made]
    for file in files:
        found = os.fstat(file)
        assert (stat.S_IMODE(found.st_mode), found.st_nlink) == (0o600, 0)
        assert found.st_size == spool.BLOCK_RECORDS
    made[0].close()
    made[0].close()
    del made, one
    gc.collect()
    for file in files:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(file)


def test_a_spool_that_is_closed_gives_nothing() -> None:
    made = Spool(1, np.uint8, keep=0)
    made.append(np.zeros((1, 3 * spool.BLOCK_RECORDS), dtype=np.uint8))
    blocks = made.blocks()
    next(blocks)
    made.close()
    with pytest.raises(ValueError, match="closed"):
        next(blocks)
    with pytest.raises(ValueError, match="closed"):
        next(made.blocks())


def test_counts_of_a_closed_table_are_not_none() -> None:
    """They would be taken for those of a table without records."""
    with read_records(frame(30), SCHEMA) as read:
        pass
    with pytest.raises(ValueError, match="closed"):
        read.count([(0,)])


@pytest.mark.parametrize("who", ["p", None])
def test_memory_does_not_grow_with_the_records_of_one_person_or_of_nobody(
    who: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch)
    most: list[int] = []
    sort = np.lexsort

    def lexsort(keys: tuple[NDArray[np.uint64], ...]) -> NDArray[np.intp]:
        most.append(keys[0].size)
        return sort(keys)

    monkeypatch.setattr(np, "lexsort", lexsort)
    ids = [who] * 1000 + ["q"] + [who] * 1000 + ["q", "q"]
    kept, persons = units.first_records(pl.Series(ids, dtype=pl.String), 2)
    named = [place for place, one in enumerate(ids) if one is not None]
    assert kept.tolist() == ([0, 1, 1000, 2001] if who else named[:2])
    assert persons == (2 if who else 1)
    assert max(most) <= 2 * 25 + 16


def test_a_missing_value_with_blanks_around_names_nobody() -> None:
    kept, persons = units.first_records(pl.Series(["N/A ", "N/A", "\u00a0N/A", "a"]), 9, ("N/A ",))
    assert (kept.tolist(), persons) == ([3], 1)


def test_records_go_to_a_file_just_above_the_public_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "BLOCK_RECORDS", 8)
    for records, in_file in ((24, False), (25, False), (31, False), (32, True), (80, True)):
        made = Spool(1, np.uint16, keep=24)
        numbers = np.arange(records, dtype=np.uint16)[None]
        for start in range(0, records, 3):
            made.append(numbers[:, start : start + 3])
        assert (made.records, made.in_file) == (records, in_file)
        assert np.concatenate([block.copy() for block in made.blocks()], axis=1).tolist() == numbers.tolist()
    assert spool.SPOOL_RECORDS == 2**20


def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "BLOCK_RECORDS", 16)
    monkeypatch.setattr(units, "PART_RECORDS", 25)


@pytest.mark.parametrize("schema", [SCHEMA, PEOPLE])
def test_a_table_in_a_file_has_the_records_of_one_in_memory(schema: Schema, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Table.read(frame(300), schema)
    small(monkeypatch)
    with read_records(frame(300), schema, keep=0) as read:
        assert read.spool.in_file
        assert np.concatenate([block.copy() for block in read.blocks()], axis=1).tolist() == whole.codes.tolist()
        assert (read.facts, read.kind) == (whole.facts, whole.kind)
        assert whole.origin is not None
        assert (read.origin.fit, read.origin.whole) == (whole.origin.fit, whole.origin.whole)
        assert repr(read) == 'Table under schema "s", in blocks; records are not shown'


@pytest.mark.parametrize("records", [1, 16, 300])
@pytest.mark.parametrize("most", [1, 2, 5])
def test_each_persons_first_records_are_those_of_a_loop_however_they_are_gone_through(
    records: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(monkeypatch)
    data = frame(records, seed=records)
    seen: dict[str, int] = {}
    kept = []
    for place, who in enumerate(data["who"].to_list()):
        if who is not None:
            seen[who.strip()] = seen.get(who.strip(), 0) + 1
            if seen[who.strip()] <= most:
                kept.append(place)
    schema = Schema("s", SCHEMA.attributes, unit=Unit("who", most))
    with read_records(data, schema, keep=0, may_be_empty=True) as read:
        every = Table.read(data, SCHEMA)
        found = [block.copy() for block in read.blocks()]
        assert (np.concatenate(found, axis=1) if found else every.codes[:, :0]).tolist() == every.codes[
            :, kept
        ].tolist()
        assert read.persons == len(seen)
        fit = read.origin.fit
        assert (fit.records, fit.kept, fit.persons) == (records, len(kept), len(seen))
        assert fit.unnamed == data["who"].null_count()


def test_how_a_table_fits_is_tallied_over_all_its_records(monkeypatch: pytest.MonkeyPatch) -> None:
    small(monkeypatch)
    monkeypatch.setattr(reading, "SPOOL_RECORDS", 0)
    data = frame(300)
    a, b = check_table(data, PEOPLE).attributes
    strange = int((data["a"] == "w").sum())
    assert (a.outside, a.outside_to, a.targets, a.share) == (strange, "z", (("z", strange),), strange / 300)
    above = int((data["b"] > 30).sum())
    assert (b.outside, b.targets, b.share) == (above, (("[20, 30]", above),), above / 300)
    assert check_table(data, PEOPLE).share == max(a.share, b.share)
    assert not check_table(data, PEOPLE).clean


def test_everybody_counted_as_one_value_is_said_so() -> None:
    """The mistake it is for: all values of a column have no place of their own."""
    schema = Schema(
        "s", (Attribute("sex", categories=("Female", "Male")), Attribute("c", categories=(0, 1), missing="m"))
    )
    data = pl.DataFrame({"sex": ["F", "M", None] * 7, "c": [None, 0, 1] * 7})
    sex, c = check_table(data, schema).attributes
    assert (sex.targets, sex.share) == ((("Male", 21),), 1.0)
    assert (c.targets, c.share, c.missing) == ((), 0.0, 7)


def written(network: Network, folder: Path) -> bytes:
    network.save(folder / "model.json")
    return (folder / "model.json").read_bytes()


def test_learning_from_a_large_table_gives_the_network_of_one_in_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    data = frame(400)
    wanted = {
        strategy: learn(data, SCHEMA, epsilon=1, strategy=strategy, simulate=5)
        for strategy in ("adaptive", "privbayes", "noisy-majority-voting", "noisy-sufficient-statistics")
    }
    small(monkeypatch)
    opened: list[int] = []

    def opening(place: Path) -> int:
        opened.append(1)
        return unnamed_file(place)

    monkeypatch.setattr(spool, "unnamed_file", opening)
    monkeypatch.setattr(reading, "SPOOL_RECORDS", 0)
    for strategy, network in wanted.items():
        opened.clear()
        assert written(learn(data, SCHEMA, epsilon=1, strategy=strategy, simulate=5), tmp_path) == written(
            network, tmp_path
        )
        assert opened
    learn(data, SCHEMA, epsilon=1, state=tmp_path)


def test_a_full_disk_ends_learning_before_a_ledger_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    small(monkeypatch)
    monkeypatch.setattr(reading, "SPOOL_RECORDS", 0)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(InputError, match=r"no space left on device.*PANBAYES_SPOOL"):
        learn(frame(400), SCHEMA, epsilon=1, state=tmp_path / "state")
    assert not (tmp_path / "state").exists()
