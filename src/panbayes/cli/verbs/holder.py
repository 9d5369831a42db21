"""``panbayes holder``: look after what a holder keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.text import AsJson, aligned, emit
from panbayes.consortium.holder.ledger.cabinet import SUFFIX, ledger_files, ledger_folder, ledger_path
from panbayes.consortium.holder.ledger.ledger import Ledger, Summary
from panbayes.consortium.holder.ledger.verify import verify as verify_ledger
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.classes.pure import Pure
from panbayes.privacy.classes.zcdp import ZeroConcentrated
from panbayes.privacy.loss import Loss
from panbayes.privacy.written import parse_epsilon

__all__ = ["register"]

State = Annotated[
    Path | None, typer.Option("--state", help="The state directory of `panbayes learn`; by default the user's.")
]
Which = Annotated[
    str | None,
    typer.Argument(
        metavar="[LEDGER]", help="A ledger file, or a holder's name in the state directory; else all there."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the group ``holder``."""
    group = typer.Typer(no_args_is_help=True, help="Look after what a holder keeps: its ledger of privacy spent.")
    ledger = typer.Typer(no_args_is_help=True, help="Show, verify or cap what a holder has spent.")
    ledger.command("show")(show)
    ledger.command("verify")(verify)
    ledger.command("cap")(cap)
    group.add_typer(ledger, name="ledger")
    group.callback()(_group)
    app.add_typer(group, name="holder")


def _group() -> None:
    """Look after what a holder keeps: its ledger of privacy spent."""


def show(ledger: Which = None, state: State = None, as_json: AsJson = False) -> None:
    """Show what every study has spent, in total, and what the cap leaves."""
    data: list[dict[str, object]] = []
    lines: list[str] = []
    for path in _chosen(ledger, state):
        with Ledger.open(path) as opened:
            summary = opened.summary()
            entries = opened.entries()
        data.append(
            {
                **_facts(path, summary),
                "entries": [
                    {
                        "sequence": entry.sequence,
                        "study": entry.study,
                        "question": entry.question,
                        "kind": entry.kind,
                        "loss": entry.loss.json(),
                        "reply": entry.reply,
                        "head": entry.head,
                    }
                    for entry in entries
                ],
            }
        )
        lines += _account(path, summary)
    emit(data, lines, as_json=as_json)


def verify(
    ledger: Which = None,
    state: State = None,
    head: Annotated[
        list[str] | None, typer.Option(help="A head that came with a release: it must be in the chain. Repeatable.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute everything in a ledger; exit with 5 if anything does not hold together."""
    paths = _chosen(ledger, state)
    faults: dict[str, list[str]] = {}
    for path in paths:
        try:
            with Ledger.open(path) as opened:
                faults[str(path)] = verify_ledger(opened, heads=head or ())
        except LedgerError as error:
            faults[str(path)] = [error.found]
    bad = {path: found for path, found in faults.items() if found}
    if as_json or not bad:
        emit(
            {"sound": not bad, "faults": faults},
            [f"{path}: every entry, sum, question and reply is as it was written." for path in faults],
            as_json=as_json,
        )
    if bad:
        worst, found = next(iter(bad.items()))
        more = sum(map(len, bad.values())) - 1
        raise LedgerError(
            worst,
            found=found[0] + (f" (and {more} further faults: --json lists them)" if more else ""),
            remedy="stop answering from it and find out what happened; SECURITY.md says what it means",
        )


def cap(
    ledger: Annotated[
        str, typer.Argument(metavar="LEDGER", help="A ledger file, or a holder's name in the state directory.")
    ],
    epsilon: Annotated[
        str,
        typer.Argument(
            metavar="EPSILON",
            help="What all studies together may spend: ε, such as 2.5; or rho=0.05, for zCDP; or none.",
        ),
    ],
    state: State = None,
    new: Annotated[bool, typer.Option("--new", help="Make the ledger if there is none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set what all studies together may spend. What is spent already stays spent."""
    limit = None if epsilon == "none" else _limit(epsilon)
    path = _place(ledger, state)
    if not path.exists() and not new:
        raise _absent(ledger, path)
    if new:
        _make_folder(path.parent)
    with Ledger.open(path, create=new) as opened:
        opened.set_cap(limit)
        summary = opened.summary()
    emit(_facts(path, summary), _account(path, summary), as_json=as_json)


def _limit(text: str) -> Loss:
    if text.startswith("rho="):
        return ZeroConcentrated(parse_epsilon(text.removeprefix("rho="), argument="EPSILON"))
    return Pure(parse_epsilon(text, argument="EPSILON"))


def _place(ledger: str, state: Path | None) -> Path:
    path = Path(ledger)
    return path if path.exists() or path.suffix == SUFFIX or len(path.parts) > 1 else ledger_path(state, ledger)


def _absent(ledger: str, path: Path) -> InputError:
    return InputError(
        "LEDGER",
        found=f'"{ledger}" is no ledger file, and no holder of that name has one ({path})',
        remedy="run `panbayes holder ledger show` to see which there are, or make one with `cap … --new`",
    )


def _chosen(ledger: str | None, state: Path | None) -> list[Path]:
    if ledger is not None:
        path = _place(ledger, state)
        if not path.exists():
            raise _absent(ledger, path)
        return [path]
    found = ledger_files(state)
    if not found:
        raise InputError(
            "--state",
            found=f"{ledger_folder(state)} has no ledgers",
            remedy="give another --state DIR, or a ledger file; ledgers are made by `panbayes learn`",
        )
    return found


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        reason = (error.strerror or "not writable").lower()
        raise InputError("LEDGER", found=f"{folder} cannot be made ({reason})", remedy="give another place") from None


def _facts(path: Path, summary: Summary) -> dict[str, object]:
    return {
        "ledger": str(path),
        "cap": None if summary.cap is None else summary.cap.json(),
        "spent": summary.spent.json(),
        "left": None if summary.left is None else summary.left.json(),
        "first": summary.first,
        "head": summary.head,
        "studies": [
            {
                "name": study.name,
                "study": study.study,
                "grant": study.grant.json(),
                "spent": study.spent.json(),
                "releases": study.entries,
            }
            for study in summary.studies
        ],
    }


def _account(path: Path, summary: Summary) -> list[str]:
    lines = [f"{path}"]
    if summary.studies:
        rows = [("study", "hash", "releases", "spent", "granted")]
        rows += [(s.name, s.study[:12], str(s.entries), str(s.spent), str(s.grant)) for s in summary.studies]
        lines += aligned(rows)
    limit = "no cap" if summary.cap is None or summary.left is None else f"cap {summary.cap}, {summary.left} left"
    return [*lines, f"  Spent in total: {summary.spent}; {limit}.", f"  Head: {summary.head}"]
