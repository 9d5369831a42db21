"""Experiments go on after any end, give the same bytes however they are computed, and replace nobody's results."""

from __future__ import annotations

import json
import multiprocessing
import os
import runpy
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from reproduction.experiment import Cell, Claim, Experiment, Verdict, cell_key, cell_seed, experiments
from reproduction.kept import keeping
from reproduction.results import Row
from reproduction.running import Run, check_folder, run_experiment
from reproduction.workers import compute

from panbayes.errors import InputError, InternalError
from reproduction import command as verb
from reproduction import running
from tests.effort import soak
from tests.reproduction.tiny import write_script
from tests.running import default_signals, environment, run_here

CELLS: list[Cell] = [{"number": number, "kind": "é"} for number in range(6)]


def run_cell(cell: Cell, repetitions: int, seed: int) -> list[Row]:
    return [{**cell, "repetitions": repetitions, "value": seed / 3}, {**cell, "repetitions": repetitions, "value": 0.1}]


LIGHT = Experiment(
    name="light",
    title="Seeds",
    section="none",
    cells=lambda quick: CELLS[: 2 if quick else None],
    run=run_cell,
    claims=(
        Claim("none", "All is well.", lambda found: Verdict(bool(found.numbers("value").min() > 0), "0.1", "none")),
    ),
    pictures=(),
    repetitions=3,
    quick_repetitions=1,
)


def results_of(folder: Path) -> bytes:
    return (folder / "light.csv").read_bytes()


@pytest.fixture
def whole(tmp_path: Path) -> tuple[bytes, bytes]:
    """The results of a run, and what it had kept just before its end."""
    folder = tmp_path / "whole"
    folder.mkdir()
    kept: list[bytes] = []
    run_experiment(LIGHT, folder, Run(workers=1), lambda *_: kept.append((folder / "light.partial.jsonl").read_bytes()))
    assert not (folder / "light.partial.jsonl").exists()
    return results_of(folder), kept[-1]


def test_a_run_that_was_cut_short_at_any_byte_goes_on_to_the_same_results(
    whole: tuple[bytes, bytes], tmp_path: Path
) -> None:
    results, kept = whole
    for cut in range(0, len(kept) + 1, 23):
        folder = tmp_path / str(cut)
        folder.mkdir()
        (folder / "light.partial.jsonl").write_bytes(kept[:cut])
        told: list[tuple[int, int]] = []
        run_experiment(LIGHT, folder, Run(workers=1), partial(_tell, told, folder / "light.partial.jsonl"))
        assert results_of(folder) == results
        assert told[0] == (max(0, kept[:cut].count(b"\n") - 1), len(CELLS))
        assert told[-1] == (len(CELLS), len(CELLS))


def _tell(told: list[tuple[int, int]], kept: Path, done: int, every: int) -> None:
    """Whatever was cut off, what is kept are whole lines."""
    told.append((done, every))
    assert [list(json.loads(line)) for line in kept.read_bytes().splitlines()] == [["run"], *[["cell", "rows"]] * done]


def test_what_stands_after_a_damaged_line_is_computed_again(whole: tuple[bytes, bytes], tmp_path: Path) -> None:
    results, kept = whole
    lines = kept.splitlines(keepends=True)
    lines[3] = b"\x00" * (len(lines[3]) - 1) + b"\n"
    (tmp_path / "light.partial.jsonl").write_bytes(b"".join(lines))
    run_experiment(LIGHT, tmp_path, Run(workers=1))
    assert results_of(tmp_path) == results


def test_an_end_between_results_and_verdicts_loses_nothing(whole: tuple[bytes, bytes], tmp_path: Path) -> None:
    results, kept = whole
    (tmp_path / "light.partial.jsonl").write_bytes(kept)
    (tmp_path / "light.csv").write_bytes(results)
    run_experiment(LIGHT, tmp_path, Run(workers=1))
    assert results_of(tmp_path) == results
    assert not (tmp_path / "light.partial.jsonl").exists()


def test_results_that_are_there_are_judged_anew_and_not_computed(tmp_path: Path) -> None:
    run_experiment(LIGHT, tmp_path, Run(workers=1))

    def refuse(_cell: Cell, _repetitions: int, _seed: int) -> list[Row]:
        raise AssertionError("computed again")

    other = replace(LIGHT, run=refuse, claims=(Claim("none", "No.", lambda _: Verdict(False, "7", "because")),))
    outcome = run_experiment(other, tmp_path, Run(workers=1))
    assert not outcome.verdicts[0].confirmed
    told = json.loads((tmp_path / "light.json").read_text())["verdicts"]
    assert told == [{"label": "none", "sentence": "No.", "confirmed": False, "numbers": "7", "reason": "because"}]


@pytest.mark.parametrize("other", [Run(seed=1, workers=1), Run(quick=True, workers=1)])
def test_results_of_another_run_are_not_replaced(other: Run, whole: tuple[bytes, bytes], tmp_path: Path) -> None:
    run_experiment(LIGHT, tmp_path, Run(workers=1))
    with pytest.raises(InputError, match=r"light\.csv is of another run"):
        run_experiment(LIGHT, tmp_path, other)
    unfinished = tmp_path / "unfinished"
    unfinished.mkdir()
    (unfinished / "light.partial.jsonl").write_bytes(whole[1])
    with pytest.raises(InputError, match="begun by another run"):
        run_experiment(LIGHT, unfinished, other)
    assert (unfinished / "light.partial.jsonl").read_bytes() == whole[1]


def test_another_partition_is_another_run(tmp_path: Path) -> None:
    shared, turns, labels = replace(LIGHT, partitioned=True), Run(workers=1), Run(workers=1, partition="labels")
    assert {cell["partition"] for cell in labels.cells(shared)} == {"labels"}
    assert turns.facts(LIGHT) == labels.facts(LIGHT)
    assert labels.cells(LIGHT) == CELLS
    kept: list[bytes] = []
    part = tmp_path / "light.partial.jsonl"
    run_experiment(shared, tmp_path, labels, lambda *_: kept.append(part.read_bytes()))
    assert run_experiment(shared, tmp_path, labels).results.texts("partition") == ["labels"]
    with pytest.raises(InputError, match=r"light\.csv is of another run"):
        run_experiment(shared, tmp_path, turns)
    part.write_bytes(kept[2])
    with pytest.raises(InputError, match="begun by another run"):
        run_experiment(shared, tmp_path, turns)


def test_somebody_elses_file_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "light.csv").write_text("mine\n")
    with pytest.raises(InputError, match="not of this command"):
        check_folder(LIGHT, tmp_path, Run())
    run_experiment(replace(LIGHT, name="lighter"), tmp_path, Run(workers=1))
    (tmp_path / "lighter.csv").write_text("number,kind,repetitions,value\n1,é,3,9.5\n")
    with pytest.raises(InputError, match="of another run"):
        check_folder(replace(LIGHT, name="lighter"), tmp_path, Run())


def test_two_runs_do_not_write_into_one_file(tmp_path: Path) -> None:
    with (
        keeping(tmp_path / "light.partial.jsonl", Run().facts(LIGHT)),
        pytest.raises(InputError, match="being written by another run"),
    ):
        run_experiment(LIGHT, tmp_path, Run(workers=1))


def test_seeds_of_cells_differ_by_everything_that_names_them() -> None:
    cells: list[tuple[int, str, Cell]] = [
        (0, "a", {"x": 1}),
        (1, "a", {"x": 1}),
        (0, "b", {"x": 1}),
        (0, "a", {"x": 2}),
        (0, "a", {"y": 1}),
    ]
    assert len({cell_seed(*cell) for cell in cells}) == len(cells)
    assert cell_seed(0, "a", {"x": 1, "y": 2}) == cell_seed(0, "a", {"y": 2, "x": 1})
    assert cell_key({"x": 1.0}) != cell_key({"x": 1})


@soak
def test_workers_compute_what_this_process_does() -> None:
    experiment = experiments()["stream-failure"]
    cells = [cell for cell in experiment.cells(True) if cell["stream"] == "uniform"][:3]
    alone, together = (dict(compute(experiment, cells, repetitions=2, seed=5, workers=workers)) for workers in (1, 2))
    assert alone == together
    assert sorted(alone) == [0, 1, 2]


@soak
def test_a_cell_that_fails_and_a_worker_that_is_killed_are_told() -> None:
    experiment = experiments()["stream-failure"]
    cells: list[Cell] = [{"stream": "uniform", "epsilon": epsilon} for epsilon in (-1.0, 0.5)]
    with pytest.raises(InternalError, match=r"stream-failure at .*'epsilon': -1.0.*: ValueError"):
        list(compute(experiment, cells, repetitions=1, seed=0, workers=2))
    cells = [{"stream": "uniform", "epsilon": epsilon} for epsilon in (0.1, 0.2, 0.3)]
    computing = compute(experiment, cells, repetitions=200, seed=0, workers=2)
    next(computing)
    for process in multiprocessing.active_children():
        process.kill()
    with pytest.raises(InternalError, match="a worker ended before its work"):
        list(computing)


# Whole processes, from here on, with an experiment of their own.


@pytest.fixture
def command(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command with the tiny experiment; what is left of it in the end is killed."""
    script = write_script(tmp_path)
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: str, more: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [*script, *arguments],
            cwd=tmp_path,
            env=environment(tmp_path, more),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=default_signals,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def children(process: subprocess.Popen[str]) -> set[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return set(map(int, listed.read_text().split())) if listed.exists() else set()


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + 240
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def wait_for_lines(path: Path, number: int) -> None:
    wait_for(lambda: lines_of(path) > number)


def lines_of(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


@soak
def test_killed_at_random_points_it_goes_on_to_the_same_bytes(
    command: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    (tmp_path / "alone").mkdir()
    namespace = runpy.run_path(str(tmp_path / "found" / "tiny_experiment.py"))
    run_experiment(namespace["TINY"], tmp_path / "alone", Run(workers=1))
    chance = np.random.default_rng(11)
    slowly = {"TINY_PAUSE": "0.5"}  # so that it is not done before a busy machine looks again
    kept = tmp_path / "killed" / "tiny.partial.jsonl"
    workers: set[int] = set()
    for before in (1, 3):
        process = command("tiny", "-o", "killed", more=slowly)
        wait_for_lines(kept, before)
        time.sleep(chance.random() * 0.5)
        workers |= children(process)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert before < lines_of(kept) < 17
    assert workers
    wait_for(lambda: not any(map(alive, workers)))
    last = command("tiny", "-o", "killed")
    assert "1 of 1 sentence confirmed" in last.communicate()[0]
    assert last.returncode == 0
    assert not kept.exists()
    for name in ("tiny.csv", "tiny.json", "tiny-means.svg", "tiny-means.png"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "alone" / name).read_bytes()


@soak
def test_interrupted_it_says_so_and_goes_on_when_run_again(
    command: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    kept = tmp_path / "out" / "tiny.partial.jsonl"
    process = command("tiny", "-o", "out", more={"TINY_STOPS": "4"})
    wait_for_lines(kept, 4)  # From here on both are at cells that never end.
    workers = children(process)
    # As a terminal does it: everybody in front of it hears.
    for pid in (process.pid, *workers):
        os.kill(pid, signal.SIGINT)
    assert process.communicate() == ("", "error: interrupted\n")
    assert process.returncode == 130
    wait_for(lambda: not any(map(alive, workers)))
    assert lines_of(kept) == 5
    again = command("tiny", "-o", "out")
    assert again.communicate()[1] == ""
    assert (tmp_path / "out" / "tiny.csv").read_bytes().count(b"\n") == 33


# The command.

here = partial(run_here, program=verb.main)


def test_bad_input_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for arguments, told in (
        (("stream-eror", "-o", "x"), 'NAME: there is no experiment "stream-eror"; did you mean "stream-error"?'),
        (("true-loss",), "--output: is not given; name a folder for the results"),
        (("true-loss", "-o", "file"), "--output: file cannot be made (file exists); give another folder"),
        (("true-loss", "-o", "file/below"), "--output: file/below cannot be made (not a directory)"),
    ):
        done = here(*arguments, folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_partition_is_one_of_three_and_for_experiments_with_holders(tmp_path: Path) -> None:
    for arguments, told in (
        (("synthetic-degree", "--partition", "label"), '--partition: found "label"; did you mean "labels"?'),
        (("true-loss", "--partition", "sizes"), "--partition: true-loss has no holders who could share records"),
    ):
        done = here(*arguments, "-o", "x", folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert told in done.stderr
    assert not list(tmp_path.iterdir())


GET = "get the archive from https://archive.ics.uci.edu/"


@soak
def test_without_its_data_an_experiment_says_how_to_get_them(tmp_path: Path) -> None:
    (tmp_path / "other.csv").write_text("encounter_id\n1\n")
    for file, told in (("absent.zip", "cannot be read (no such file"), ("other.csv", "its sha256 differs")):
        done = here("diabetes-holders", "-o", "x", folder=tmp_path, more={"PANBAYES_DIABETES": file})
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: PANBAYES_DIABETES: {file} ")
        assert told in done.stderr
        assert GET in done.stderr
        assert done.stderr.endswith("and set PANBAYES_DIABETES to it\n")
    assert [path.name for path in tmp_path.iterdir()] == ["other.csv"]


def test_all_goes_on_without_what_lacks_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent() -> None:
        raise InputError("DATA", found="is absent", remedy="get it")

    needy = replace(LIGHT, name="needy", ready=absent)
    monkeypatch.setattr(verb, "experiments", lambda: {"needy": needy, "light": LIGHT})
    done = here("all", "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert "1 of 1 sentence confirmed" in done.stdout
    assert done.stderr == "error: needy was left out: DATA: is absent; get it\n"
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["light.csv", "light.json"]
    told = json.loads(here("all", "-o", "out", "--json", folder=tmp_path).stdout)
    assert told["needy"] == {"left_out": "DATA: is absent; get it"}
    assert told["light"]["verdicts"][0]["confirmed"]
    # What is there already needs no data.
    run_experiment(needy, tmp_path / "out", Run(workers=1))
    done = here("all", "-o", "out", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 of 2 sentences confirmed" in done.stdout


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "true-loss.partial.jsonl").mkdir()
    done = here("true-loss", "-o", ".", folder=tmp_path)
    assert done.returncode == 2
    assert "--output" in done.stderr


def test_the_list_names_every_experiment_and_figure(tmp_path: Path) -> None:
    done = here("list", folder=tmp_path)
    assert all(name in done.stdout for name in experiments())
    told = json.loads(here("list", "--json", folder=tmp_path).stdout)
    labels = {label for one in told for label in one["figures"]}
    assert labels >= {picture.label for one in experiments().values() for picture in one.pictures}


def test_without_matplotlib_there_are_results_and_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "find_spec", lambda _name: None)
    done = here("dwork-budget", "-o", "out", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "No figures, for want of matplotlib: pip install panbayes[figures]" in done.stdout
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["dwork-budget.csv", "dwork-budget.json"]
    monkeypatch.undo()
    done = here("dwork-budget", "-o", "out", "--json", folder=tmp_path)
    told = json.loads(done.stdout)["dwork-budget"]
    assert [verdict["confirmed"] for verdict in told["verdicts"]] == [True, True, True]
    assert (tmp_path / "out" / "dwork-budget.png").read_bytes().startswith(b"\x89PNG")


def test_a_failing_cell_in_this_process_stays_what_it_is() -> None:
    def fail(_cell: Cell, _repetitions: int, _seed: int) -> list[Row]:
        raise InternalError("no")

    with pytest.raises(InternalError, match="no"):
        list(compute(replace(LIGHT, run=fail), CELLS, repetitions=1, seed=0, workers=1))
