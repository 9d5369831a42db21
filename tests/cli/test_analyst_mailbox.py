"""``panbayes analyst serve`` and ``certificate``: what they make, say and refuse."""

from __future__ import annotations

import importlib.util
import json
import socket
from pathlib import Path

import pytest

from panbayes.consortium.desk.certificate import Certificate
from tests.conftest import Panbayes


@pytest.fixture
def ready(panbayes: Panbayes, tmp_path: Path) -> Panbayes:
    """A command line with a roster and a certificate beside it."""
    (tmp_path / "roster").write_text("# nobody yet\n")
    assert panbayes("analyst", "certificate", "localhost").returncode == 0
    return panbayes


TLS = ("--certificate", "mailbox.pem", "--certificate-key", "mailbox.key")


def test_a_certificate_is_made_for_its_hosts(panbayes: Panbayes, tmp_path: Path) -> None:
    done = panbayes("analyst", "certificate", "analyst.example", "192.0.2.7", "-o", "ours", "--days", "30")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].startswith("ours.pem: for analyst.example, 192.0.2.7, until 20")
    assert done.stdout.splitlines()[1] == "ours.key: stays with the server"
    certificate = Certificate(tmp_path / "ours.pem", tmp_path / "ours.key")
    assert certificate.is_for("analyst.example:8443")
    assert certificate.is_for("192.0.2.7")
    assert (tmp_path / "ours.key").stat().st_mode & 0o777 == 0o600
    again = panbayes("analyst", "certificate", "analyst.example", "-o", "ours")
    assert again.returncode == 2
    assert again.stderr == "error: --output: ours.key is there already; give another name, or move it away\n"
    told = json.loads(panbayes("analyst", "certificate", "localhost", "--json").stdout)
    assert (told["certificate"], told["key"], told["hosts"]) == ("mailbox.pem", "mailbox.key", ["localhost"])
    assert len(told["sha256"]) == 95


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--certificate", "absent.pem"), "--certificate: absent.pem is no certificate"),
        (("--certificate-key", "absent.key"), "--certificate-key: absent.key is not the key of mailbox.pem"),
        ((*TLS, "--insecure-loopback"), "--insecure-loopback: is given with a certificate"),
        (("--insecure-loopback", "--host", "192.0.2.7"), "--host: 192.0.2.7 can be reached by others"),
        (("--insecure-loopback", "--host", "localhost.example"), "--host: localhost.example can be reached by others"),
        ((*TLS, "--host", "192.0.2.7"), "--host: cannot listen at 192.0.2.7, port 8443"),
        ((*TLS, "--host", "no such host"), "--host: cannot listen at no such host, port 8443"),
        ((*TLS[:3], "mailbox.pem"), "--certificate-key: mailbox.pem is not the key of mailbox.pem"),
        ((*TLS, "--roster", "absent", "--port", "0"), "--roster: absent is not there"),
        ((*TLS, "--post", "roster"), "--post: roster"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_line(ready: Panbayes, arguments: tuple[str, ...], told: str) -> None:
    done = ready("analyst", "serve", "--post", "letters", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {told}")
    assert "; " in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken_is_named(ready: Panbayes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = ready("analyst", "serve", "--post", "letters", "--insecure-loopback", "--port", port)
    assert done.returncode == 2
    assert f"--host: cannot listen at 127.0.0.1, port {port} (address already in use)" in done.stderr


def test_without_the_packages_that_serve_it_says_how_to_get_them(
    ready: Panbayes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    done = ready("analyst", "serve", "--post", "letters", *TLS)
    assert (done.returncode, done.stdout) == (2, "")
    assert "starlette and uvicorn are not installed; run: pip install 'panbayes[serve]'" in done.stderr
