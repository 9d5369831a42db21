"""The parts of a holder's file: people and their keys, the cap, where records lie, when answers leave, the mailbox."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from panbayes.consortium.post.folder import check_name
from panbayes.consortium.post.keys import PublicKey
from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.loss import Loss
from panbayes.privacy.losses import parse_loss
from panbayes.schema import kinds
from panbayes.schema.declaration import Key, Kind
from panbayes.schema.toml_reader import Section, show
from panbayes.schema.toml_writer import toml_list, toml_value
from panbayes.tables.sources.address import OMOP, Address, is_address
from panbayes.tables.sources.file import File

__all__ = ["EVERY_SECOND", "MailboxAddress", "Person", "Source", "SourceKind", "TimeRules", "limit", "people"]

MOST_GRID: Final = 3600
MOST_POLL: Final = 300
MOST_ROWS: Final = 2**40

SourceKind: TypeAlias = Literal["table", "omop"]

_KEY_EXAMPLE: Final = '"ssh-ed25519 AAAA…"'


@dataclass(frozen=True, slots=True)
class Person:
    """An officer or an analyst: a name, and the key that signs under it."""

    name: str
    key: PublicKey


def people(who: str) -> Kind[tuple[Person, ...]]:
    """Take a table of names, each with a public key or the path of a ``.pub`` file."""
    words = f"a table with a line {who} = {_KEY_EXAMPLE}, or the path of a .pub file, for each"

    def read(section: Section, key: str) -> tuple[Person, ...]:
        table = section.section(key)
        found: list[Person] = []
        for name in table.names():
            text = table.text(name, expected=_KEY_EXAMPLE)
            try:
                check_name(name, argument=name)
                found.append(Person(name, _public_key(text, section, argument=name)))
            except InputError as error:
                raise table.error(name, found=error.found, remedy=error.remedy) from None
        return tuple(found)

    return Kind(words, read)


def _public_key(text: str, section: Section, *, argument: str) -> PublicKey:
    if not text.endswith(".pub") or " " in text:
        return PublicKey.parse(text, argument=argument)
    if section.document.folder is None:
        raise InputError(argument, found=f"found the file {text}", remedy="give the key itself")
    return PublicKey.load(section.document.folder / check_path(text, argument=argument), argument=argument)


def limit() -> Kind[Loss]:
    """Take a cap: a number is ε, a text names another class of privacy."""
    words = 'ε such as 3, or a text such as "rho=0.05"'

    def read(section: Section, key: str) -> Loss:
        value = section.value(key, expected=words)
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise section.error(key, found=f"found {show(value)}", remedy=f"give {words}")
        try:
            return parse_loss(value if isinstance(value, str) else repr(value), argument=key)
        except InputError as error:
            raise section.error(key, found=error.found, remedy=f"give {words}") from None

    return Kind(words, read, _cap_text)


def _cap_text(cap: Loss) -> str:
    amount = kinds.ratio().write
    return amount(cap.amount) if isinstance(cap, Pure) and amount else toml_value(f"{cap.key}={cap.amount}")


def _columns() -> Kind[tuple[str, ...] | int]:
    return Kind(
        'names such as ["sex", "age"], or their number',
        kinds.either(kinds.whole_number(), kinds.list_of((str,), "names")).read,
        lambda value: toml_value(value) if isinstance(value, int) else toml_list(value),
    )


@dataclass(frozen=True, slots=True)
class Source:
    """Where the holder's records lie, and how they are written."""

    file: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "north.csv"'),
            "a table, such as north.csv, north.csv.gz or north.parquet, or a folder of them",
            default="the next key says where the table is",
        ),
    ] = None
    url: Annotated[
        str | None,
        Key(
            kinds.text('an address such as "postgresql://db.example/clinic?table=people"'),
            "a table that is no file, by its address, which holds no password",
            default="the table is a file",
        ),
    ] = None
    kind: Annotated[
        SourceKind,
        Key(
            kinds.choice(get_args(SourceKind)),
            "what lies there: a table; or an OMOP database, whose address names no table, and of which the next two "
            "keys say what is asked",
        ),
    ] = "table"
    features: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "features.toml"'),
            "of an OMOP database: the feature file that makes its records, or a folder of such files: every study's "
            "schema says by its hash which it was written for",
        ),
    ] = None
    schema: Annotated[
        str | None,
        Key(
            kinds.text('a name such as "cdm"'),
            "of an OMOP database: the schema where the tables of the data model lie",
            default='"main" in DuckDB, "public" in PostgreSQL',
        ),
    ] = None
    encoding: Annotated[
        str, Key(kinds.text('a name such as "latin-1"'), "how a text file is encoded, if no byte-order mark shows it")
    ] = "utf-8"
    separator: Annotated[
        str | None,
        Key(
            kinds.choice(("comma", "semicolon", "tab", "pipe")),
            "what stands between values",
            default="what the header shows",
        ),
    ] = None
    header: Annotated[
        bool, Key(kinds.flag(), "whether the first row has the names of the columns; if not, give the next two keys")
    ] = True
    columns: Annotated[
        tuple[str, ...] | int, Key(_columns(), "without a header: the names of the columns, or how many there are")
    ] = ()
    sheet: Annotated[
        str | None, Key(kinds.text("the name of a sheet"), "the sheet of an Excel workbook", default="the first")
    ] = None

    def __post_init__(self) -> None:
        """Check what can be checked without a look at the table."""
        self.at(Path())

    def at(self, folder: Path) -> File | Address:
        """Return the table, whose path is relative to ``folder``."""
        if self.kind == "table" and (self.features or self.schema):
            key = "features" if self.features else "schema"
            raise InputError(
                f"source.{key}", found='is given without kind = "omop"', remedy='leave it out, or add kind = "omop"'
            )
        if (self.file is None) == (self.url is None):
            raise InputError(
                "source.file",
                found="found neither file nor url" if self.file is None else "found both file and url",
                remedy="give one of them",
            )
        if self.url is not None:
            self._check_no_file()
            found = Address.parse(self.url, argument="source.url")
            return (found if self.kind == "table" else self._omop(found)).within(folder)
        if self.kind != "table":
            raise InputError("source.kind", found=f'found "{self.kind}", and a file', remedy="give url instead of file")
        return File(
            folder / check_path(self.file or "", argument="file"),
            encoding=self.encoding,
            separator=self.separator,
            header=self.header,
            columns=self.columns,
            sheet=self.sheet,
        )

    def _check_no_file(self) -> None:
        """Refuse an address that is none, and keys that are for files."""
        if not is_address(self.url or ""):
            raise InputError(
                "source.url", found="is no address", remedy="give one such as postgresql://host/database?table=people"
            )
        for key, default in (
            ("encoding", "utf-8"),
            ("separator", None),
            ("header", True),
            ("columns", ()),
            ("sheet", None),
        ):
            if getattr(self, key) != default:
                raise InputError(f"source.{key}", found="is given beside url", remedy="leave it out: it is for files")

    def _omop(self, database: Address) -> Address:
        """Return the address of the records that the feature file makes of an OMOP database."""
        scheme = f"omop+{database.scheme}"
        if scheme not in OMOP:
            known = " or ".join(f"{one.removeprefix('omop+')}://" for one in OMOP)
            raise InputError("source.url", found=f"found {database.scheme}://", remedy=f"give an address with {known}")
        if self.features is None:
            raise InputError("source.features", found="is missing", remedy='add features = "features.toml"')
        if database.option("table") is not None:
            raise InputError("source.url", found="names a table", remedy="give the address of the database alone")
        said = {"features": self.features} | ({} if self.schema is None else {"schema": self.schema})
        return replace(database, scheme=scheme).having(**said)


@dataclass(frozen=True, slots=True)
class TimeRules:
    """When answers may leave."""

    grid: Annotated[
        Fraction,
        Key(
            kinds.ratio("seconds, such as 1.0"),
            "answers leave at multiples of so many seconds after their question was taken up, so that how long they "
            "took tells nothing; 0 lets them leave at once",
        ),
    ] = Fraction(1)
    rows_bound: Annotated[
        int | None,
        Key(
            kinds.whole_number("a whole number such as 1000000"),
            "a number that the rows of your table will never exceed, all rows that are read, known to anybody: times "
            "are promised from it where the number of rows is private, since a person may have several, or since the "
            "study keeps the number of people private",
            default="studies under which the number of rows is private are not answered, unless grid = 0",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Check the ranges."""
        if not 0 <= self.grid <= MOST_GRID:
            raise InputError(
                "time.grid", found=f"found {float(self.grid):g}", remedy=f"give 0 to {MOST_GRID} seconds, such as 1.0"
            )
        if self.rows_bound is not None and not 1 <= self.rows_bound <= MOST_ROWS:
            raise InputError(
                "time.rows_bound", found=f"found {self.rows_bound}", remedy="give a number of rows, 1 or more"
            )


EVERY_SECOND: Final = TimeRules()


@dataclass(frozen=True, slots=True)
class MailboxAddress:
    """Where the analyst's mailbox is."""

    url: Annotated[str, Key(kinds.text('an address such as "https://post.example:8443"'), "the address of the mailbox")]
    ca: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "mailbox.pem"'),
            "a file of certificates that are trusted beside the system's",
            default="the system's alone",
        ),
    ] = None
    poll: Annotated[
        int,
        Key(kinds.whole_number("seconds, such as 30"), "how long the mailbox may keep a request until a letter comes"),
    ] = 30

    def __post_init__(self) -> None:
        """Check the address and the range."""
        if not _usable(self.url):
            raise InputError(
                "mailbox.url",
                found=f'found "{self.url}"',
                remedy="give an address that begins with https://, such as https://post.example:8443",
            )
        if not 1 <= self.poll <= MOST_POLL:
            raise InputError("mailbox.poll", found=f"found {self.poll}", remedy=f"give 1 to {MOST_POLL} seconds")


def _usable(url: str) -> bool:
    """Tell whether an address is one of HTTPS, or of this very machine, and no more than an address."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return False
    here = host in ("localhost", "127.0.0.1", "::1")
    if not host or not url.isprintable() or parts.query or parts.fragment or parts.username is not None:
        return False
    return parts.scheme == "https" or (here and parts.scheme == "http")
