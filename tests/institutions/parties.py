"""A consortium in a box: holders and an analyst, each with keys and a folder of its own, and real processes.

Keys, tables, ``holder.toml`` and the roster are written as a person would leave them. From there on everything happens
by the command ``panbayes`` and by files: in a process of its own where a test may end it, in this process where it only
prepares (:mod:`tests.running`).

Parties may carry faults of their own making: :attr:`Party.more` goes into the environment of what it runs, and
:mod:`tests.institutions.child` says which variables change a child.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

from panbayes.consortium.post.keys import PrivateKey
from tests.conftest import ROOT
from tests.running import default_signals, environment, run_here

__all__ = ["Consortium", "Party", "Running", "Terms", "free_port", "key_of", "until"]

SCHEMA = """version = 1
name = "clinic"
status = "approved"

[[attributes]]
name = "age"
bins = [0, 40, 65, 120]

[[attributes]]
name = "smokes"
categories = ["no", "yes"]

[[attributes]]
name = "diagnosis"
categories = ["heart", "lung", "other"]

[[attributes]]
name = "readmitted"
categories = ["no", "yes"]
"""

PYTHON = [sys.executable, "-m", "panbayes"]
LIMIT = 120.0
"""Seconds after which something that should have happened has not."""


@cache
def key_of(_name: str) -> PrivateKey:
    """Return the key of somebody; the same for all consortia of this process, whose words are then known."""
    return PrivateKey.generate()


def free_port() -> int:
    """Return a port that nobody listens at now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def until(happened: Callable[[], object], what: str, *, limit: float = LIMIT) -> None:
    """Wait until something has happened."""
    end = time.monotonic() + limit
    while not happened():
        assert time.monotonic() < end, f"not within {limit:.0f} seconds: {what}"
        time.sleep(0.02)


@dataclass
class Running:
    """A process that goes on, in a group of its own; what it says is in the file ``log``."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def until_said(self, words: str, *, limit: float = LIMIT) -> None:
        """Wait until it has said something, or has ended."""
        until(lambda: words in self.said or not self.alive, f"it says {words!r}\n{self.said}", limit=limit)
        assert self.alive, self.said

    def children(self) -> list[int]:
        """Return the processes that it has started and that are still there."""
        with suppress(OSError):
            text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
            return [int(number) for number in text.split()]
        return []

    def kill(self, *, all_of_it: bool = True) -> None:
        """End it as a power cut would: with everything that it started, or alone."""
        with suppress(ProcessLookupError):
            if all_of_it:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        self.process.wait()

    def kill_children(self) -> int:
        """End what it has started, and not itself; return how many processes that were."""
        found = self.children()
        for number in found:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        return len(found)

    def stop(self) -> int:
        """Ask it to stop, and return its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(LIMIT)
        finally:
            self.kill()

    def wait(self, limit: float = LIMIT) -> int:
        """Wait for its end; return its exit code."""
        return self.process.wait(limit)


@dataclass
class Party:
    """An institution: a name, a folder and its processes."""

    name: str
    folder: Path
    more: dict[str, str] = field(default_factory=dict)
    running: list[Running] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        found = environment(self.folder, self.more)
        paths = [self.more.get("PYTHONPATH", ""), str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        return {**found, "PYTHONPATH": os.pathsep.join(filter(None, paths))}

    def here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run the command in this process."""
        return run_here(*map(str, arguments), folder=self.folder, more=self.more)

    def done(self, *arguments: str | Path, code: int = 0) -> str:
        """Run the command in this process, see that it ends with this code, and return what it said."""
        found = self.here(*arguments)
        assert found.returncode == code, f"{self.name}: {' '.join(map(str, arguments))}: {found.returncode}: {found}"
        return found.stdout

    def run(self, *arguments: str | Path, limit: float = LIMIT) -> subprocess.CompletedProcess[str]:
        """Run the command in a process of its own, to its end."""
        return subprocess.run(
            [*PYTHON, *map(str, arguments)],
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=limit,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def start(self, *arguments: str | Path, log: str = "log", before: Sequence[str] = ()) -> Running:
        """Start the command, with the words ``before`` it."""
        path = self.folder.parent / f"{self.name}.{log}"
        with path.open("ab") as file:
            process = subprocess.Popen(
                [*before, *PYTHON, *map(str, arguments)],
                cwd=self.folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                start_new_session=True,
                preexec_fn=default_signals,
            )
        self.running.append(Running(process, path))
        return self.running[-1]

    def end(self) -> None:
        """End everything that it has running."""
        for one in self.running:
            one.kill()
        self.running.clear()


@dataclass(frozen=True)
class Terms:
    """What a consortium of a test agrees on, and how its holders are set up."""

    strategy: str = "noisy-majority-voting"
    epsilon: float = 2.0
    lines: str = ""
    """Further lines of the study."""
    cap: float = 3.0
    records: int = 300
    grid: float = 0.0
    holder_lines: str = ""
    """Further lines at the beginning of every ``holder.toml``."""
    schema: str = SCHEMA

    def study(self, name: str = "box") -> str:
        return (
            f'version = 1\nname = "{name}"\nschema = "clinic.toml"\nstrategy = "{self.strategy}"\n'
            f"epsilon = {self.epsilon}\n{self.lines}"
        )


def table(seed: int, records: int) -> str:
    """Return a made-up table of patients, as CSV."""
    rng = np.random.default_rng(seed)
    lines = ["age,smokes,diagnosis,readmitted"]
    for _ in range(records):
        age, smokes = int(rng.integers(18, 95)), bool(rng.random() < 0.3)
        diagnosis = rng.choice(["heart", "lung", "other"], p=[0.2, 0.6, 0.2] if smokes else [0.3, 0.1, 0.6])
        back = rng.random() < 0.05 + 0.3 * (age > 65) + 0.3 * (diagnosis == "lung")
        lines.append(f"{age},{'yes' if smokes else 'no'},{diagnosis},{'yes' if back else 'no'}")
    return "\n".join((*lines, ""))


@dataclass
class Consortium:
    """An analyst and its holders in folders under ``root``; at ``port`` holders look for the mailbox."""

    root: Path
    analyst: Party
    holders: dict[str, Party]
    terms: Terms
    port: int

    @classmethod
    def make(
        cls,
        root: Path,
        *,
        names: Sequence[str] = ("north", "south"),
        terms: Terms | None = None,
        port: int | None = None,
        url: str = "https://localhost:{port}",
        tables: Mapping[str, str] | None = None,
    ) -> Consortium:
        """Write what everybody has before anything has been asked; at ``port`` holders look for the mailbox."""
        terms, port = terms or Terms(), port or free_port()
        root.mkdir(parents=True, exist_ok=True)
        analyst = Party("analyst", root / "analyst")
        analyst.folder.mkdir()
        save(analyst.folder, "analyst")
        (analyst.folder / "post").mkdir()
        (analyst.folder / "clinic.toml").write_text(terms.schema)
        (analyst.folder / "study.toml").write_text(terms.study())
        holders = {}
        for number, name in enumerate(names):
            folder = root / name
            folder.mkdir()
            save(folder, name)
            save(folder, "officer", of=f"officer of {name}")
            held = (tables or {}).get(name) or table(number + 1, terms.records - 30 * (number % 5))
            (folder / "patients.csv").write_text(held)
            (folder / "holder.toml").write_text(holder_file(name, terms, url.format(port=port)))
            holders[name] = Party(name, folder)
        (analyst.folder / "roster").write_text(
            "".join(f'{name} namespaces="{NAMESPACES}" {key_of(name).public.line}\n' for name in names)
        )
        return cls(root, analyst, holders, terms, port)

    @property
    def post(self) -> Path:
        """The folder that the analyst's letters lie in."""
        return self.analyst.folder / "post"

    def study_file(self, name: str, terms: Terms) -> str:
        """Write a further study; return its file's name."""
        (self.analyst.folder / f"{name}.toml").write_text(terms.study(name))
        return f"{name}.toml"

    def learning(
        self, *more: str, study: str = "study.toml", post: str = "post", output: str = "model.json"
    ) -> list[str]:
        """Return the words of the analyst's command."""
        return ["analyst", "learn", study, "--post", post, "-o", output, "--state", "state", *more]

    def propose(self, study: str = "study.toml", *more: str) -> str:
        """Let the analyst propose a study; return how the names of its letters begin."""
        before = set(self.post.glob("to-*/*.study"))
        self.analyst.done(*self.learning(*more, study=study), code=6)
        found = set(self.post.glob("to-*/*.study")) - before
        (stem,) = {path.stem for path in found}
        return stem.partition("-")[0]

    def approve(self, stem: str, *names: str) -> None:
        """Let officers approve a study, by the letter that lies in the analyst's folder."""
        for name in names or self.holders:
            (letter,) = self.post.glob(f"to-{name}/{stem}-*.study")
            self.holders[name].done("holder", "approve", letter, "--key", "officer.key", "--yes")

    def certificate(self) -> None:
        """Make the mailbox's certificate, and give it to the holders."""
        self.analyst.done("analyst", "certificate", "localhost", "127.0.0.1", "-o", "mailbox")
        for holder in self.holders.values():
            shutil.copy(self.analyst.folder / "mailbox.pem", holder.folder)

    def serving(self, port: int | None = None, *, tls: bool = True, host: str = "127.0.0.1") -> list[str]:
        """Return the words of the command that serves the mailbox."""
        words = ["analyst", "serve", "--post", "post", "--host", host, "--port", str(port or self.port)]
        return [*words, *([] if tls else ["--insecure-loopback"])]

    def ledger(self, name: str) -> Path:
        """Return the file of a holder's ledger."""
        (found,) = (self.holders[name].folder / "state" / "ledgers").glob("*.ledger")
        return found

    def end(self) -> None:
        """End every process."""
        for party in (self.analyst, *self.holders.values()):
            party.end()


NAMESPACES = "panbayes-answer,panbayes-approval,panbayes-request"


def save(folder: Path, name: str, *, of: str | None = None) -> None:
    """Write a pair of keys."""
    key_of(of or name).save(folder / name, comment=name, argument="NAME")


def holder_file(name: str, terms: Terms, url: str) -> str:
    """Return the text of a holder's file."""
    ca = 'ca = "mailbox.pem"\n' if url.startswith("https") else ""
    return (
        f'version = 1\nname = "{name}"\nkey = "{name}.key"\ncap = {terms.cap}\nstate = "state"\n{terms.holder_lines}'
        f'\n[source]\nfile = "patients.csv"\n'
        f'\n[officers]\nofficer = "{key_of(f"officer of {name}").public.line}"\n'
        f'\n[analysts]\nanalyst = "{key_of("analyst").public.line}"\n'
        f"\n[time]\ngrid = {terms.grid}\nrows_bound = 10000\n"
        f'\n[mailbox]\nurl = "{url}"\n{ca}poll = 5\n'
    )
