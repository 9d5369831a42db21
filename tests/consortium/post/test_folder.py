"""A letter has arrived when it and its signature lie there whole; whatever else a folder holds is nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from panbayes.consortium.post.folder import Folder, check_name
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.letters import LIMITS, Header, Letter, Signed, stem_of
from panbayes.errors import InputError

KEY = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))
HEADER = Header("question", "1f" * 32, KEY.public.fingerprint, KEY.public.fingerprint, 0, 1)
LETTER = Letter(HEADER, b"body").signed_by(KEY)
STEM = stem_of(HEADER)


def _put(folder: Path) -> Folder:
    post = Folder.at(folder)
    post.put("to", "north", HEADER, LETTER)
    return post


def test_a_letter_lies_under_its_holder_with_its_signature(tmp_path: Path) -> None:
    post = _put(tmp_path)
    assert sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")) == [
        "to-north",
        f"to-north/{STEM}.question",
        f"to-north/{STEM}.question.sig",
    ]
    assert post.get("to", "north", STEM, "question") == LETTER
    assert post.has("to", "north", STEM, "question")
    assert (post.names("to"), post.names("from")) == (["north"], [])
    assert (post.stems("to", "north", "question"), post.stems("to", "north", "answer")) == ([STEM], [])


@pytest.mark.parametrize("gone", ["", ".sig"])
def test_a_letter_without_its_signature_has_not_arrived(tmp_path: Path, gone: str) -> None:
    post = _put(tmp_path)
    (tmp_path / "to-north" / f"{STEM}.question{gone}").unlink()
    assert post.get("to", "north", STEM, "question") is None
    assert not post.has("to", "north", STEM, "question")


@pytest.mark.parametrize("suffix", ["", ".sig"])
@pytest.mark.parametrize("what", ["link", "fifo", "folder", "large"])
def test_what_is_no_plain_file_has_not_arrived(tmp_path: Path, what: str, suffix: str) -> None:
    post = _put(tmp_path)
    path = tmp_path / "to-north" / f"{STEM}.question{suffix}"
    kept = path.rename(tmp_path / "elsewhere")
    match what:
        case "link":
            path.symlink_to(kept)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.touch()
            os.truncate(path, LIMITS["question"] + 1)
    assert post.get("to", "north", STEM, "question") is None


def test_only_names_of_letters_are_looked_at(tmp_path: Path) -> None:
    post = _put(tmp_path)
    for name in ("x.question", f".{STEM}.question", f"{STEM}.question.1.tmp", f"{STEM.upper()}.question", f"{STEM}~"):
        (tmp_path / "to-north" / name).write_bytes(b"")
    for name in ("to-..", "to-", "to-a b", "to-é", "towards", f"to-{'n' * 41}"):
        (tmp_path / name).mkdir()
    assert post.stems("to", "north", "question") == [STEM]
    assert post.names("to") == ["north"]


def test_no_letter_is_written_where_a_link_leads(tmp_path: Path) -> None:
    """Whoever may write into the folder must not make somebody else's process write elsewhere."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "to-north").symlink_to("outside")
    post = Folder.at(tmp_path)
    assert post.names("to") == []
    with pytest.raises(InputError, match="cannot be written"):
        post.put("to", "north", HEADER, LETTER)
    assert list((tmp_path / "outside").iterdir()) == []


def test_letters_come_in_order(tmp_path: Path) -> None:
    post = Folder.at(tmp_path)
    headers = [replace(HEADER, sequence=number) for number in (10, 2, 1)]
    for header in headers:
        post.put("to", "north", header, Letter(header, b"").signed_by(KEY))
    assert post.stems("to", "north", "question") == [stem_of(header) for header in reversed(headers)]


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a b", "-a", "é", "a" * 41, "a\n", "north."])
def test_names_that_no_folder_could_hold_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="NAME: found the name"):
        check_name(name, argument="NAME")


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--post: .*is no folder"):
        Folder.at(tmp_path / "no")
    assert Folder.at(tmp_path / "new", make=True).names("to") == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "to-north").write_text("in the way")
    with pytest.raises(InputError, match=r"--post: .*cannot be written"):
        _put(tmp_path)


_WRITER = """
import os, signal, sys
from pathlib import Path
from panbayes.consortium.post import folder as module
from tests.consortium.post.test_folder import _put
count, stop = 0, int(sys.argv[2])
def dying(real):
    def called(*given, **named):
        global count
        if count == stop:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        return real(*given, **named)
    return called
Path.mkdir, os.replace, os.fdopen = dying(Path.mkdir), dying(os.replace), dying(os.fdopen)
_put(Path(sys.argv[1]))
"""


@pytest.mark.parametrize("stop", range(5))
def test_a_writer_that_is_killed_leaves_a_whole_letter_or_none(tmp_path: Path, stop: int) -> None:
    done = subprocess.run([sys.executable, "-c", _WRITER, tmp_path, str(stop)], check=False)
    assert done.returncode == -signal.SIGKILL
    post = Folder.at(tmp_path)
    assert post.get("to", "north", STEM, "question") is None
    assert _put(tmp_path).get("to", "north", STEM, "question") == LETTER


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    """Whoever else may write to a folder could point any name in it at what only its victim may write."""
    post, elsewhere = Folder.at(tmp_path / "post", make=True), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (post.path / "to-north").symlink_to(elsewhere)
    with pytest.raises(InputError, match="cannot be written"):
        post.put("to", "north", HEADER, LETTER)
    assert list(elsewhere.iterdir()) == []
    (post.path / "to-north").unlink()
    (post.path / "to-north").mkdir()
    kept = elsewhere / "kept"
    kept.write_bytes(b"kept")
    for suffix in ("", ".sig"):
        (post.path / "to-north" / f"{STEM}.question{suffix}").symlink_to(kept)
        (post.path / "to-north" / f".{STEM}.question{suffix}.{os.getpid()}.tmp").hardlink_to(kept)
    post.put("to", "north", HEADER, LETTER)
    assert kept.read_bytes() == b"kept"
    assert post.get("to", "north", STEM, "question") == LETTER


def test_the_signature_of_another_letter_does_not_make_one_arrive(tmp_path: Path) -> None:
    post = _put(tmp_path)
    other = Letter(HEADER, b"other").signed_by(KEY)
    (tmp_path / "to-north" / f"{STEM}.question").write_bytes(other.data)
    found = post.get("to", "north", STEM, "question")
    assert found == Signed(other.data, LETTER.signature)
    assert found.open(KEY.public, "question") is None
