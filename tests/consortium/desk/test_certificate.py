"""Certificates of a mailbox: made, read, renewed, refused."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from panbayes.consortium.desk.certificate import (
    Certificate,
    fingerprint_of,
    host_of,
    make_certificate,
    save_certificate,
)
from panbayes.errors import InputError

NOW = datetime(2026, 11, 1, tzinfo=UTC)


def save(folder: Path, name: str, *hosts: str) -> tuple[Path, Path]:
    return save_certificate(folder / name, *make_certificate(hosts, days=30, now=NOW), argument="--output")


def test_openssl_reads_what_is_made(tmp_path: Path) -> None:
    public, private = save(tmp_path, "mailbox", "Analyst.Example", "192.0.2.7", "2001:db8::7")
    text = subprocess.run(
        ["openssl", "x509", "-in", public, "-noout", "-text", "-fingerprint", "-sha256"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "DNS:analyst.example, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7" in text
    assert "Not Before: Oct 31 23:00:00 2026 GMT" in text
    assert "Not After : Dec  1 00:00:00 2026 GMT" in text
    assert fingerprint_of(public.read_bytes()) in text
    assert public.stat().st_mode & 0o777 == 0o644
    assert private.stat().st_mode & 0o777 == 0o600


def test_it_is_for_its_hosts_alone(tmp_path: Path) -> None:
    certificate = Certificate(*save(tmp_path, "mailbox", "analyst.example", "*.wild.example", "127.0.0.1", "::1"))
    for host in ("analyst.example", "ANALYST.example:8443", "a.wild.example", "127.0.0.1:1", "[::1]:8443", "[::1]"):
        assert certificate.is_for(host)
    for host in ("example", "a.analyst.example", "wild.example", "a.b.wild.example", "127.0.0.2", "", "*", "[::2]"):
        assert not certificate.is_for(host)
    assert certificate.context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert host_of("analyst.example.:8443") == "analyst.example"


@pytest.mark.parametrize("host", ["", "a" * 64 + ".example", "a..b"])
def test_a_host_that_is_none_is_refused(host: str) -> None:
    with pytest.raises(InputError, match="HOST: "):
        make_certificate([host], days=1, now=NOW)


def test_files_that_are_there_stay(tmp_path: Path) -> None:
    public, private = save(tmp_path, "mailbox", "localhost")
    before = public.read_bytes(), private.read_bytes()
    with pytest.raises(InputError, match=r"--output: .* is there already"):
        save(tmp_path, "mailbox", "localhost")
    assert (public.read_bytes(), private.read_bytes()) == before


def test_what_is_no_certificate_or_not_its_key_is_refused_by_name(tmp_path: Path) -> None:
    public, private = save(tmp_path, "one", "localhost")
    _, other = save(tmp_path, "two", "localhost")
    (tmp_path / "nothing").write_text("nothing")
    for certificate, key, found in (
        (tmp_path / "absent", private, "--certificate: "),
        (tmp_path / "nothing", private, "--certificate: "),
        (tmp_path, private, "--certificate: "),
        (private, private, "--certificate: "),
        (public, tmp_path / "absent", "--certificate-key: "),
        (public, tmp_path / "nothing", "--certificate-key: "),
        (public, other, "--certificate-key: "),
        (public, public, "--certificate-key: "),
    ):
        with pytest.raises(InputError, match=found):
            Certificate(certificate, key)


def test_a_certificate_that_changes_is_read_again_and_a_broken_one_is_not(tmp_path: Path) -> None:
    public, private = save(tmp_path, "mailbox", "old.example")
    certificate, said = Certificate(public, private), list[str]()
    certificate.renew(said.append)
    assert said == []
    new = make_certificate(["new.example"], days=30, now=NOW)
    public.write_bytes(new[1])
    certificate.renew(said.append)
    assert "the last one stays" in said[0]
    assert certificate.is_for("old.example")
    private.write_bytes(new[0])
    certificate.renew(said.append)
    assert said[1] == "the certificate has changed"
    assert certificate.is_for("new.example")
    assert not certificate.is_for("old.example")
