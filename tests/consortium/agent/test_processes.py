"""The agent as it runs: real processes, killed at every step, two at a time, without room, without a folder."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.pipe import Done, Job, Promise, Taken
from panbayes.consortium.agent.worker import Worker, _Process
from panbayes.consortium.holder.ledger.verify import verify
from panbayes.consortium.post.letters import Letter
from panbayes.consortium.protocol.envelope import Refusal, Release
from panbayes.consortium.protocol.queries import TablesQuery
from tests.conftest import ROOT
from tests.consortium.agent.dying import AGENT, COMPUTING
from tests.consortium.agent.exchanges import Exchange
from tests.consortium.agent.houses import key
from tests.effort import soak, some
from tests.running import default_signals


@pytest.fixture
def exchange(tmp_path: Path) -> Iterator[Exchange]:
    made = Exchange(tmp_path)
    yield made
    if "worker" in vars(made):
        made.worker.close()


def until(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.02)
    return found


@contextmanager
def serving(exchange: Exchange, *options: str, **started: Any) -> Iterator[subprocess.Popen[str]]:
    """An agent that serves the folder, until the block ends."""
    command = exchange.command("serve", "--post", str(exchange.folder.path), *options)
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **started)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def approval(exchange: Exchange) -> Path:
    """The letter that tells of the approval, as it lies in the folder."""
    return exchange.folder.path / "from-north" / f"{exchange.study.hash[:12]}-000000.approval"


def killed(exchange: Exchange, point: str) -> subprocess.CompletedProcess[str]:
    """Run ``holder answer`` with a process that is killed at a point."""
    arguments = ["holder", "answer", str(exchange.folder.path), "--config", str(exchange.house.config)]
    return subprocess.run(
        [sys.executable, "-m", "tests.consortium.agent.dying", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "DYING": point},
    )


def faults(exchange: Exchange) -> list[str]:
    with exchange.holder.ledger() as ledger:
        return verify(ledger)


@pytest.mark.parametrize("point", some(AGENT, 3))
def test_an_agent_that_is_killed_anywhere_leaves_nothing_half_done(exchange: Exchange, point: str) -> None:
    exchange.approve()
    stem = exchange.ask()
    ended = killed(exchange, point)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    left = exchange.folder.path / "from-north"
    before = {path.name: path.read_bytes() for path in left.glob("*.answer")} if left.exists() else {}
    assert bool(before) == (point == "after the answer's letter")
    assert exchange.answer(stem) is None or point == "after the answer's letter"
    exchange.answer_here()
    assert isinstance(exchange.reply(stem), Release)
    assert exchange.entries() == 1, "charged once"
    assert faults(exchange) == []
    path = left / f"{stem}.answer"
    assert before in ({}, {path.name: path.read_bytes()}), "what had left stays what it was"
    charged = point not in AGENT[:3]
    assert (exchange.happened().count("repeated") == 1) == (charged and not before)
    letter = path.read_bytes()
    path.unlink()
    exchange.answer_here()
    assert path.read_bytes() == letter, "and whenever it is asked for again, it is the same"
    assert exchange.happened().count("answered") == 1


@pytest.mark.parametrize("point", some(COMPUTING, 2))
def test_a_process_that_is_killed_while_it_computes_is_silence_and_a_failure_that_is_counted(
    exchange: Exchange, point: str
) -> None:
    exchange.approve()
    stem = exchange.ask()
    ended = killed(exchange, point)
    assert (ended.returncode, ended.stdout) == (0, "north: waiting 1.\n"), ended.stderr
    assert exchange.answer(stem) is None
    begun = point in ("when an answer is begun", "before the commit")
    assert exchange.entries() == (1 if point == "after the commit" else 0)
    exchange.answer_here()
    assert isinstance(exchange.reply(stem), Release)
    assert exchange.entries() == 1
    with exchange.holder.ledger() as ledger:
        assert len(ledger.summary().failures) == (1 if begun else 0)
    assert faults(exchange) == []


@soak
def test_three_failures_pause_a_study_in_silence(exchange: Exchange) -> None:
    exchange.approve()
    stem = exchange.ask()
    for _ in range(3):
        killed(exchange, "before the commit")
    assert len(exchange.answer_here().waiting) == 1
    assert exchange.answer(stem) is None
    with exchange.holder.ledger() as ledger:
        assert ledger.resume(exchange.study.hash)
    exchange.answer_here()
    assert isinstance(exchange.reply(stem), Release)


@soak
def test_a_run_says_what_it_did(exchange: Exchange) -> None:
    assert exchange.answer_all().stdout == "north: nothing to answer.\n"
    proposed = exchange.propose()
    exchange.ask()
    told = exchange.answer_all()
    waits = f"1 study waits for approval: three clinics ({exchange.study.hash[:12]}); look with"
    assert told.stdout.startswith(f"north: waiting 1.\n{waits}")
    exchange.approve(proposed)
    exchange.ask(number=2)
    exchange.ask(TablesQuery(sets=((0,),), epsilon="1/2", clip=True), number=3)
    exchange.ask(number=4, by="south")
    told = exchange.answer_all()
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout == (
        "north: answered 1, repeated 1, refused 1.\n"
        "1 letter not from your analysts, or not to you: left where they are.\n"
    )
    refusal = exchange.reply(f"{exchange.study.hash[:12]}-000003")
    assert isinstance(refusal, Refusal)
    assert refusal.code == "not-in-study"
    assert exchange.happened() == ["approved", "answered", "repeated", "refused"]


def test_bodies_of_all_kinds_are_refused_or_turned_away_and_the_agent_stays(exchange: Exchange) -> None:
    exchange.approve()
    other = Exchange(exchange.root / "other", text=exchange.text.replace("three", "four"))
    bodies = {
        "malformed": b"\x00",
        "nested": b"\x91" * 100_000,
        "empty": b"",
        "text": b"panbayes" * 1000,
        "another study": Letter.decode(other.question()[1].data).body,
        "another round": Letter.decode(exchange.question(round=1)[1].data).body,
    }
    stems = {name: exchange.ask(number=n, body=body) for n, (name, body) in enumerate(bodies.items(), 1)}
    told = exchange.answer_all()
    assert (told.returncode, told.stderr) == (0, "")
    for name, stem in stems.items():
        if name.startswith("another"):
            assert exchange.answer(stem) is None
        else:
            reply = exchange.reply(stem)
            assert isinstance(reply, Refusal)
            assert reply.code == "malformed"
    assert exchange.strangers() == {"misaddressed": 2}
    assert exchange.entries() == 0


def test_an_agent_serves_goes_on_and_ends_when_it_is_asked(exchange: Exchange) -> None:
    proposed = exchange.propose()
    first = exchange.ask(number=1)
    with serving(exchange) as process:
        until((exchange.house.folder / "state" / "agent.lock").exists)
        exchange.approve(proposed)
        until(lambda: exchange.answer(first))
        exchange.decide("stopped", proposed)
        second = exchange.ask(number=2)
        time.sleep(0.5)
        assert exchange.answer(second) is None
        exchange.decide("resumed", proposed)
        until(lambda: exchange.answer(second))
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    answered = re.findall(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ (answered|repeated) ", errors, re.MULTILINE)
    assert answered == ["answered", "repeated"]
    assert exchange.answer_all().returncode == 0


@pytest.mark.parametrize("number", some([signal.SIGTERM, signal.SIGINT], 1))
def test_an_agent_that_is_stopped_says_how_things_stand(exchange: Exchange, number: signal.Signals) -> None:
    """That is how serving ends: nothing went wrong, and the last line says what waits and how to begin again."""
    exchange.propose()
    exchange.ask(number=1)
    exchange.ask(number=2)
    with serving(exchange, preexec_fn=default_signals) as process:
        until((exchange.house.folder / "state" / "agent.lock").exists)
        until(lambda: exchange.holder.post("studies").path.exists())
        time.sleep(3)
        process.send_signal(number)
        _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    last = errors.splitlines()[-1]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ stopped; questions of 1 study wait \(", last)
    assert "(panbayes holder pending); start again with: panbayes holder serve --post " in last
    assert "error" not in errors


def test_there_is_one_agent_for_a_holder(exchange: Exchange) -> None:
    with serving(exchange) as process:
        lock = exchange.house.folder / "state" / "agent.lock"
        until(lambda: lock.exists() and lock.read_text().strip())
        second = exchange.answer_all()
        assert second.returncode == 5
        assert f"process {process.pid}" in second.stderr
        third = exchange.run("serve", "--post", str(exchange.folder.path))
        assert third.returncode == 5
        process.kill()
        process.wait()
        assert exchange.answer_all().returncode == 0, "who was killed holds nothing"


@soak
def test_an_agent_whose_folder_goes_away_says_so_once_and_goes_on_when_it_is_back(exchange: Exchange) -> None:
    exchange.approve()
    path = exchange.folder.path
    with serving(exchange) as process:
        until(approval(exchange).exists)
        path.rename(path.with_name("unmounted"))
        assert process.stderr is not None
        assert "waiting for letters in " in process.stderr.readline()
        assert "cannot be read" in process.stderr.readline()
        time.sleep(2.5)
        path.with_name("unmounted").rename(path)
        stem = exchange.ask()
        until(lambda: exchange.answer(stem))
        while "letters can be fetched again" not in (line := process.stderr.readline()):
            assert line
            assert "cannot be read" not in line, "once"


@soak
def test_an_agent_without_room_for_an_answer_keeps_it_until_there_is_some(exchange: Exchange) -> None:
    exchange.approve()
    away = exchange.folder.path / "from-north"
    with serving(exchange) as process:
        until(approval(exchange).exists)
        time.sleep(0.1)
        shutil.rmtree(away)
        away.write_text("in the way")
        stem = exchange.ask()
        assert process.stderr is not None
        assert "waiting for letters in " in process.stderr.readline()
        assert "cannot be written" in process.stderr.readline()
        assert exchange.entries() == 1
        away.unlink()
        until(lambda: exchange.answer(stem))
    assert exchange.entries() == 1
    assert exchange.happened() == ["approved", "answered"], "not computed again"


@soak
def test_a_ledger_without_room_is_silence(exchange: Exchange) -> None:
    exchange.approve()
    stem = exchange.ask()

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))  # No file grows beyond: as if the disk were full.

    told = subprocess.run(
        exchange.command("answer", str(exchange.folder.path)),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        preexec_fn=limited,
    )
    assert told.returncode == 0
    assert exchange.answer(stem) is None
    assert "Traceback" not in told.stderr
    exchange.answer_here()
    assert isinstance(exchange.reply(stem), Release)
    assert faults(exchange) == []


def test_the_agent_loads_nothing_that_computes(exchange: Exchange) -> None:
    exchange.approve()
    exchange.ask()
    program = (
        "import sys\n"
        "from panbayes.cli.calling import call\n"
        "code = call(sys.argv[1:])\n"
        "heavy = {'numba', 'polars', 'opendp', 'scipy', 'pandas', 'matplotlib'} & set(sys.modules)\n"
        "sys.exit(f'loaded {heavy}' if heavy else code)\n"
    )
    command = exchange.command("answer", str(exchange.folder.path))
    found = subprocess.run(
        [sys.executable, "-c", program, *command[3:]], capture_output=True, text=True, timeout=120, check=False
    )
    assert (found.returncode, found.stdout) == (0, "north: answered 1.\n"), found.stderr


def test_a_bound_is_asked_for_where_the_number_of_records_is_private(tmp_path: Path) -> None:
    text = 'version = 1\nname = "private size"\nschema = "clinic.toml"\nepsilon = 1\nadjacency = "add-remove"\n'
    exchange = Exchange(tmp_path, text=text, rest="[time]\ngrid = 1\n")
    exchange.approve()
    for command in (("answer", str(exchange.folder.path)), ("serve", "--post", str(exchange.folder.path))):
        told = exchange.run(*command)
        assert told.returncode == 2
        assert "rows_bound: is missing" in told.stderr


def test_serving_needs_a_mailbox_or_a_folder(exchange: Exchange) -> None:
    told = exchange.run("serve")
    assert told.returncode == 2
    assert "mailbox: is missing" in told.stderr
    told = exchange.run("serve", "--post", str(exchange.root / "absent"))
    assert (told.returncode, "is no folder" in told.stderr) == (2, True)


def job(exchange: Exchange, **changed: Any) -> Job:
    (kept,) = [found.proposed for found in _kept(exchange.holder)]
    signed = exchange.question(**changed)[1]
    body = Letter.decode(signed.data).body
    return Job(kept.study.hash, kept.letter.digest, changed.get("round", 0), key("uni").public.fingerprint, body)


def _kept(holder: HolderFile) -> Any:
    from panbayes.consortium.agent.studies import Studies

    return Studies(holder).all()


def test_a_process_computes_promises_and_ends_when_it_is_let_go(tmp_path: Path) -> None:
    exchange = Exchange(tmp_path, rest="[time]\ngrid = 1\nrows_bound = 5000\n")
    exchange.approve()
    worker = Worker(exchange.holder)
    first, second = (list(worker.work(job(exchange))) for _ in range(2))
    assert [type(said) for said in first] == [type(said) for said in second] == [Taken, Promise, Done]
    assert isinstance(first[1], Promise)
    assert isinstance(second[1], Promise)
    assert first[1].seconds > second[1].seconds, "the records are at hand the second time"
    assert isinstance(first[2], Done)
    assert isinstance(second[2], Done)
    assert (first[2].became, second[2].became) == ("answered", "repeated")
    assert first[2].reply == second[2].reply
    number = worker.process
    assert number is not None
    assert worker.close() == 0
    assert worker.process is None
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


@soak
def test_a_process_that_waited_long_enough_ends_and_is_replaced(
    exchange: Exchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("panbayes.consortium.agent.worker._MODULE", "tests.consortium.agent.dying")
    monkeypatch.setenv("DYING", "by itself")
    monkeypatch.chdir(ROOT)
    exchange.approve()
    worker = Worker(exchange.holder)
    *_, first = worker.work(job(exchange))
    until(lambda: worker.process is None)
    *_, second = worker.work(job(exchange))
    until(lambda: worker.process is None)
    # It may end at the very moment it is asked: that it has ended is seen too late.
    seen = _Process.ended
    monkeypatch.setattr(_Process, "ended", lambda self: None if self.jobs.closed is False else seen(self))
    *_, third = worker.work(job(exchange))
    monkeypatch.setattr(_Process, "ended", seen)
    became = [said.became for said in (first, second, third) if isinstance(said, Done)]
    assert became == ["answered", "repeated", "repeated"]
    assert worker.close() == 0


def test_a_process_that_is_killed_is_replaced_and_one_that_is_asked_to_stop_goes_on(exchange: Exchange) -> None:
    exchange.approve()
    worker = Worker(exchange.holder)
    *_, done = worker.work(job(exchange))
    number = worker.process
    assert number is not None
    os.kill(number, signal.SIGTERM)
    time.sleep(0.3)
    assert worker.process == number, "it is not ended by who asks it to stop"
    os.kill(number, signal.SIGKILL)
    until(lambda: worker.process is None)
    *_, again = worker.work(job(exchange))
    assert isinstance(done, Done)
    assert isinstance(again, Done)
    assert (again.became, again.reply) == ("repeated", done.reply)
    worker.close()


@soak
def test_a_process_whose_agent_is_killed_ends_by_itself(exchange: Exchange) -> None:
    exchange.approve()
    stem = exchange.ask()
    with serving(exchange) as process:
        until(lambda: exchange.answer(stem))
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        assert len(children) == 1
        process.kill()
        process.wait()
        until(lambda: not Path(f"/proc/{children[0]}").exists(), seconds=20)
