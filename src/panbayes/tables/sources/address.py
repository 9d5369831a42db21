"""An address of a table that is no file: ``scheme://[user@]host[:port]/path?option=value&…``.

    postgresql://db.example:5432/clinic?table=people
    duckdb:///data/clinic.duckdb?table=people&order_by=visit,id
    omop+duckdb:///data/clinic.duckdb?features=features.toml

What lies on this machine has no host: three slashes begin a path from the root, ``duckdb:///data/clinic.duckdb``, two a
path from here, ``duckdb://clinic.duckdb``.

An address is shown in messages and kept in a ledger, so it holds no secret: one with a password is refused, and not
repeated. Credentials come from the environment or from the driver's own files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from panbayes.errors import InputError, nearest

__all__ = ["OMOP", "ON_DISK", "Address", "address_of", "is_address"]

_FORM: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_SECRET: Final = re.compile(r"passw|pwd|secret|token|credential|private|api_?key|access_?key", re.IGNORECASE)
_SHAPE: Final = "such as postgresql://host/database?table=people"

ON_DISK: Final = ("delta", "duckdb", "omop+duckdb", "sqlite")
"""Schemes of what lies on this machine."""

READING: Final = ("features", "order_by", "pushdown", "schema_id", "snapshot", "version")
"""Options that say how or when a table is read, and not which table it is."""

OMOP: Final = {"omop+duckdb": "main", "omop+postgresql": "public"}
"""Schemes of OMOP databases, each with the schema where the tables of the data model lie unless another is named."""

_HERE: Final = ("", "localhost", "127.0.0.1", "::1", "[::1]")
_PORTS: Final = {"postgresql": 5432}
_SCHEMAS: Final = ("main", "public")
"""Schemas in which a table lies whose name says nothing else."""

_PATHS: Final = ("features", "path")
"""Options that are paths on this machine."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a table is. ``options`` are pairs of names and values, by name.

    >>> there = Address.parse("duckdb:///data/clinic.duckdb?table=people&order_by=id", argument="data")
    >>> there.scheme, there.file.as_posix(), there.option("table")
    ('duckdb', '/data/clinic.duckdb', 'people')
    >>> str(there)
    'duckdb:///data/clinic.duckdb?order_by=id&table=people'
    """

    scheme: str
    user: str = ""
    host: str = ""
    port: int | None = None
    path: str = ""
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str, *, argument: str) -> Address:
        """Read an address. An error names ``argument`` and nothing of the text but its scheme: it may hold a secret."""
        scheme = text.partition("://")[0].lower()
        with _of(argument, scheme):
            if not text.isprintable() or any(blank in text for blank in " \\"):
                raise ValueError("holds a blank or another character that an address cannot (write it as %20)")
            parts = urlsplit(text)
            port = parts.port
            if parts.password is not None:
                raise InputError(
                    argument,
                    found=f"a {scheme} address holds a password",
                    remedy="take it out, and give it by the environment or the driver's own file, where nobody else "
                    "reads it",
                )
            if parts.fragment:
                raise ValueError("holds a #")
            options = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=True) if parts.query else []
            # The host of a file is the first folder of its path, whose case matters.
            host = unquote(parts.netloc.rpartition("@")[2].removesuffix(f":{port}"))
            user = unquote(parts.username or "")
            found = cls(parts.scheme, user, host, port, unquote(parts.path), tuple(sorted(options)))
        found._check(argument)
        return found

    def _check(self, argument: str) -> None:
        names = [name for name, _ in self.options]
        for name, value in self.options:
            if _SECRET.search(name):
                raise InputError(
                    argument,
                    found=f'a {self.scheme} address has an option "{name}"',
                    remedy="give credentials by the environment or the driver's own file, never in an address",
                )
            if not value:
                raise InputError(argument, found=f'option "{name}" is empty', remedy=f"give {name}=…, or leave it out")
            if names.count(name) > 1:
                raise InputError(argument, found=f'has option "{name}" twice', remedy="give it once")
        if not all(
            text.isprintable() for text in (self.user, self.host, self.path, *names, *dict(self.options).values())
        ):
            raise InputError(argument, found="holds a character that cannot be printed", remedy=_SHAPE)

    @property
    def file(self) -> Path:
        """The path of what lies on this machine."""
        return Path(f"{self.host}{self.path}")

    @property
    def files(self) -> tuple[Path, ...]:
        """The paths on this machine that the address names."""
        named = tuple(Path(value) for name, value in self.options if name in _PATHS)
        return (self.file, *named) if self.scheme in ON_DISK else named

    def option(self, name: str) -> str | None:
        """Return an option's value, None if it is not given."""
        return dict(self.options).get(name)

    def names(self, option: str) -> tuple[str, ...]:
        """Return the names that an option lists, parted by commas.

        >>> Address("duckdb", options=(("order_by", "visit, id"),)).names("order_by")
        ('visit', 'id')
        """
        return tuple(name.strip() for name in (self.option(option) or "").split(",") if name.strip())

    def flag(self, option: str, *, argument: str) -> bool:
        """Return whether an option says true; it may be left out."""
        said = self.option(option)
        if said not in (None, "true", "false"):
            raise InputError(argument, found=f'option "{option}" is "{said}"', remedy="give true or false")
        return said == "true"

    def check_options(self, known: Collection[str], *, required: Collection[str] = (), argument: str) -> None:
        """Refuse options that this kind of source does not know, and complain about those it needs."""
        for name, _ in self.options:
            if name not in known:
                raise InputError(argument, found=f'has no option "{name}"', remedy=nearest(name, sorted(known)))
        for name in required:
            if self.option(name) is None:
                raise InputError(argument, found=f'has no option "{name}"', remedy=f"add ?{name}=… to the address")

    def having(self, **options: str) -> Address:
        """Return the same address with some options set."""
        return replace(self, options=tuple(sorted({**dict(self.options), **options}.items())))

    @property
    def place(self) -> Address:
        """What table this is, however and whenever it is read: without options of :data:`READING`, path resolved.

        All that can be asked of an OMOP database by one feature file or another is about the same people. So its place
        is that of the tables of the data model, whose schema is always named, in small letters as databases fold them.
        A table that is written in other letters, with the schema it lies in anyway or on the port that is meant anyway,
        is the same one, and so is one of a service under another host; two that differ by this alone share an account,
        which is never too little.

        >>> there = Address.parse('postgresql://me@127.0.0.1/clinic?table=public."People"&order_by=id', argument="data")
        >>> str(there.place)
        'postgresql://localhost:5432/clinic?table=people'
        """
        paths = {name: str(Path(value).resolve()) for name, value in self.options if name in _PATHS}
        options = tuple((name, paths.get(name, value)) for name, value in self.options if name not in READING)
        own = _catalogs(self.file) if self.scheme == "duckdb" else ()
        options = tuple((name, _plain(value, own) if name == "table" else value) for name, value in options)
        if self.scheme in OMOP:
            options = (("schema", (self.option("schema") or OMOP[self.scheme]).lower()),)
        if self.scheme not in ON_DISK:
            host, scheme = self.host.lower(), self.scheme.removeprefix("omop+")
            here = scheme == "postgresql" and (host in _HERE or host.startswith("/"))
            port = self.port or _PORTS.get(scheme)
            return replace(self, user="", host="localhost" if here else host, port=port, options=options)
        return replace(self, user="", host="", path=str(self.file.resolve()), options=options)

    def within(self, folder: Path) -> Address:
        """Return the same address, with the paths on this machine that it names taken from ``folder``."""
        paths = {name: str((folder / value).absolute()) for name, value in self.options if name in _PATHS}
        there = self.having(**paths) if paths else self
        if self.scheme not in ON_DISK:
            return there
        return replace(there, host="", path=str((folder / self.file).absolute()))

    def __str__(self) -> str:
        """Return the text of the address: it names the table in messages."""
        user = f"{quote(self.user, safe='')}@" if self.user else ""
        port = "" if self.port is None else f":{self.port}"
        query = "&".join(f"{quote(name, safe='')}={quote(value, safe=':/,*.')}" for name, value in self.options)
        place = f"{quote(self.host, safe=':[]*.')}{port}{quote(self.path, safe='/:*=')}"
        return f"{self.scheme}://{user}{place}{'?' if query else ''}{query}"


def _plain(table: str, catalogs: Collection[str] = ()) -> str:
    """Return a table's name as databases that fold letters know it, without the schema that is meant anyway.

    What stands alone before the name may be one of the database's own ``catalogs`` instead of a schema.

    >>> [_plain(name) for name in ("People", 'main."people"', "cdm.people", "clinic.main.people")]
    ['people', 'people', 'cdm.people', 'people']
    >>> [_plain(name, ("clinic",)) for name in ("Clinic.people", "clinic.cdm.people", "clinic.clinic.people")]
    ['people', 'cdm.people', 'clinic.people']
    """
    *above, name = table.replace('"', "").lower().split(".")
    anyway = not above or above[-1] in _SCHEMAS or (len(above) == 1 and above[0] in catalogs)
    return name if anyway else f"{above[-1]}.{name}"


def _catalogs(file: Path) -> tuple[str, ...]:
    """Return what DuckDB may call the one database of a file: its name up to the first dot, unless that is its own.

    >>> _catalogs(Path("/data/Clinic.v2.duckdb"))
    ('clinic', 'clinic_db')
    """
    name = next((part for part in file.name.lower().split(".") if part), "")
    return name, f"{name}_db"


@contextmanager
def _of(argument: str, scheme: str) -> Iterator[None]:
    """Make one line of what is wrong with an address."""
    try:
        yield
    except ValueError as error:
        plain = str(error) if str(error).startswith("holds") else "cannot be understood"
        raise InputError(argument, found=f"a {scheme} address {plain}", remedy=f"give an address {_SHAPE}") from None


def is_address(text: str) -> bool:
    """Tell whether a text is an address and no path.

    >>> is_address("duckdb:///clinic.duckdb?table=people"), is_address("clinic.csv"), is_address("C:/clinic.csv")
    (True, False, False)
    """
    return _FORM.match(text) is not None


def address_of(given: object, *, argument: str) -> Address | None:
    """Return the address that somebody gave, None if it is none."""
    if isinstance(given, Address):
        return given
    return Address.parse(given, argument=argument) if isinstance(given, str) and is_address(given) else None
