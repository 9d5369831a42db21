"""Certificates of a mailbox: one that it signs itself, for analysts without an authority, and what one is for.

A self-signed certificate is given to every holder (``ca`` in its ``holder.toml``) on the way that keys are compared;
then it is as good as one of an authority, and better than one of an authority that others can make use of.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from panbayes.errors import InputError
from panbayes.files import new_file, writing

__all__ = ["MOST_DAYS", "Certificate", "fingerprint_of", "host_of", "make_certificate", "save_certificate"]

MOST_DAYS: Final = 825
"""Days that a certificate may be valid: some programs take none that is valid for longer."""

_MAX_BYTES: Final = 2**20


def make_certificate(hosts: Sequence[str], *, days: int, now: datetime) -> tuple[bytes, bytes]:
    """Make a key and a certificate for names and addresses, signed by itself; return both as PEM, the key first."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "panbayes mailbox")])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_alternative(host) for host in hosts]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return secret, certificate.public_bytes(serialization.Encoding.PEM)


def save_certificate(path: Path, secret: bytes, certificate: bytes, *, argument: str) -> tuple[Path, Path]:
    """Write ``PATH.pem`` and, for its owner's eyes, ``PATH.key``; neither may be there."""
    public, private = path.with_name(f"{path.name}.pem"), path.with_name(f"{path.name}.key")
    for file in (private, public):
        if os.path.lexists(file):
            raise InputError(argument, found=f"{file} is there already", remedy="give another name, or move it away")
    for file, content in ((private, secret), (public, certificate)):
        with writing(file, argument=argument), new_file(file) as temporary:
            temporary.write_bytes(content)
    public.chmod(0o644)
    return public, private


def fingerprint_of(certificate: bytes) -> str:
    """Return the SHA-256 of a certificate in PEM, as ``openssl x509 -fingerprint -sha256`` shows it."""
    return x509.load_pem_x509_certificate(certificate).fingerprint(hashes.SHA256()).hex(":").upper()


class Certificate:
    """The files of a certificate and its key, and the TLS that they make."""

    def __init__(self, certificate: Path, key: Path) -> None:
        """Read them, or refuse them by name."""
        self._files = certificate, key
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self.context.options |= ssl.OP_NO_RENEGOTIATION
        self.context.set_alpn_protocols(["http/1.1"])
        self._state = self._stat()
        self._names = self._load()

    def is_for(self, host: str) -> bool:
        """Tell whether it is a certificate for a host, given as in a URL, also with a port."""
        name = host_of(host)
        return name in self._names or f"*.{name.partition('.')[2]}" in self._names

    def renew(self, say: Callable[[str], None]) -> None:
        """Read the files again if they have changed; what cannot be read leaves what could."""
        state = self._stat()
        if state == self._state:
            return
        self._state = state
        try:
            self._names = self._load()
            say("the certificate has changed")
        except InputError as error:
            say(f"the certificate has changed and cannot be read, the last one stays: {error}")

    def _stat(self) -> tuple[tuple[int, int, int] | None, ...]:
        return tuple(_state(file) for file in self._files)

    def _load(self) -> frozenset[str]:
        certificate, key = self._files
        try:
            with certificate.open("rb") as file:
                found = x509.load_pem_x509_certificate(file.read(_MAX_BYTES))
            names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        except (OSError, ValueError, x509.ExtensionNotFound) as error:
            raise InputError(
                "--certificate",
                found=f"{certificate} is no certificate with names of hosts ({_reason(error)})",
                remedy="give a PEM file, the server's certificate first; `panbayes analyst certificate HOST` makes one",
            ) from None
        try:
            # A context that was refused half-way would have another certificate than key.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password=_none)
            self.context.load_cert_chain(certificate, key, password=_none)
        except (OSError, ValueError) as error:
            raise InputError(
                "--certificate-key",
                found=f"{key} is not the key of {certificate} ({_reason(error)})",
                remedy="give the private key in PEM, without a password, that belongs to the certificate",
            ) from None
        return frozenset(
            [*map(str.lower, names.get_values_for_type(x509.DNSName))]
            + [str(address) for address in names.get_values_for_type(x509.IPAddress)]
        )


def host_of(authority: str) -> str:
    """Return the name or address in the authority of a URL, in one writing.

    >>> host_of("Analyst.Example:8443"), host_of("[::1]:8443"), host_of("127.0.0.1")
    ('analyst.example', '::1', '127.0.0.1')
    """
    if authority.startswith("["):
        return authority[1:].partition("]")[0].lower()
    return authority.partition(":")[0].lower().removesuffix(".")


def _alternative(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    try:
        name = host.encode("idna").decode().lower()
    except UnicodeError:
        name = ""
    if not re.fullmatch(r"(?:\*\.)?[a-z0-9_-]+(?:\.[a-z0-9_-]+)*", name):
        raise InputError(
            "HOST", found=f'"{host}" is no name of a host', remedy="give a name such as analyst.example, or an address"
        )
    return x509.DNSName(name)


def _none() -> str:
    """Give no password, rather than ask for one at the keyboard."""
    return ""


def _reason(error: Exception) -> str:
    told = error.strerror if isinstance(error, OSError) else None
    return (told or type(error).__name__).lower()


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size
