"""Reading the letter that proposes a study: by whom it may come, and what it may hold.

A letter has arrived if an analyst of ``holder.toml`` signed it, it is addressed to this holder's key, and it holds a
study that can be read. Its texts are another institution's, so nothing in them can make this machine open a file or
take memory without bound: the schema comes as a text beside the study's, whatever path the study gives for it; a
mapping must stand in the schema itself; texts, names and the values of all attributes together are bounded.

What has not arrived is told by a :class:`NotArrivedError`, whose ``what`` is the ledger's word for such strangers. Its
message is for the holder's eyes: to whoever sent the letter nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.sections import Person
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.post.bodies import StudyBody, decode_study
from panbayes.consortium.post.keys import PublicKey
from panbayes.consortium.post.letters import LIMITS, Header, Letter, LetterError, Signed
from panbayes.errors import ExitCode, InputError, PanbayesError
from panbayes.schema.attribute import Attribute
from panbayes.schema.declaration import build
from panbayes.schema.schema import Schema
from panbayes.schema.toml_reader import Document

__all__ = ["MAX_TEXT", "MAX_VALUES", "NotArrivedError", "ProposedStudy", "read_study_letter"]

MAX_TEXT: Final = 4_000_000
"""Characters of a study or a schema at most, as in files."""

MAX_VALUES: Final = 2**20
"""Values of all attributes together at most."""

MAX_NAME: Final = 100
"""Characters of a study's name at most."""

NotArrived: TypeAlias = Literal["unreadable", "unsigned", "unknown", "misaddressed"]


class NotArrivedError(PanbayesError):
    """A letter that counts as if it had not come; ``what`` says why, in the ledger's word."""

    exit_code = ExitCode.INPUT

    def __init__(self, what: NotArrived, text: str) -> None:
        """Remember the word."""
        self.what = what
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class ProposedStudy:
    """A study that an analyst proposes, with the letter that it came in.

    ``analyst`` is who asks, as ``holder.toml`` names them; ``called`` is what the letter calls this holder.
    """

    letter: Signed
    header: Header
    body: StudyBody
    study: Study
    analyst: Person
    called: str

    @property
    def others(self) -> tuple[str, ...]:
        """The other holders, as the letter names them."""
        return tuple(name for name in self.body.holders if name != self.called)


def read_study_letter(letter: Signed, holder: HolderFile) -> ProposedStudy:
    """Read a letter that proposes a study; raise a :class:`NotArrivedError` for any other."""
    header, data, analyst = _open(letter, holder)
    try:
        body = decode_study(data)
        if PublicKey.parse(body.analyst, argument="analyst") != analyst.key:
            raise _unreadable("it names another analyst than the one who signed it")
        called = _called(body, holder)
        study = _study(body)
    except (LetterError, InputError) as error:
        raise _unreadable(str(error)) from None
    if study.hash != header.study:
        raise _unreadable("it names another study than the one that it holds")
    return ProposedStudy(letter, header, body, study, analyst, called)


def _open(letter: Signed, holder: HolderFile) -> tuple[Header, bytes, Person]:
    """Check who signed and for whom, before anything else of a letter is looked at."""
    if len(letter.data) > LIMITS["study"]:
        raise _unreadable("it is too long")
    try:
        opened = Letter.decode(letter.data)
    except LetterError as error:
        raise _unreadable(str(error)) from None
    header = opened.header
    analyst = holder.analyst(header.analyst)
    if analyst is None:
        raise NotArrivedError("unknown", "a letter is of an analyst whose key is not in your file")
    if letter.open(analyst.key, "study") is None:
        raise NotArrivedError("unsigned", f"a letter is not signed by {analyst.name} as a study")
    if header.holder != holder.public.fingerprint:
        raise NotArrivedError("misaddressed", f"a letter of {analyst.name} is addressed to another holder")
    if header.round or header.sequence or header.sealed:
        raise _unreadable("its header is not that of a study")
    return header, opened.body, analyst


def _called(body: StudyBody, holder: HolderFile) -> str:
    """Return this holder's name among those that take part; each key and each name is there once."""
    keys = {name: PublicKey.parse(line, argument="holders") for name, line in body.holders.items()}
    if len(set(keys.values())) < len(keys) or len({name.casefold() for name in keys}) < len(keys):
        raise _unreadable("it has a holder twice")
    found = next((name for name, key in keys.items() if key == holder.public), None)
    if found is None:
        raise _unreadable("this holder is not among those that take part")
    return found


def _study(body: StudyBody) -> Study:
    """Read the study from its texts, which can name no file."""
    if max(len(body.study), len(body.schema)) > MAX_TEXT:
        raise _unreadable(f"a text in it has more than {MAX_TEXT:,} characters")
    _check_values(body.schema)
    study = Study.parse(body.study, schema=Schema.parse(body.schema, source="schema"), source="study")
    if not study.private:
        raise _unreadable("its study asks for all records without privacy")
    if len(study.name) > MAX_NAME or not study.name.isprintable():
        raise _unreadable(f"the name of its study is longer than {MAX_NAME} characters, or cannot be seen")
    return study


def _check_values(schema: str) -> None:
    """Refuse a schema of more values than anybody needs; short writings of bins and periods can make many."""
    document = Document.parse(schema, source="schema").root()
    values = 0
    for section in document.sections("attributes") if document.has("attributes") else ():
        values += build(section, Attribute).size
        if values > MAX_VALUES:
            raise _unreadable(f"the attributes of its schema have more than {MAX_VALUES:,} values together")


def _unreadable(text: str) -> NotArrivedError:
    return NotArrivedError("unreadable", text)
