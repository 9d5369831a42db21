from __future__ import annotations

import json
from pathlib import Path

from panbayes.consortium.agreement.strategy import strategies
from tests.conftest import Panbayes


def test_the_demo_shows_everything_and_can_be_run_again(panbayes: Panbayes, tmp_path: Path) -> None:
    # At ε = 10 the bits of a strategy differ by some hundredths from run to run.
    demo = ("demo", "--epsilon", "10")
    first = panbayes(*demo, "--json")
    assert first.returncode == 0, first.stderr
    told = json.loads(first.stdout)
    bits = told["cross_entropy_bits"]
    assert set(bits) == set(strategies())
    assert 15 < bits["independent"] < 16
    assert all(14.5 < found < bits["independent"] - 0.5 for name, found in bits.items() if name != "independent")
    assert 0 < told["pair_tvd"] < 0.05
    output = tmp_path / "demo-output"
    for name in ("model.json", "synthetic.csv", "study.toml", "clinic.toml", "network.png", "marginals.png"):
        assert (output / name).stat().st_size > 0
    assert (output / "network.png").read_bytes().startswith(b"\x89PNG")
    # The ledgers are kept, so the same demo again is free and tells the same.
    assert json.loads(panbayes(*demo, "--json").stdout) == told
    lines = panbayes(*demo).stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 120


def test_where_no_error_is_known_the_demo_says_so(panbayes: Panbayes) -> None:
    """At so small an ε nothing but single attributes is measured, and what hangs together cannot be told."""
    done = panbayes("demo", "--epsilon", "0.002")
    assert done.returncode == 0, done.stderr
    assert "not known" in done.stdout


def test_bad_arguments(panbayes: Panbayes, tmp_path: Path) -> None:
    for epsilon in ("0", "nan", "-1", "much"):
        done = panbayes("demo", "--epsilon", epsilon)
        assert done.returncode == 2
        assert done.stderr.startswith("error: --epsilon: found ")
        assert len(done.stderr.splitlines()) == 1
    (tmp_path / "file").write_text("x")
    done = panbayes("demo", "--output", "file/out")
    assert done.returncode == 2
    assert "--output: file/out cannot be made" in done.stderr
