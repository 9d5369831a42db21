"""``panbayes schema categories``: which values a column has, asked privately."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson, LedgerFolder
from panbayes.cli.schema.officers import KeyFile, OfHolder, SignatureFile, Signing, StatementFile
from panbayes.cli.schema.proposing import (
    Again,
    Agreed,
    Blocks,
    ColumnName,
    DatasetName,
    Epsilon,
    MissingWords,
    Snippet,
    Terms,
    ask_dataset,
    blocks_of,
    epsilon_of,
    missing_of,
)
from panbayes.cli.text import plural
from panbayes.consortium.holder.proposals.wish import Cells, Values, Wish
from panbayes.errors import InputError
from panbayes.privacy.written import parse_number
from panbayes.schema.attribute import Attribute
from panbayes.schema.blanks import stripped
from panbayes.schema.grids import code_groups, listed
from panbayes.schema.map_files import read_map
from panbayes.schema.public_list import public_lists

__all__ = ["categories"]

MAX_BYTES: Final = 4_000_000


def categories(
    dataset: DatasetName,
    column: ColumnName,
    epsilon: Epsilon,
    values: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help="A public list of values, such as a,b,c.", show_default="none"),
    ] = None,
    public_list: Annotated[
        str | None,
        typer.Option(
            "--list",
            metavar="NAME",
            help="A public list: icd10-chapters, icd9-chapters, atc-groups, a text file with a value on each line, or "
            "a mapping file (CSV or TOML).",
            show_default="none",
        ),
    ] = None,
    unknown: Annotated[
        bool, typer.Option("--unknown", help="That nobody has a list: name the values that many people have.")
    ] = False,
    delta: Annotated[
        str,
        typer.Option(metavar="NUMBER", help="With --unknown: the chance that a value of one person alone is named."),
    ] = "0",
    missing_value: MissingWords = None,
    edition: Again = "",
    blocks: Blocks = None,
    output: Snippet = None,
    state: LedgerFolder = None,
    yes: Agreed = False,
    key: KeyFile = None,
    signature: SignatureFile = None,
    statement: StatementFile = None,
    config: OfHolder = None,
    as_json: AsJson = False,
) -> None:
    """Ask a declared dataset privately which values a column has, and propose categories.

    With a public list, every value on it is counted, with noise; those that are clearly there are proposed, the rest
    goes to other. Without a list, values are named that many people have: that needs a δ of its own beside ε, since a
    value of one person alone must not be named but by that chance. Under pure ε it is impossible.

    The answer is charged to the dataset's account: the price is shown first, and nothing is computed before somebody
    agrees to it. Where a holder's officers decide about the account, they sign first: with --key here, or with
    --statement and --signature.

    Examples:
        panbayes schema categories clinic insulin --epsilon 0.1 --values No,Up --yes
        panbayes schema categories clinic a1c --epsilon 1 --unknown --delta 1e-9 --yes
    """
    chosen = [values is not None, public_list is not None, unknown]
    if sum(chosen) != 1:
        raise InputError(
            "--values, --list, --unknown", found=f"found {sum(chosen)} of them", remedy="give one of the three"
        )
    cost, missing, named = epsilon_of(epsilon), missing_of(missing_value), blocks_of(blocks)
    chance = parse_number(delta, argument="--delta")
    wish: Wish
    if unknown:
        wish = Values(column, cost, chance, missing, edition, named)
        asks = f"which values of {column} many people have, whatever they are"
    else:
        if chance:
            raise InputError("--delta", found="is given for a public list", remedy="leave it out: that costs no δ")
        attribute = _domain(column, values, public_list)
        wish = Cells(attribute, cost, missing, edition, named)
        asks = f"how many records have each of {plural(attribute.regular, 'value')} of a public list as {column}"
    ask_dataset(
        dataset, wish, Terms(state, output, yes, as_json, 1, Signing(key, signature, statement, config)), asks=asks
    )


def _domain(column: str, values: str | None, name: str | None) -> Attribute:
    """Return the public domain that is meant."""
    if values is not None:
        return _listed(column, values.split(","), "--values")
    if name in public_lists():
        return code_groups(column, name)
    path = Path(name or "")
    if path.suffix.lower() in (".csv", ".toml"):
        return code_groups(column, read_map(path))
    return _listed(column, _lines(path), "--list")


def _listed(column: str, texts: list[str], argument: str) -> Attribute:
    found = tuple(dict.fromkeys(text for text in map(stripped, texts) if text))
    if not found:
        raise InputError(argument, found="found no value", remedy="give at least one")
    return listed(column, found)


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise InputError("--list", found=f"{path} has more than {MAX_BYTES:,} bytes", remedy="give a shorter list")
        return raw.decode("utf-8-sig").splitlines()
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        raise InputError(
            "--list",
            found=f'"{path}" is no list of panbayes, and cannot be read as a file ({reason})',
            remedy=f"give one of {', '.join(public_lists())}, or a text file",
        ) from None
    except UnicodeDecodeError:
        raise InputError("--list", found=f"{path} is not UTF-8 text", remedy="write it in UTF-8") from None
