"""Signatures are OpenSSH's, both ways, and nothing else passes for one."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panbayes.consortium.post.keys import PLAIN, TOUCHED, PrivateKey, PublicKey
from panbayes.consortium.post.signatures import sign, sign_digest, signer, verify, verify_digest
from panbayes.consortium.post.wire import string

SSH_KEYGEN = shutil.which("ssh-keygen")
needs_ssh_keygen = pytest.mark.skipif(SSH_KEYGEN is None, reason="ssh-keygen is not installed (package openssh-client)")

KEY = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(range(32))))
OTHER = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
DATA = b"how many?\n"


def _blob(signature: str) -> bytes:
    return base64.b64decode("".join(signature.strip().split("\n")[1:-1]))


def _armour(blob: bytes) -> str:
    return f"-----BEGIN SSH SIGNATURE-----\n{base64.b64encode(blob).decode()}\n-----END SSH SIGNATURE-----\n"


def _ssh_verifies(folder: Path, key: PublicKey, namespace: str, data: bytes, signature: str) -> bool:
    (folder / "roster").write_text(f"north {key.line}\n")
    (folder / "sig").write_text(signature)
    command = [SSH_KEYGEN or "", "-Y", "verify", "-f", str(folder / "roster"), "-I", "north", "-n", namespace]
    done = subprocess.run([*command, "-s", str(folder / "sig")], input=data, capture_output=True, check=False)
    return done.returncode == 0


@needs_ssh_keygen
def test_ssh_keygen_verifies_what_is_signed_here_and_refuses_what_is_not(tmp_path: Path) -> None:
    signature = sign(KEY, "panbayes-answer", DATA)
    assert _ssh_verifies(tmp_path, KEY.public, "panbayes-answer", DATA, signature)
    assert not _ssh_verifies(tmp_path, KEY.public, "panbayes-question", DATA, signature)
    assert not _ssh_verifies(tmp_path, OTHER.public, "panbayes-answer", DATA, signature)
    assert not _ssh_verifies(tmp_path, KEY.public, "panbayes-answer", DATA + b" ", signature)


@needs_ssh_keygen
def test_what_ssh_keygen_signs_is_verified_here_and_is_the_same_text(tmp_path: Path) -> None:
    secret, _ = KEY.save(tmp_path / "north", comment="north", argument="NAME")
    (tmp_path / "data").write_bytes(DATA)
    command = [SSH_KEYGEN or "", "-Y", "sign", "-f", str(secret), "-n", "panbayes-approval", str(tmp_path / "data")]
    subprocess.run(command, check=True, capture_output=True)
    found = (tmp_path / "data.sig").read_text()
    assert found == sign(KEY, "panbayes-approval", DATA)
    assert verify(KEY.public, "panbayes-approval", DATA, found)


@needs_ssh_keygen
def test_keys_that_ssh_keygen_made_sign_here(tmp_path: Path) -> None:
    path = tmp_path / "officer"
    command = [SSH_KEYGEN or "", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True, capture_output=True)
    key = PrivateKey.load(path, argument="--key")
    assert key.public == PublicKey.load(path.with_suffix(".pub"), argument="KEY")
    shown = subprocess.run([SSH_KEYGEN or "", "-lf", path], check=True, capture_output=True, text=True).stdout
    assert key.public.fingerprint in shown
    assert verify(key.public, "panbayes-study", DATA, sign(key, "panbayes-study", DATA))


def test_a_signature_is_the_same_for_ever() -> None:
    assert hashlib.sha256(sign(KEY, "panbayes-answer", DATA).encode()).hexdigest() == (
        "d1b153ec60daed5e731519cc18aad7f98a8394b3f3cc19af2531843cc5a6d18b"
    )


def test_a_signature_of_the_digest_is_that_of_the_file() -> None:
    digest = hashlib.sha512(DATA).digest()
    signature = sign(KEY, "panbayes-answer", DATA)
    assert sign_digest(KEY, "panbayes-answer", digest) == signature
    assert verify_digest(KEY.public, "panbayes-answer", digest, signature)
    assert not verify_digest(KEY.public, "panbayes-answer", digest[::-1], signature)
    assert not verify_digest(KEY.public, "panbayes-study", digest, signature)


def test_a_signature_is_for_one_key_one_namespace_and_one_file() -> None:
    signature = sign(KEY, "panbayes-answer", DATA)
    assert verify(KEY.public, "panbayes-answer", DATA, signature)
    assert not verify(OTHER.public, "panbayes-answer", DATA, signature)
    assert not verify(KEY.public, "panbayes-question", DATA, signature)
    assert not verify(KEY.public, "panbayes-answer", DATA[:-1], signature)
    assert signer(signature) == KEY.public


def test_no_bit_of_a_signature_can_be_another() -> None:
    blob = _blob(sign(KEY, "panbayes-answer", DATA))
    for place in range(len(blob) * 8):
        changed = bytearray(blob)
        changed[place // 8] ^= 1 << place % 8
        assert not verify(KEY.public, "panbayes-answer", DATA, _armour(bytes(changed))), place
    for length in range(len(blob)):
        assert not verify(KEY.public, "panbayes-answer", DATA, _armour(blob[:length])), length
    assert not verify(KEY.public, "panbayes-answer", DATA, _armour(blob + b"\0"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no",
        "-----BEGIN SSH SIGNATURE-----",
        _armour(b""),
        _armour(b"SSHSIG"),
        _armour(b"SSHSIG").replace("U1NI", "U1Né"),
        "é" * 9,
    ],
)
def test_what_is_no_signature_is_none(text: str) -> None:
    assert not verify(KEY.public, "panbayes-answer", DATA, text)
    assert signer(text) is None


def test_a_signature_of_any_length_is_looked_at_no_further_than_one_can_be_long() -> None:
    signature = sign(KEY, "panbayes-answer", DATA)
    assert not verify(KEY.public, "panbayes-answer", DATA, signature + "\n" * 10_000)


def _touched(flags: int, *, namespace: bytes = b"panbayes-approval") -> tuple[PublicKey, str]:
    """Sign as a hardware key does: over the application, the flags, a counter and the hash of what is signed."""
    secret = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    key = PublicKey(TOUCHED, secret.public_key().public_bytes_raw(), b"ssh:")
    digest = hashlib.sha512(DATA).digest()
    signed = b"SSHSIG" + string(namespace) + string(b"") + string(b"sha512") + string(digest)
    state = bytes([flags]) + (7).to_bytes(4, "big")
    proof = secret.sign(hashlib.sha256(b"ssh:").digest() + state + hashlib.sha256(signed).digest())
    blob = (
        b"SSHSIG\0\0\0\1"
        + string(key.blob)
        + string(namespace)
        + string(b"")
        + string(b"sha512")
        + string(string(TOUCHED.encode()) + string(proof) + state)
    )
    return key, _armour(blob)


def test_a_hardware_key_must_have_been_touched() -> None:
    key, signature = _touched(1)
    assert verify(key, "panbayes-approval", DATA, signature)
    assert not verify(key, "panbayes-answer", DATA, signature)
    key, signature = _touched(0)
    assert not verify(key, "panbayes-approval", DATA, signature)
    key, signature = _touched(5)
    assert verify(key, "panbayes-approval", DATA, signature)


@needs_ssh_keygen
def test_ssh_keygen_takes_the_same_hardware_signatures(tmp_path: Path) -> None:
    for flags in (1, 5):
        key, signature = _touched(flags)
        assert _ssh_verifies(tmp_path, key, "panbayes-approval", DATA, signature)


def test_a_hardware_key_is_not_the_same_point_in_a_file() -> None:
    key, signature = _touched(1)
    assert not verify(PublicKey(PLAIN, key.point), "panbayes-approval", DATA, signature)
    plain = sign(KEY, "panbayes-approval", DATA)
    assert not verify(key, "panbayes-approval", DATA, plain)
