"""A mailbox in a process of its own, with its folder, roster, certificate and holders."""

from __future__ import annotations

import hashlib
import os
import re
import resource
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from panbayes.consortium.agent.mailbox import MailboxCarrier
from panbayes.consortium.desk.certificate import make_certificate, save_certificate
from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.folder import Folder
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import Header, Kind, Letter, Signed

STUDY = hashlib.sha256(b"a study").hexdigest()
SERVE = "from panbayes.cli.main import run; run()"


@dataclass
class Site:
    """An analyst's folder, keys and mailbox."""

    path: Path
    analyst: PrivateKey = field(default_factory=PrivateKey.generate)
    holders: dict[str, PrivateKey] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    port: int = 0
    tls: bool = True
    files: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        self.folder = Folder.at(self.path / "letters", make=True)
        self.log = self.path / "log"
        self.certificate, self.certificate_key = save_certificate(
            self.path / "mailbox",
            *make_certificate(["localhost", "127.0.0.1"], days=30, now=datetime.now(UTC)),
            argument="-o",
        )
        for name in ("north", "south", "west"):
            self.enroll(name)

    def enroll(self, name: str) -> PrivateKey:
        self.holders[name] = PrivateKey.generate()
        roster = Roster.load(self.path / "roster", may_be_absent=True)
        key = self.holders[name].public
        roster.enroll(name, key, moment=datetime.now(UTC), instead=True).save(self.path / "roster")
        return self.holders[name]

    def start(self, *more: str) -> None:
        self.log.touch()
        before = self.log.read_text().count("serving ")
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-c", SERVE, "analyst", "serve", "--post", str(self.folder.path)),
                    *("--roster", str(self.path / "roster"), "--host", "127.0.0.1", "--port", str(self.port)),
                    *(self._tls() if self.tls else ["--insecure-loopback"]),
                    *more,
                ],
                stderr=log,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PANBAYES_DEBUG": "1"},
                preexec_fn=self._limit,
            )
        until = time.monotonic() + 60
        while self.log.read_text().count("serving ") == before or not self.log.read_text().endswith("\n"):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until
            time.sleep(0.02)
        self.port = int(re.findall(r", port (\d+)", self.log.read_text())[-1])

    def _limit(self) -> None:
        if self.files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, self.files)

    def _tls(self) -> list[str]:
        return ["--certificate", str(self.certificate), "--certificate-key", str(self.certificate_key)]

    def stop(self, number: int = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(30)

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://localhost:{self.port}"

    def carrier(self, name: str, *, key: PrivateKey | None = None, url: str | None = None) -> MailboxCarrier:
        return MailboxCarrier(url or self.url, key or self.holders[name], ca=self.certificate if self.tls else None)

    def connect(self) -> socket.socket:
        """Connect as a stranger, who need not check the certificate."""
        plain = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        if not self.tls:
            return plain
        context = ssl.create_default_context(cafile=self.certificate)
        return context.wrap_socket(plain, server_hostname="localhost")

    def say(self, data: bytes) -> bytes:
        """Send bytes on a connection of their own and return whatever comes back."""
        with self.connect() as connection:
            connection.sendall(data)
            told = b""
            try:
                while piece := connection.recv(65_536):
                    told += piece
            except (ConnectionError, ssl.SSLError):
                pass
            return told

    def ask(self, name: str, sequence: int, body: bytes = b"question", *, kind: Kind = "question") -> Signed:
        """Put a letter to a holder into the folder."""
        header = Header(
            kind, STUDY, self.analyst.public.fingerprint, self.holders[name].public.fingerprint, sequence, sequence
        )
        letter = Letter(header, body).signed_by(self.analyst)
        self.folder.put("to", name, header, letter)
        return letter

    def reply(
        self, name: str, question: Signed, body: bytes = b"answer", *, key: PrivateKey | None = None
    ) -> tuple[Header, Signed]:
        """Return a holder's reply to a letter."""
        asked = Letter.decode(question.data).header
        header = Header(
            "answer" if asked.kind == "question" else "approval",
            asked.study,
            asked.analyst,
            asked.holder,
            asked.round,
            asked.sequence,
            question.digest,
        )
        return header, Letter(header, body).signed_by(key or self.holders[name])

    def memory(self, what: str = "VmRSS") -> int:
        """Return the memory of the server in bytes."""
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.findall(rf"{what}:\s+(\d+) kB", status)[0]) * 1024

    def processor(self) -> float:
        """Return the seconds of a processor that the server has used."""
        assert self.process is not None
        used = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(used[11]) + int(used[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def site(*, tls: bool = True, more: Sequence[str] = (), files: tuple[int, int] | None = None) -> Iterator[Site]:
    """Start a mailbox; end it, whatever happens."""
    with tempfile.TemporaryDirectory(prefix="mailbox-") as path:
        made = Site(Path(path), tls=tls, files=files)
        made.start(*more)
        try:
            yield made
        finally:
            if made.process is not None and made.process.poll() is None:
                made.process.kill()
                made.process.wait()


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment for a while."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
