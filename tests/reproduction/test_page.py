"""The page of the experiments is made from what the command left, and from records dealt out in turns alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.reproduction_page import closing, main, put, skew
from reproduction.experiment import experiments
from reproduction.partition import Partition
from reproduction.results import Results, Row, csv_text
from reproduction.running import Run

MARKS = ("verdicts", "all verdicts", "partitions")
PAGE = "before\n" + "".join(f"<!-- generated: {one} -->\nformer text\n<!-- end: {one} -->\nthen\n" for one in MARKS)


def row(bits: float, *, strategy: str = "noisy-model", holders: int = 2, partition: str = "turns") -> Row:
    where: Row = {"partition": partition, "strategy": strategy, "epsilon": 0.1, "degree": 1, "holders": holders}
    return {**where, "repetitions": 25, "bits": bits, "deviation": 0.5}


def fill(folder: Path, names: list[str], partition: Partition, *, confirmed: bool) -> None:
    folder.mkdir()
    for name in names:
        experiment = experiments()[name]
        verdicts = [
            {"label": one.label, "sentence": one.sentence, "confirmed": confirmed, "numbers": "7 bits", "reason": "r"}
            for one in experiment.claims
        ]
        facts = Run(partition=partition).facts(experiment)
        (folder / f"{name}.json").write_text(json.dumps({"run": facts, "verdicts": verdicts}), encoding="utf-8")
        (folder / f"{name}.csv").write_text(csv_text([row(6.5 if confirmed else 8.25, partition=partition)]))
        for picture in experiment.pictures:
            (folder / f"{picture.name}.png").write_text(partition)


def test_verdicts_and_figures_are_those_of_turns_and_others_stand_beside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "labels", ["synthetic-holders"], "labels", confirmed=False)
    fill(tmp_path / "turns", list(experiments()), "turns", confirmed=True)
    fill(tmp_path / "later", ["true-loss"], "turns", confirmed=False)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "reproduction.md").write_text(PAGE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    main([Path("labels"), Path("turns"), Path("later")])
    page = (tmp_path / "docs" / "reproduction.md").read_text(encoding="utf-8")
    claims = sum(len(one.claims) for one in experiments().values())
    assert f"{claims} of {claims} sentences hold." in page
    assert page.count("| yes |") == 2 * claims
    assert "former text" not in page
    assert page.count("-->\nthen\n") == 3
    assert "| noisy model | 0.1 | 2 | 6.50 ± 0.10 | 8.25 ± 0.10 |" in page
    assert (tmp_path / "docs/figures/reproduction/synthetic-holders.png").read_text() == "turns"


def test_what_no_other_partition_has_is_left_out() -> None:
    turns = Results((row(6), row(7, holders=5), row(5, strategy="non-private")))
    labels = Results((row(9, partition="labels"), row(5, strategy="non-private", partition="labels")))
    told = skew("synthetic-holders", {"turns": turns, "labels": labels}).splitlines()
    assert told[2] == "| strategy | ε | holders | dealt out in turns | ordered by a label |"
    assert told[4:] == ["| noisy model | 0.1 | 2 | 6.00 ± 0.10 | 9.00 ± 0.10 |"]


def test_a_verdict_that_fails_counts_as_such() -> None:
    verdicts = {
        name: {"verdicts": [{"sentence": "It|is.", "confirmed": name == "true-loss", "numbers": "7 bits " * 40}]}
        for name in experiments()
    }
    told = closing(verdicts)
    assert told.startswith(f"1 of {len(verdicts)} sentences hold.")
    assert told.count("**no**") == len(verdicts) - 1
    assert "It\\|is." in told
    assert max(map(len, told.splitlines())) < 220


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(SystemExit, match="no marks for verdicts"):
        put("nothing", "verdicts", "text")
