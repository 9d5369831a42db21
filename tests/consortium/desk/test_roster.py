"""A roster says whose key is whose, and ssh-keygen reads it as we do."""

from __future__ import annotations

import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from panbayes.consortium.desk.roster import Roster
from panbayes.consortium.post.keys import PrivateKey, PublicKey
from panbayes.consortium.post.signatures import Namespace, sign
from panbayes.errors import InputError

NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)


def keys(count: int) -> list[PrivateKey]:
    return [PrivateKey.generate() for _ in range(count)]


def roster_of(**holders: PublicKey) -> Roster:
    roster = Roster()
    for name, key in holders.items():
        roster = roster.enroll(name, key, moment=NOW)
    return roster


def verified(folder: Path, roster: Roster, name: str, key: PrivateKey, namespace: Namespace, *more: str) -> bool:
    """Ask ssh-keygen whether a signature is the holder's."""
    roster.save(folder / "roster")
    (folder / "letter.sig").write_text(sign(key, namespace, b"a letter"))
    command = ["ssh-keygen", "-Y", "verify", "-f", "roster", "-I", name, "-n", namespace, "-s", "letter.sig", *more]
    return subprocess.run(command, cwd=folder, input=b"a letter", capture_output=True, check=False).returncode == 0


def test_a_roster_is_read_as_it_was_written_and_by_ssh_keygen(tmp_path: Path) -> None:
    north, south = keys(2)
    roster = roster_of(south=south.public, north=north.public)
    assert list(roster.holders(NOW).items()) == [("north", north.public), ("south", south.public)]
    roster.save(tmp_path / "roster")
    assert Roster.load(tmp_path / "roster") == roster
    assert verified(tmp_path, roster, "north", north, "panbayes-answer")
    assert verified(tmp_path, roster, "north", north, "panbayes-approval")
    assert not verified(tmp_path, roster, "north", north, "panbayes-question"), "a holder does not ask"
    assert not verified(tmp_path, roster, "north", south, "panbayes-answer")


def test_a_key_that_is_replaced_verifies_what_it_signed_before(tmp_path: Path) -> None:
    old, new = keys(2)
    roster = roster_of(north=old.public)
    with pytest.raises(
        InputError, match=f'NAME: holder "north" is enrolled with another key, {old.public.fingerprint[:9]}'
    ):
        roster.enroll("north", new.public, moment=LATER)
    rotated = roster.enroll("north", new.public, moment=LATER, instead=True)
    assert rotated.holders(NOW + timedelta(days=1)) == {"north": new.public}
    assert [one.key for one in rotated.of("north")] == [old.public, new.public]
    now, after = "-Overify-time=20261116120000Z", "-Overify-time=20261116140000Z"
    assert verified(tmp_path, rotated, "north", old, "panbayes-answer", now)
    assert not verified(tmp_path, rotated, "north", old, "panbayes-answer", after)
    assert verified(tmp_path, rotated, "north", new, "panbayes-answer", after)
    assert not verified(tmp_path, rotated, "north", new, "panbayes-answer", now)
    with pytest.raises(InputError, match='KEY: was the key of holder "north", and is no more'):
        rotated.enroll("north", old.public, moment=LATER + timedelta(hours=1), instead=True)
    # An end that was set before gives way to the earlier one.
    bounded = Roster.parse(roster.text.replace('request" ssh', 'request",valid-before="20300101" ssh'))
    assert bounded.holders(NOW) == {"north": old.public}
    again = bounded.enroll("north", new.public, moment=LATER, instead=True)
    assert again.text.count("valid-before") == 1
    assert verified(tmp_path, again, "north", old, "panbayes-answer", now)
    bare = Roster.parse(f"north {old.public.line}\n").enroll("north", new.public, moment=LATER, instead=True)
    assert verified(tmp_path, bare, "north", old, "panbayes-answer", now)
    assert not verified(tmp_path, bare, "north", old, "panbayes-answer", after)


def test_enrolling_the_same_again_changes_nothing() -> None:
    (north,) = keys(1)
    roster = roster_of(north=north.public)
    assert roster.enroll("north", north.public, moment=LATER) is roster


def test_names_and_keys_belong_to_one_holder() -> None:
    north, south = keys(2)
    roster = roster_of(north=north.public)
    for name in ("", "../north", "no rth", "-north", "x" * 41, "north.", "nörth", 'a"b', "a,b"):
        with pytest.raises(InputError, match="NAME: found the name"):
            roster.enroll(name, south.public, moment=NOW)
    with pytest.raises(InputError, match='NAME: found "North", and "north" is enrolled'):
        roster.enroll("North", south.public, moment=NOW)
    with pytest.raises(InputError, match='KEY: is the key of holder "north"'):
        roster.enroll("south", north.public, moment=NOW)
    touched = PublicKey("sk-ssh-ed25519@openssh.com", south.public.point, b"ssh:")
    with pytest.raises(InputError, match="KEY: is a key in a device"):
        roster.enroll("south", touched, moment=NOW)


def test_lines_about_others_stay_as_they_are(tmp_path: Path) -> None:
    north, south, other, ca = keys(4)
    odd = [
        "# holders of the study",
        "",
        f'git@example.org namespaces="git" {other.public.line}',
        f'somebody namespaces="git" {ca.public.line} not a holder',
        f"north,south {other.public.line}",
        f"*@example.org cert-authority {ca.public.line}",
        f"authority cert-authority {ca.public.line}",
        "west ssh-rsa AAAAB3NzaC1yc2E= old",
        "one word",
        f'  north   namespaces="panbayes-request,panbayes-answer"   {north.public.line}   its comment',
        f'"quoted name" {other.public.line}',
        'odd namespaces="x" ssh-ed25519',
        f"odd names'paces {other.public.line}",
    ]
    roster = Roster.parse("\n".join(odd))
    assert roster.holders(NOW) == {"north": north.public}
    more = roster.enroll("south", south.public, moment=NOW)
    assert more.lines[: len(odd)] == tuple(odd)
    assert more.text.endswith(f"{south.public.line}\n")
    more.save(tmp_path / "roster")
    assert Roster.load(tmp_path / "roster").holders(NOW) == {"north": north.public, "south": south.public}
    assert Roster.parse("") == Roster()


def test_a_roster_that_means_two_things_is_refused() -> None:
    north, south = keys(2)
    one, two = f"north {north.public.line}", f"north {south.public.line}"
    for text, message in (
        (f"{one}\nsouth {north.public.line}\n", "--roster, line 2: the same key stands on line 1"),
        (f"{one}\nNorth {south.public.line}\n", '--roster, line 2: "North" and "north" are too much alike'),
        (f"{one}\n{two}\n", '--roster, line 2: "north" has two keys at a time, the other on line 1'),
        (
            f'north valid-before="20270101Z" {north.public.line}\nnorth valid-after="20261231Z" {south.public.line}\n',
            '"north" has two keys at a time',
        ),
        ("north ssh-ed25519 AAAA\n", "--roster, line 1: is no Ed25519 public key"),
        (f'north valid-before="soon" {north.public.line}\n', '--roster, line 1: found the time "soon"'),
        (f'north valid-before="20261332" {north.public.line}\n', '--roster, line 1: found the time "20261332"'),
        (f"north. {north.public.line}\n", '--roster, line 1: found the name "north."'),
    ):
        with pytest.raises(InputError) as caught:
            Roster.parse(text)
        assert message in str(caught.value)
    apart = Roster.parse(
        f'north valid-before="202701010000Z" {north.public.line}\nnorth valid-after="20270101Z" {south.public.line}\n'
    )
    assert apart.holders(NOW) == {"north": north.public}
    assert apart.holders(NOW + timedelta(days=60)) == {"north": south.public}


def test_what_is_no_roster_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--roster: .*roster is not there; `panbayes analyst enroll"):
        Roster.load(tmp_path / "roster")
    assert Roster.load(tmp_path / "roster", may_be_absent=True) == Roster()
    with pytest.raises(InputError, match="is no file"):
        Roster.load(tmp_path, may_be_absent=True)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is no text"):
        Roster.load(tmp_path / "binary")
    (tmp_path / "large").write_bytes(b"#" * (4 * 2**20 + 1))
    with pytest.raises(InputError, match="is too large"):
        Roster.load(tmp_path / "large")


def test_times_without_a_zone_are_those_of_this_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """As ssh-keygen reads them."""
    (north,) = keys(1)
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "XYZ-9")
        time.tzset()
        roster = Roster.parse(f'north valid-before="20261116210000" {north.public.line}\n')
    time.tzset()
    assert roster.enrolled[0].before == NOW
