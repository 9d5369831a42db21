"""What is found in memory after every format, universe and filter was fed; it runs when PANBAYES_SOAK is set."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from panbayes.stream.setup import StreamSetup, configure, configure_groups, with_rules
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator
from tests.running import default_signals, environment
from tests.stream.memory_scan import Planted, found_in, may_read
from tests.stream.test_memory import LANDS, Case, counter, feeder, lines

pytestmark = pytest.mark.skipif("PANBAYES_SOAK" not in os.environ, reason="long: set PANBAYES_SOAK=1")

FORMS = ("text", "csv", "ndjson", "combined")
PREFIXES = {"plain": "", "decomposed": "e\u0301", "chinese": "\u7528\u6237"}
FILTERS = ("none", "text", "number", "groups")


def row(form: str, one: str, *, chosen: bool) -> str:
    """A planted id as a line of a format, with fields that say whether it was chosen."""
    kind, number, land = ("buy", "7.5", "DE") if chosen else ("look", "3", "FR")
    if form == "text":
        return one
    if form == "csv":
        return f'"{one}",{kind},{number},{land}'
    if form == "ndjson":
        return json.dumps({"id": one, "kind": kind, "n": float(number), "land": land})
    return f'203.0.113.7 - {land} [x] "{kind} / HTTP/1.1" {number} 5 "-" "{one}"'


def setup_of(form: str, universe: str, filtered: str, ids: Sequence[str]) -> StreamSetup:
    """The state that they are fed to."""
    log = form == "combined"
    if filtered == "groups":
        groups = LANDS.groups.__class__("user", LANDS.groups.names) if log else LANDS.groups
        return configure_groups(LANDS.__class__(LANDS.each, groups), epsilon=1)
    text, number = ("method=buy", "status>=5") if log else ("kind=buy", "n>=5")
    where = {"none": (), "text": (text,), "number": (number,)}[filtered]
    if universe == "hashed":
        return counter(*where)
    return with_rules(configure([*ids, *(f"user-{i}" for i in range(2_000))], epsilon=1), where=where)


def all_cases() -> dict[str, Case]:
    found: dict[str, Case] = {}
    for form, universe, (name, prefix), filtered in product(FORMS, ("hashed", "list"), PREFIXES.items(), FILTERS):
        if (form == "text" and filtered != "none") or (filtered == "groups" and universe == "list"):
            continue
        planted = Planted(prefix=prefix)
        setup = setup_of(form, universe, filtered, planted.ids)
        rows = [row(form, one, chosen=mark) for one, mark in zip(planted.ids, planted.chosen, strict=True)]
        header = ["id,kind,n,land"] if form == "csv" else []
        column = {"text": None, "csv": "id", "ndjson": "id", "combined": "agent"}[form]
        found[f"{form}, {universe}, {name}, {filtered}"] = Case(planted, setup, form, lines([*header, *rows]), column)
    return found


@pytest.mark.parametrize("leak", [False, True])
def test_nothing_is_found_of_any_format_universe_or_filter(tmp_path: Path, leak: bool) -> None:
    planted = all_cases()
    with feeder(tmp_path, *(["leak"] if leak else [])) as process:
        for name, case in planted.items():
            process.feed(name, case)
        needles = {f"{name}: {what}": one for name, case in planted.items() for what, one in case.needles.items()}
        found = found_in(process.process.pid, needles)
    seen = {name for name in planted if any(what.startswith(f"{name}: ") for what in found)}
    assert seen == (set(planted) if leak else set()), found


@pytest.mark.parametrize("form", ["text", "csv", "ndjson"])
def test_nothing_is_found_in_a_command_that_waits_for_more(tmp_path: Path, form: str) -> None:
    planted, state = Planted(), tmp_path / "s.state"
    StreamEstimator[Answer].start(state, counter()).close()
    rows = [row(form, one, chosen=True) for one in planted.ids]
    column = [] if form == "text" else ["--column", "1" if form == "csv" else "id"]
    process = subprocess.Popen(
        [sys.executable, "-m", "panbayes", "stream", "feed", str(state), "-", "--format", form, *column],
        stdin=subprocess.PIPE,
        env=environment(tmp_path),
        preexec_fn=default_signals,
    )
    try:
        assert process.stdin is not None
        time.sleep(3)
        if not may_read(process.pid):
            pytest.skip("the memory of a process that forbids core dumps is read by root alone")
        whole = lines(rows)
        process.stdin.write(whole[:-100])
        process.stdin.flush()
        time.sleep(3)
        # The beginning of the last line has not been applied: it waits for the rest.
        process.stdin.write(whole[-100:])
        process.stdin.flush()
        time.sleep(3)
        assert found_in(process.pid, planted.needles()) == set()
        process.stdin.close()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait(60)
