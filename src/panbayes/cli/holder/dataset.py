"""``panbayes holder dataset``: declare whose account a ledger is, and look after a table that changes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, TypeAlias, get_args

import typer

from panbayes.cli.arguments import AsJson, Columns, Encoding, LedgerFolder, NoHeader, Separator, Sheet, data_file
from panbayes.cli.dataset_account import dataset_facts, dataset_lines
from panbayes.cli.help import add_command, new_group
from panbayes.cli.holder.owned import refuse_cap
from panbayes.cli.text import aligned, emit, plural
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agreement.calendar import CALENDARS, Calendar
from panbayes.consortium.holder.ledger.cabinet import Cabinet
from panbayes.consortium.holder.ledger.declaration import Dataset
from panbayes.consortium.holder.ledger.kept import codes_of
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.summary import Summary
from panbayes.errors import InputError, nearest
from panbayes.privacy.losses import parse_loss
from panbayes.privacy.written import parse_number
from panbayes.schema.schema import Unit
from panbayes.tables.sources.address import Address
from panbayes.tables.sources.file import File
from panbayes.tables.sources.place import absolute

__all__ = ["register"]

HELP = """Declare a dataset: one account for a population, whatever its table looks like today.

A table that changes must be declared before it is learned from, or every state of it is taken for other people. It is
then found by the place of its table, and every study sees one state of it.

Examples:
    panbayes holder dataset declare visitors --source visits.csv \\
        --unit user --changing
    panbayes holder dataset show visitors
"""

Name: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="NAME", help="What the holder is called.", show_default="the name in the file of --config"),
]

OfHolder: TypeAlias = Annotated[
    Path | None,
    typer.Option("--config", metavar="FILE", help="The holder's file, if it has one.", show_default="NAME and --state"),
]


def register(group: typer.Typer) -> None:
    """Add the group ``dataset``."""
    dataset = new_group(HELP)
    for command in (declare, show, refresh, renumber):
        add_command(dataset, command)
    add_command(dataset, list_all, name="list")
    group.add_typer(dataset, name="dataset")


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The ledger that is meant, and what a holder's file says of its table."""

    cabinet: Cabinet
    path: Path
    source: File | Address | None = None


def _chosen(name: str | None, state: Path | None, config: Path | None) -> _Chosen:
    if config is None:
        if name is None:
            raise InputError("NAME", found="is not given", remedy="name the holder, or give --config FILE")
        cabinet = Cabinet.in_state(state)
        return _Chosen(cabinet, cabinet.path(name))
    if name is not None or state is not None:
        raise InputError("--config", found="is given with NAME or --state", remedy="give one of the two")
    holder = HolderFile.load(config)
    holder.ledger().close()  # Makes it where there is none, with its cap.
    return _Chosen(holder.cabinet, holder.cabinet.path(holder.name), holder.data)


def _there(name: str | None, state: Path | None, config: Path | None) -> Path:
    """Return the ledger of a declared dataset."""
    path = _chosen(name, state, config).path
    if not path.exists():
        raise InputError(
            "NAME", found=f"no holder of that name has a ledger ({path})", remedy="see panbayes holder dataset list"
        )
    return path


def declare(
    name: Name = None,
    source: Annotated[
        str | None,
        typer.Option(
            metavar="DATA",
            help="Where the table lies: a file, a folder of them, or an address.",
            show_default="the source in the file of --config",
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The column that says whose a record is.", show_default="none"),
    ] = None,
    max_records: Annotated[
        int, typer.Option(metavar="NUMBER", help="With --unit: so many records of a person are used.", min=1)
    ] = 1,
    changing: Annotated[
        bool, typer.Option("--changing", help="The table changes; this or the next must be said.")
    ] = False,
    fixed: Annotated[bool, typer.Option("--fixed", help="The table stays as it is.")] = False,
    blocks: Annotated[
        str | None,
        typer.Option(
            metavar="CALENDAR",
            help="With --changing: people bring a budget of their own by when they are first seen: monthly, quarterly "
            "or yearly.",
            show_default="one budget for all",
        ),
    ] = None,
    cap: Annotated[
        str | None,
        typer.Option(
            metavar="EPSILON",
            help="What all studies together may spend of anybody: ε, such as 3, or rho=0.05.",
            show_default="as it is",
        ),
    ] = None,
    delta: Annotated[
        str, typer.Option(metavar="NUMBER", help="What private proposals for schemas may spend of δ, such as 1e-6.")
    ] = "0",
    encoding: Encoding = None,
    separator: Separator = None,
    no_header: NoHeader = False,
    columns: Columns = None,
    sheet: Sheet = None,
    state: LedgerFolder = None,
    config: OfHolder = None,
    as_json: AsJson = False,
) -> None:
    """Declare a dataset: where its table lies, whose records those are, and whether it changes.

    Not a record is read. Declared again, a dataset is known at both places, and has the new δ.

    Examples:
        panbayes holder dataset declare visitors --source visits.csv \\
            --unit user --changing --cap 3
        panbayes holder dataset declare visitors --source visits.csv \\
            --unit user --changing --blocks quarterly --delta 1e-6
        panbayes holder dataset declare south --source south.csv --fixed
    """
    # Imported here: it can read tables, and the other verbs need not.
    from panbayes.consortium.holder.declaring import declare as declare_dataset

    chosen = _chosen(name, state, config)
    if changing == fixed:
        found = "is given with --fixed" if changing else "is not given, nor is --fixed"
        raise InputError("--changing", found=found, remedy="say one of them: does the table ever change?")
    given = chosen.source
    for option, value in (("--source", source), ("--cap", cap)):
        if value is not None and given is not None:
            raise InputError(option, found="is given with --config", remedy="leave it out: the holder's file has it")
    if source is not None:
        given = data_file(
            source,
            encoding=encoding,
            separator=separator,
            no_header=no_header,
            columns=columns,
            sheet=sheet,
            argument="--source",
        )
    if given is None:
        raise InputError("--source", found="is not given", remedy="say where the table lies")
    limit = None if cap is None else parse_loss(cap, argument="--cap")
    if limit is not None:
        refuse_cap(chosen.path)
    dataset = Dataset(
        absolute(given),
        None if unit is None else Unit(unit, max_records=max_records),
        changing,
        None if blocks is None else _calendar(blocks),
        parse_number(delta, argument="--delta"),
    )
    declare_dataset(chosen.cabinet, chosen.path, dataset, cap=limit)
    _tell(chosen.path, as_json=as_json)


def show(name: Name = None, state: LedgerFolder = None, config: OfHolder = None, as_json: AsJson = False) -> None:
    """Show what is declared, what was spent by block, and what studies see.

    Examples:
        panbayes holder dataset show visitors
    """
    _tell(_there(name, state, config), as_json=as_json)


def list_all(state: LedgerFolder = None, as_json: AsJson = False) -> None:
    """List the datasets that are declared.

    Examples:
        panbayes holder dataset list
    """
    cabinet = Cabinet.in_state(state)
    found = {path: history[-1] for path, history in cabinet.datasets().items()}
    rows = [("ledger", "table", "", "blocks")]
    for path, dataset in found.items():
        rows.append(
            (path.name, str(dataset.source), "changing" if dataset.changing else "fixed", dataset.blocks or "none")
        )
    lines = aligned(rows, indent=0) if found else [f"{cabinet.folder}: no dataset is declared."]
    data = [
        {"ledger": str(path), "source": str(one.source), "changing": one.changing, "blocks": one.blocks}
        for path, one in found.items()
    ]
    emit(data, lines, as_json=as_json)


def refresh(name: Name = None, state: LedgerFolder = None, config: OfHolder = None, as_json: AsJson = False) -> None:
    """Put whoever is new in the table into the register, in the block of today. Run it every night.

    Only ids are read. The first question of a study does the same.

    Examples:
        panbayes holder dataset refresh visitors
    """
    from panbayes.consortium.holder.declaring import refresh as refresh_dataset

    path = _there(name, state, config)
    with Ledger.open(path) as ledger:
        people = refresh_dataset(ledger)
        newest = ledger.summary().blocks[-1]
    emit(
        {"ledger": str(path), "block": newest, "people": people},
        [f"{path}: whoever is new belongs to {newest}; the register knows {plural(people, 'person')}."],
        as_json=as_json,
    )


def renumber(
    name: Name = None,
    state: LedgerFolder = None,
    config: OfHolder = None,
    yes: Annotated[bool, typer.Option("--yes", help="Yes, ids were renumbered: this cannot be undone.")] = False,
    as_json: AsJson = False,
) -> None:
    """Say that ids were renumbered: from now on every study is charged to every block, and no new one opens.

    Examples:
        panbayes holder dataset renumber visitors --yes
    """
    from panbayes.consortium.holder.declaring import renumber as renumber_dataset

    path = _there(name, state, config)
    if not yes:
        raise InputError(
            "--yes",
            found="is not given, and a register that is void stays so",
            remedy="give it if ids no longer name the same people",
        )
    with Ledger.open(path) as ledger:
        renumber_dataset(ledger)
    _tell(path, as_json=as_json)


def _calendar(text: str) -> Calendar:
    known: tuple[Calendar, ...] = get_args(Calendar)
    for one in known:
        if one == text:
            return one
    raise InputError("--blocks", found=f'found "{text}"', remedy=nearest(text, CALENDARS))


def _tell(path: Path, *, as_json: bool) -> None:
    with Ledger.read(path) as ledger:
        summary = ledger.summary()
    if summary.dataset is None:
        raise InputError("NAME", found=f"{path} has no dataset", remedy="declare it: panbayes holder dataset declare")
    emit(
        {"ledger": str(path), **dataset_facts(summary), "studies": _pins(path, summary)},
        [f"{path}", *dataset_lines(summary), *_pinned(path, summary)],
        as_json=as_json,
    )


def _pins(path: Path, summary: Summary) -> list[dict[str, object]]:
    return [
        {
            "study": one.study,
            "name": one.name,
            "blocks": None if one.pin.blocks is None else sorted(one.pin.blocks),
            "address": one.pin.address,
            "kept": codes_of(path, one.study).exists(),
        }
        for one in summary.studies
        if one.pin is not None
    ]


def _pinned(path: Path, summary: Summary) -> list[str]:
    rows = [("study", "hash", "sees", "of blocks")]
    for one in summary.studies:
        if one.pin is not None:
            kept = "kept codes" if codes_of(path, one.study).exists() else "the table as it was"
            blocks = "everybody" if one.pin.blocks is None else ", ".join(sorted(one.pin.blocks))
            rows.append((one.name, one.study[:12], one.pin.address or kept, blocks))
    return aligned(rows) if len(rows) > 1 else []
