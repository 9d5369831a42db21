"""Keys lie in OpenSSH's files, for their owners only, and never get lost or overwritten."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from panbayes.consortium.post.keys import TOUCHED, PrivateKey, PublicKey
from panbayes.consortium.post.word_list import WORDS
from panbayes.consortium.post.words import words_of
from panbayes.errors import InputError
from panbayes.files import check_output

LINE = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdOb/3hKN73oElk4+hmMeY3nIgj"


def test_a_key_is_written_for_its_owner_only_and_read_again(tmp_path: Path) -> None:
    key = PrivateKey.generate()
    secret, public = key.save(tmp_path / "north", comment="north", argument="NAME")
    assert (secret.name, public.name) == ("north.key", "north.pub")
    assert secret.stat().st_mode & 0o777 == 0o600
    assert PrivateKey.load(secret, argument="--key").public == PublicKey.load(public, argument="KEY") == key.public
    assert PrivateKey.load(secret, argument="--key").sign(b"x") == key.sign(b"x")
    assert public.read_text() == f"{key.public.line} north\n"


@pytest.mark.parametrize("there", ["north.key", "north.pub"])
def test_no_key_is_written_over_another(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine")
    with pytest.raises(InputError, match="is there already"):
        PrivateKey.generate().save(tmp_path / "north", comment="", argument="NAME")
    assert [path.name for path in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text() == "mine"


def test_no_output_replaces_a_private_key(tmp_path: Path) -> None:
    secret, _ = PrivateKey.generate().save(tmp_path / "north", comment="", argument="NAME")
    with pytest.raises(InputError, match="a private key"):
        check_output(secret)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_private_key_that_others_may_read_is_refused(tmp_path: Path, mode: int) -> None:
    secret, _ = PrivateKey.generate().save(tmp_path / "north", comment="", argument="NAME")
    secret.chmod(mode)
    with pytest.raises(InputError, match="may be read by others"):
        PrivateKey.load(secret, argument="--key")


def test_a_key_shows_nothing_of_its_secret() -> None:
    key = PrivateKey.generate()
    assert key.seed().hex() not in f"{key!r} {vars(key)} {key.public!r}"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-ed25519 AAAA",
        LINE.replace("ssh-ed25519", "ssh-rsa"),
        f"{LINE}AAAA",
        LINE[:-4],
        LINE.replace(" ", ""),
        f"{TOUCHED} {LINE.split()[1]}",
        "ssh-ed25519 \N{GREEK SMALL LETTER ALPHA}AAA",
    ],
)
def test_what_is_no_public_key_is_refused_by_name(line: str) -> None:
    with pytest.raises(InputError, match="analysts, north: is no Ed25519 public key"):
        PublicKey.parse(line, argument="analysts, north")


def test_a_private_key_in_the_place_of_a_public_one_is_told_so(tmp_path: Path) -> None:
    secret, _ = PrivateKey.generate().save(tmp_path / "north", comment="", argument="NAME")
    with pytest.raises(InputError, match="it never leaves its owner"):
        PublicKey.load(secret, argument="KEY")


def test_a_line_is_read_and_written_and_its_comment_does_not_matter() -> None:
    key = PublicKey.parse(f"{LINE} north@clinic", argument="KEY")
    assert key.line == LINE
    assert key == PublicKey.parse(LINE, argument="KEY")
    assert key.fingerprint == "SHA256:ZlR7lexeLHmeNvkyAMaV/yyX4guiNxdSdGz+xD8F2X8"


@pytest.mark.parametrize("what", ["absent", "folder", "fifo", "large", "nothing", "garbage"])
def test_files_that_hold_no_key_are_refused_in_one_line(tmp_path: Path, what: str) -> None:
    path = tmp_path / "key"
    match what:
        case "folder":
            path.mkdir()
        case "fifo":
            os.mkfifo(path, 0o600)
        case "large":
            path.write_bytes(b"-" * 100_000)
        case "nothing":
            path.touch()
        case "garbage":
            path.write_bytes(os.urandom(1000))
        case _:
            pass
    if what not in ("absent", "folder"):
        path.chmod(0o600)
    with pytest.raises(InputError, match="--key: ") as raised:
        PrivateKey.load(path, argument="--key")
    assert "\n" not in str(raised.value)


def test_the_words_of_a_key_are_the_same_for_ever_and_say_the_whole_key() -> None:
    key = PublicKey.parse(LINE, argument="KEY")
    assert words_of(key) == "puppet yonder estuary skyline"
    assert words_of(key) != words_of(PrivateKey.generate().public)


def test_no_two_words_are_one_letter_apart() -> None:
    assert len(set(WORDS)) == len(WORDS) == 1024
    assert all(word.isascii() and word.islower() and word.isalpha() and len(word) > 2 for word in WORDS)
    shortened = {(word[:place] + word[place + 1 :], place) for word in WORDS for place in range(len(word))}
    assert len(shortened) >= sum(map(len, WORDS)) - sum(
        word[place] == word[place - 1] for word in WORDS for place in range(1, len(word))
    )
    for word in WORDS:
        assert not {word[:place] + word[place + 1 :] for place in range(len(word))} & set(WORDS)
