"""Silence is one silence: unapproved, declined, stopped, over and unknown cannot be told apart by what leaves.

Five copies of one holder, alike but for what its officer did, get the same question, over a folder and over a mailbox
of an analyst who writes down every byte that comes. A sixth, whose officer approved, shows that all would answer.
"""

from __future__ import annotations

import http.server
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from panbayes.consortium.post.requests import CHALLENGE, LETTER, SIGNATURE, one_line
from tests.effort import some
from tests.institutions.child import faulty
from tests.institutions.invariants import entries_of
from tests.institutions.parties import Consortium, Party, Terms, free_port, until

STATES = ("unapproved", "declined", "stopped", "over", "unknown")
LATER = str(3 * 365 * 86_400)
TERMS = Terms(lines='[about]\nuntil = "2028-01-01"\n')


@dataclass
class Scene:
    """The holders by what was decided, and the letter that all of them get."""

    box: Consortium
    holders: dict[str, Party]
    question: Path

    def folder(self, name: str, base: Path) -> Path:
        """Return a folder with nothing in it but the question."""
        post = base / f"post-{name}"
        (post / "to-north").mkdir(parents=True)
        for path in (self.question, self.question.with_name(f"{self.question.name}.sig")):
            shutil.copy(path, post / "to-north")
        return post


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    root = tmp_path_factory.mktemp("silence")
    box = Consortium.make(root / "box", names=("north", "south"), terms=TERMS)
    stem = box.propose()
    (study,), (question,) = ((box.post / "to-north").glob(f"*.{kind}") for kind in ("study", "question"))
    assert study.name.startswith(stem)
    holders = {}
    for state in (*STATES, "approved"):
        folder = root / state
        shutil.copytree(box.holders["north"].folder, folder)
        party = holders[state] = Party("north", folder)
        if state in ("stopped", "over", "approved"):
            party.done("holder", "approve", study, "--key", "officer.key", "--yes")
        if state == "unapproved":
            shutil.copytree(box.post, root / "studies", ignore=shutil.ignore_patterns("*.question*"))
            party.done("holder", "answer", root / "studies")
        if state == "declined":
            party.done("holder", "decline", study)
        if state == "stopped":
            party.done("holder", "stop", "box")
        if state == "over":
            (root / "clock").write_text(LATER)
            party.more = faulty(root / "later", clock=str(root / "clock"))
    yield Scene(box, holders, question)
    for party in holders.values():
        party.end()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return everything in a folder: names, and what files hold."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")
    }


def charged(party: Party) -> int:
    return sum(len(entries_of(path)) for path in (party.folder / "state" / "ledgers").glob("*.ledger"))


@pytest.mark.parametrize("state", STATES)
def test_nothing_comes_to_lie_in_a_folder(scene: Scene, state: str, tmp_path: Path) -> None:
    post = scene.folder(state, tmp_path)
    before = tree(post)
    done = scene.holders[state].run("holder", "answer", post)
    assert done.returncode == 0, done
    assert tree(post) == before
    assert charged(scene.holders[state]) == 0


class Mailbox(http.server.BaseHTTPRequestHandler):
    """An analyst's mailbox that has one question, and writes down everything that holders send."""

    protocol_version = "HTTP/1.1"
    requests: list[tuple[str, bytes]]
    question: bytes
    signature: str
    name: str

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.requests.append((self.path, body))
        if CHALLENGE not in self.headers:
            self._tell(401)
        elif self.path != "/poll":
            self._tell(204)
        elif self.name.encode() in body:
            time.sleep(0.2)
            self._tell(204)
        else:
            self.send_response(200)
            for name, value in (
                (LETTER, self.name),
                (SIGNATURE, one_line(self.signature)),
                ("content-length", str(len(self.question))),
            ):
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(self.question)

    def _tell(self, status: int) -> None:
        self.send_response(status)
        self.send_header("content-length", "0")
        self.send_header(CHALLENGE, "5d" * 32)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def mailbox(scene: Scene, port: int) -> Iterator[list[tuple[str, bytes]]]:
    requests: list[tuple[str, bytes]] = []
    signature = scene.question.with_name(f"{scene.question.name}.sig").read_text()
    facts = {
        "requests": requests,
        "question": scene.question.read_bytes(),
        "signature": signature,
        "name": f"north/{scene.question.name}",
    }
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), type("Mine", (Mailbox,), facts))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield requests
    finally:
        server.shutdown()
        server.server_close()


def sent(scene: Scene, state: str, *, turns: int) -> list[tuple[str, bytes]]:
    """Let a holder's agent ask the mailbox until so many different requests came one after another."""
    party, port = scene.holders[state], free_port()
    text = (party.folder / "holder.toml").read_text()
    old = text[text.index("[mailbox]") :]
    (party.folder / "holder.toml").write_text(
        text.replace(old, f'[mailbox]\nurl = "http://127.0.0.1:{port}"\npoll = 1\n')
    )
    with mailbox(scene, port) as requests:
        running = party.start("holder", "serve")

        def changes() -> list[tuple[str, bytes]]:
            every = requests[:]
            return [one for place, one in enumerate(every) if not place or every[place - 1] != one]

        until(lambda: len(changes()) >= turns, f"{state}: {turns} requests came\n{running.said}")
        found = changes()[:turns]
        running.kill()
    return found


@pytest.fixture(scope="module")
def of_unapproved(scene: Scene) -> list[tuple[str, bytes]]:
    return sent(scene, "unapproved", turns=6)


@pytest.mark.parametrize("state", some(STATES[1:], 1))
def test_a_mailbox_sees_the_same_requests(scene: Scene, state: str, of_unapproved: list[tuple[str, bytes]]) -> None:
    found = sent(scene, state, turns=6)
    assert {path for path, _ in found} == {"/poll"}
    assert found == of_unapproved
    assert charged(scene.holders[state]) == 0


def test_an_approved_one_would_answer(scene: Scene, tmp_path: Path) -> None:
    post = scene.folder("approved", tmp_path)
    scene.holders["approved"].done("holder", "answer", post)
    assert len(list((post / "from-north").glob("*.answer"))) == 1
    assert charged(scene.holders["approved"]) == 1
