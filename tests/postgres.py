"""A PostgreSQL server of this run alone, on loopback, where its programs are installed; started when asked for."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

import pytest

USER = "holder"
WORD = "s3cr3t-word"


def programs() -> Path | None:
    """Where initdb and pg_ctl are."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    on_path = shutil.which("initdb")
    return found[-1].parent if found else Path(on_path).parent if on_path else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class Postgres:
    """A server that is started once, and ended with :meth:`end`."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._folder: Path | None = None

    @property
    def folder(self) -> Path:
        """Where it keeps what it keeps."""
        assert self._folder is not None
        return self._folder

    def _as_somebody(self) -> list[str]:
        """The server does not run as root."""
        if os.getuid() != 0:
            return []
        known = {entry.pw_name: entry for entry in pwd.getpwall()}
        entry = known.get("postgres") or known["nobody"]
        return ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]

    @cached_property
    def port(self) -> int:
        """Start the server; return its port."""
        there = programs()
        if there is None:
            pytest.skip("PostgreSQL is not installed: its initdb was not found")
        self._folder = Path(tempfile.mkdtemp(prefix="panbayes-pg-"))
        before = self._as_somebody()
        if before:
            shutil.chown(self._folder, int(before[1].partition("=")[2]), int(before[2].partition("=")[2]))
        data = self._folder / "data"
        (self._folder / "word").write_text(WORD)
        (self._folder / "word").chmod(0o644)
        word = f"--pwfile={self._folder / 'word'}"
        how = ["-U", USER, "-A", "scram-sha-256", word, "--no-sync", "-E", "UTF8", "--locale=C"]
        self._run([*before, there / "initdb", "-D", data, *how])
        log = self._folder / "log"
        port = 0
        for left in (4, 3, 2, 1, 0):
            port = _free_port()
            options = f"-c listen_addresses=127.0.0.1 -p {port} -k {self._folder} -c fsync=off -c max_connections=40"
            try:
                self._run([*before, there / "pg_ctl", "-D", data, "-w", "-l", log, "-o", options, "start"])
                break
            except subprocess.CalledProcessError:
                if not left:  # Somebody else may have taken the port meanwhile, but hardly five times.
                    raise
        os.environ["PGPASSWORD"] = WORD
        return port

    @property
    def environment(self) -> dict[str, str]:
        """How programs of PostgreSQL find it."""
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": USER, "PGPASSWORD": WORD}

    def _run(self, command: list[str | Path]) -> None:
        folder = self._folder or Path.cwd()
        subprocess.run(
            command, check=True, cwd=folder, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, timeout=120
        )

    def address(self, table: str = "people", *, database: str = "postgres", more: str = "") -> str:
        """Return the address of a table."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{database}?table={quote(table)}{more}"

    def execute(self, *statements: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run statements; return what the last one gives."""
        import adbc_driver_postgresql.dbapi as driver

        uri = f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"
        found: list[tuple[object, ...]] = []
        with driver.connect(uri, autocommit=True) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            if statements[-1].lstrip().upper().startswith("SELECT"):
                found = cursor.fetchall()
        return found

    def restart(self) -> None:
        """Break off every connection."""
        self.execute("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    def end(self) -> None:
        """Stop the server, if it runs, and remove what it kept."""
        if self._folder is None:
            return
        there = programs()
        if there is not None and (self._folder / "data" / "postmaster.pid").exists():
            data = self._folder / "data"
            self._run([*self._as_somebody(), there / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"])
        os.environ.pop("PGPASSWORD", None)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None
        self.__dict__.pop("port", None)


POSTGRES = Postgres()
