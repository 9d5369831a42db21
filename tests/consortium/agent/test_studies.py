"""Letters that propose studies: who may send them, and what hostile ones get."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from panbayes.consortium.agent import studies, study_letters
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.studies import Studies, read_letter_file
from panbayes.consortium.agent.study_letters import NotArrivedError, read_study_letter
from panbayes.consortium.post.bodies import encode
from panbayes.consortium.post.letters import Header, Letter, Signed
from panbayes.errors import InputError
from tests.consortium.agent.houses import SCHEMA, STUDY, House, key, letter, study_body, study_of


@pytest.fixture
def holder(tmp_path: Path) -> HolderFile:
    return House(tmp_path).write()


def test_a_letter_of_an_analyst_to_this_holder_arrives(holder: HolderFile) -> None:
    found = read_study_letter(letter(), holder)
    assert found.study.name == "three clinics"
    assert found.study.hash == found.header.study == study_of(study_body()).hash
    assert found.analyst.name == "uni"
    assert found.called == "north"
    assert found.others == ("south", "west")


def test_a_holder_is_known_by_its_key_and_not_by_its_name(holder: HolderFile) -> None:
    lines = {"first": key("north").public.line, "north": key("south").public.line}
    found = read_study_letter(letter(study_body(holders=lines)), holder)
    assert (found.called, found.others) == ("first", ("north",))


def _flipped(given: Signed) -> Signed:
    return Signed(given.data[:-3] + b" }\n", given.signature)


def _other_kind() -> Signed:
    header = Header("question", "00" * 32, key("uni").public.fingerprint, key("north").public.fingerprint, 0, 0)
    return Letter(header, encode(study_body())).signed_by(key("uni"))


HOSTILE: dict[str, tuple[str, str, Callable[[], Signed]]] = {
    "no letter": ("unreadable", "begin as a letter", lambda: Signed(b"hello", letter().signature)),
    "empty": ("unreadable", "begin as a letter", lambda: Signed(b"", "")),
    "of an analyst that nobody knows": ("unknown", "not in your file", lambda: letter(by="mallory")),
    "of an officer": ("unknown", "not in your file", lambda: letter(by="mary")),
    "changed": ("unsigned", "not signed by uni", lambda: _flipped(letter())),
    "without a signature": ("unsigned", "not signed by uni", lambda: replace(letter(), signature="")),
    "signed by another": (
        "unsigned",
        "not signed by uni",
        lambda: replace(letter(), signature=letter(by="mallory").signature),
    ),
    "a question": ("unsigned", "as a study", _other_kind),
    "to another holder": ("misaddressed", "another holder", lambda: letter(to="south")),
    "with a sequence": ("unreadable", "header", lambda: letter(sequence=1)),
    "with a round": ("unreadable", "header", lambda: letter(round=1)),
    "sealed": ("unreadable", "header", lambda: letter(sealed=True)),
    "no study": ("unreadable", "not what its kind says", lambda: letter(b"{}")),
    "a study in another writing": (
        "unreadable",
        "one writing",
        lambda: letter(encode(study_body()) + b"\n", study=study_of(study_body()).hash),
    ),
    "another analyst's": (
        "unreadable",
        "another analyst",
        lambda: letter(study_body(by="mallory"), study=study_of(study_body()).hash),
    ),
    "without this holder": ("unreadable", "not among", lambda: letter(study_body(holders=("south", "west")))),
    "with a holder twice": (
        "unreadable",
        "twice",
        lambda: letter(study_body(holders={"north": key("north").public.line, "also": key("north").public.line})),
    ),
    "with a name twice": (
        "unreadable",
        "twice",
        lambda: letter(study_body(holders={"north": key("north").public.line, "NORTH": key("south").public.line})),
    ),
    "about another study": ("unreadable", "another study", lambda: letter(study="ab" * 32)),
    "a study that is none": (
        "unreadable",
        "epsilon",
        lambda: letter(study_body(STUDY.replace("epsilon = 1", "epsilon = 0")), study="0" * 64),
    ),
    "a study of an unknown key": (
        "unreadable",
        "not a known key",
        lambda: letter(study_body(STUDY + "run = 'rm'\n"), study="0" * 64),
    ),
    "a study without privacy": (
        "unreadable",
        "without privacy",
        lambda: letter(study_body(STUDY + 'strategy = "non-private"\n')),
    ),
    "a schema that is none": (
        "unreadable",
        "TOML",
        lambda: letter(study_body(schema="status = "), study=study_of(study_body()).hash),
    ),
    "a schema without attributes": (
        "unreadable",
        "attributes",
        lambda: letter(study_body(schema='version = 1\nname = "x"\nstatus = "approved"\n'), study="0" * 64),
    ),
    "a name that moves the cursor": (
        "unreadable",
        "cannot be seen",
        lambda: letter(study_body(STUDY.replace("three clinics", r"ok\u001b[2J"))),
    ),
    "a name that turns the text around": (
        "unreadable",
        "cannot be seen",
        lambda: letter(study_body(STUDY.replace("three clinics", r"ok\u202eko"))),
    ),
    "a name without end": (
        "unreadable",
        "longer than",
        lambda: letter(study_body(STUDY.replace("three clinics", "x" * 101))),
    ),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_any_other_letter_has_not_arrived(holder: HolderFile, case: str) -> None:
    what, words, make = HOSTILE[case]
    with pytest.raises(NotArrivedError) as caught:
        Studies(holder).keep(make())
    assert caught.value.what == what
    assert words in str(caught.value)
    assert Studies(holder).all() == []
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("part", ["study", "schema"])
def test_texts_are_bounded(holder: HolderFile, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study_letters, "MAX_TEXT", 400)
    long = {"study": STUDY, "schema": SCHEMA}
    read_study_letter(letter(study_body(**long)), holder)
    long[part] += "#" * (401 - len(long[part]))
    with pytest.raises(NotArrivedError, match="more than 400 characters"):
        read_study_letter(letter(study_body(**long)), holder)


@pytest.mark.parametrize(
    "domain", ["bins = {from = 0, to = 65535, width = 1}", 'period = "day"\nbetween = ["1900-01-01", "2079-01-01"]']
)
def test_a_few_characters_cannot_make_values_without_end(
    holder: HolderFile, domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two thousand of them would take minutes and gigabytes; of seventeen are looked at, here three.
    assert study_letters.MAX_VALUES == 2**20
    monkeypatch.setattr(study_letters, "MAX_VALUES", 2**17)
    many = SCHEMA + "".join(f'[[attributes]]\nname = "a{n}"\n{domain}\n' for n in range(2000))
    with pytest.raises(NotArrivedError, match="131,072 values"):
        read_study_letter(letter(study_body(schema=many), study="0" * 64), holder)


def test_no_text_can_name_a_file_of_the_holder(holder: HolderFile, tmp_path: Path) -> None:
    """The schema comes with the letter whatever path the study gives; a mapping must stand in the schema."""
    (tmp_path / "groups.csv").write_text("value,group\nE10,diabetes\n")
    for path in ("/etc/passwd", "../../secret.toml", str(tmp_path / "groups.csv"), "\\u0000"):
        body = study_body(STUDY.replace("clinic.toml", path))
        assert read_study_letter(letter(body), holder).study.schema.names == ("smokes", "age")
    for path in ("groups.csv", str(tmp_path / "groups.csv"), "../groups.csv", "/etc/passwd.csv"):
        mapped = SCHEMA + f'[[attributes]]\nname = "code"\nmapping = "{path}"\n'
        with pytest.raises(NotArrivedError, match="only a schema that is a file itself can name one"):
            read_study_letter(letter(study_body(schema=mapped), study="0" * 64), holder)


def test_reading_a_letter_opens_no_file(holder: HolderFile, monkeypatch: pytest.MonkeyPatch) -> None:
    assert holder.public == key("north").public  # it is read now
    given = letter(study_body(STUDY.replace("clinic.toml", "/etc/hosts")))

    def refuse(*_arguments: object, **_options: object) -> object:
        raise AssertionError("a file was opened")

    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", refuse)
        patched.setattr(Path, "read_bytes", refuse)
        patched.setattr("builtins.open", refuse)
        patched.setattr(os, "open", refuse)
        assert read_study_letter(given, holder).study.name == "three clinics"


def test_letters_are_kept_once_and_for_the_holder_alone(holder: HolderFile) -> None:
    kept = Studies(holder)
    first = kept.keep(letter())
    assert kept.keep(letter()) == first
    (only,) = kept.all()
    assert only.proposed == first
    folder = holder.state_folder / "post" / "studies"
    modes = {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {0o600}
    above = (holder.state_folder, holder.state_folder / "post", folder)
    assert {stat.S_IMODE(path.stat().st_mode) for path in above} == {0o700}


def test_a_new_letter_about_the_same_study_is_another_and_comes_first(holder: HolderFile) -> None:
    kept = Studies(holder)
    first = kept.keep(letter())
    folder = holder.state_folder / "post" / "studies"
    for path in folder.iterdir():
        os.utime(path, (1e9, 1e9))
    second = kept.keep(letter(study_body(holders=("north", "south"))))
    assert [one.proposed for one in kept.all()] == [second, first]
    assert [one.proposed for one in kept.of(first.study.hash)] == [second, first]
    assert kept.of("ab" * 32) == []
    assert kept.find("three clinics").proposed == second
    assert kept.find(first.study.hash[:8]).proposed == second
    assert kept.all()[1].time.year == 2001


def test_a_study_is_found_by_one_name_only(holder: HolderFile) -> None:
    kept = Studies(holder)
    kept.keep(letter())
    kept.keep(letter(study_body(STUDY.replace("= 1\n", "= 0.5\n").replace("version = 0.5", "version = 1"))))
    for text, words in (("three clinics", "more than one"), ("four clinics", "no study"), ("0", "no study")):
        with pytest.raises(InputError, match=words):
            kept.find(text)


def test_no_name_can_hide_another_study_from_who_gives_its_hash(holder: HolderFile) -> None:
    """Else who asks could keep an officer from stopping a study."""
    meant = Studies(holder).keep(letter()).study
    for digits in (8, 12, 20, 64):
        Studies(holder).keep(letter(study_body(STUDY.replace("three clinics", meant.hash[:digits]))))
    Studies(holder).keep(letter(study_body(STUDY.replace("epsilon = 1", "epsilon = 0.5"))))
    for digits in (8, 12, 20, 64):
        assert Studies(holder).find(meant.hash[:digits]).proposed.study == meant
    with pytest.raises(InputError, match=f"the one that is meant: .*{meant.hash}"):
        Studies(holder).find(meant.name)


def test_a_name_may_look_like_a_path(holder: HolderFile) -> None:
    kept = Studies(holder)
    found = kept.keep(letter(study_body(STUDY.replace("three clinics", "north/south.study"))))
    assert kept.find("north/south.study").proposed == found


def test_a_study_is_found_by_the_file_of_its_letter(holder: HolderFile, tmp_path: Path) -> None:
    given = letter()
    file = tmp_path / "x.study"
    file.write_bytes(given.data)
    with pytest.raises(InputError, match="signature beside it"):
        Studies(holder).find(str(file))
    file.with_name("x.study.sig").write_text(given.signature)
    assert Studies(holder).find(str(file)).proposed.letter == given == read_letter_file(file, argument="STUDY")
    assert len(Studies(holder).all()) == 1
    file.with_name("x.study.sig").write_text("x" * 5000)
    with pytest.raises(InputError, match="too large"):
        Studies(holder).find(str(file))


def test_a_letter_whose_analyst_is_taken_out_of_the_file_is_gone(tmp_path: Path) -> None:
    house = House(tmp_path)
    Studies(house.write()).keep(letter())
    assert Studies(house.write(analysts={})).all() == []
    assert len(Studies(house.write()).all()) == 1


def test_a_letter_that_was_changed_on_disk_is_gone(holder: HolderFile) -> None:
    kept = Studies(holder)
    kept.keep(letter())
    (file,) = (holder.state_folder / "post" / "studies").glob("*.study")
    file.write_bytes(file.read_bytes() + b" ")
    assert kept.all() == []


@pytest.mark.parametrize(("limit", "value"), [("MAX_LETTERS", 2), ("MAX_BYTES", 2500)])
def test_what_is_kept_is_bounded(holder: HolderFile, limit: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, limit, value)
    kept = Studies(holder)
    letters = [letter(study_body(STUDY.replace("three", f"{number}"))) for number in range(3)]
    assert 2 * len(letters[0].data) < 2500 < 3 * len(letters[0].data)
    for one in letters[:2]:
        kept.keep(one)
    with pytest.raises(NotArrivedError, match="full"):
        kept.keep(letters[2])
    assert kept.keep(letters[0]).study.name == "0 clinics"
    assert len(kept.all()) == 2


def test_one_analyst_keeps_no_other_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(studies, "MAX_LETTERS", 1)
    analysts = {name: key(name).public.line for name in ("uni", "lab")}
    kept = Studies(House(tmp_path).write(analysts=analysts))
    kept.keep(letter())
    with pytest.raises(NotArrivedError, match="full"):
        kept.keep(letter(study_body(STUDY.replace("three", "four"))))
    assert kept.keep(letter(study_body(by="lab"), by="lab")).analyst.name == "lab"
