"""``panbayes holder ledger``: look after what a holder keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson, LedgerFolder
from panbayes.cli.help import add_command, new_group
from panbayes.cli.holder.owned import is_owned, refuse_cap, refuse_resume
from panbayes.cli.ledger_account import account, facts, failures
from panbayes.cli.text import aligned, emit, plural
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.holder.ledger.cabinet import SUFFIX, Cabinet
from panbayes.consortium.holder.ledger.chain import loss_text
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.ledger.summary import Summary
from panbayes.errors import InputError, LedgerError
from panbayes.privacy.losses import parse_loss

__all__ = ["register"]

HELP = """Show, verify or cap what a holder has spent; close or resume a study.

Every holder has one ledger, a file in which its gate writes down each answer before it gives it.

Examples:
    panbayes holder ledger show
    panbayes holder ledger cap north 2.5
"""

Which = Annotated[
    str | None,
    typer.Argument(
        metavar="LEDGER",
        help="A ledger file, or the name of a holder that has one in the --state folder.",
        show_default="every ledger in that folder",
    ),
]

OneLedger = Annotated[
    str,
    typer.Argument(metavar="LEDGER", help="A ledger file, or the name of a holder that has one in the --state folder."),
]

OfHolder = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="A holder's file, as panbayes holder init writes it: the ledgers are in the folder that it names.",
        show_default="--state",
    ),
]


def register(group: typer.Typer) -> None:
    """Add the group ``ledger``."""
    ledger = new_group(HELP)
    for command in (show, verify, cap, close, resume):
        add_command(ledger, command)
    add_command(ledger, open_entry, name="open")
    group.add_typer(ledger, name="ledger")


def show(ledger: Which = None, state: LedgerFolder = None, config: OfHolder = None, as_json: AsJson = False) -> None:
    """Show what every study has spent, in total, and what the cap leaves.

    With --json, also the commitment and the head of every entry: who has heads from releases can recompute the chain.

    Examples:
        panbayes holder ledger show
        panbayes holder ledger show north --json
    """
    data: list[dict[str, object]] = []
    lines: list[str] = []
    for path in _chosen(ledger, _folder(state, config)):
        with Ledger.read(path) as opened:
            summary = opened.summary()
            entries = opened.entries()
        data.append(
            {
                **facts(path, summary),
                "entries": [
                    {"sequence": entry.sequence, "commitment": entry.commitment, "head": entry.head}
                    for entry in entries
                ],
            }
        )
        lines += account(path, summary, owned=is_owned(path))
    emit(data, lines, as_json=as_json)


def verify(
    ledger: Which = None,
    state: LedgerFolder = None,
    config: OfHolder = None,
    head: Annotated[
        list[str] | None,
        typer.Option(metavar="HASH", help="A head that came with a release: it must be in the chain. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute everything in a ledger; exit with 5 if anything does not hold together.

    Examples:
        panbayes holder ledger verify
        panbayes holder ledger verify north
    """
    # Imported here: to verify takes all that answers, and the holder's agent shall stay small.
    from panbayes.consortium.holder.ledger.verify import verify as verify_ledger

    faults: dict[str, list[str]] = {}
    for path in _chosen(ledger, _folder(state, config)):
        try:
            with Ledger.read(path) as opened:
                faults[str(path)] = verify_ledger(opened, heads=head or ())
        except LedgerError as error:
            faults[str(path)] = [error.found]
    unsound = [(path, fault) for path, its_faults in faults.items() for fault in its_faults]
    if as_json or not unsound:
        emit(
            {"sound": not unsound, "faults": faults},
            [f"{path}: every entry, sum, question and reply is as it was written." for path in faults],
            as_json=as_json,
        )
    if unsound:
        path_of_first, first = unsound[0]
        more = len(unsound) - 1
        raise LedgerError(
            path_of_first,
            found=first + (f" (and {plural(more, 'further fault')}: --json lists them)" if more else ""),
            remedy="stop answering from it and find out what happened; SECURITY.md says what it means",
        )


def open_entry(
    ledger: OneLedger,
    entry: Annotated[int, typer.Argument(metavar="ENTRY", help="The number of the entry.", min=1)],
    state: LedgerFolder = None,
    config: OfHolder = None,
    as_json: AsJson = False,
) -> None:
    """Open one entry to an auditor: everything that its commitment hashes, with the secret.

    Whoever sees it can check the commitment, and test guesses about this one reply. All other entries stay hidden.

    Examples:
        panbayes holder ledger open north 3
        panbayes holder ledger open north 3 --json
    """
    (path,) = _chosen(ledger, _folder(state, config))
    with Ledger.read(path) as opened:
        entries = opened.entries()
        before = opened.summary().first
    if entry > len(entries):
        raise InputError("ENTRY", found=f"found {entry}", remedy=f"the ledger has the entries 1 to {len(entries)}")
    found = entries[entry - 1]
    previous = entries[entry - 2].head if entry > 1 else before
    data: dict[str, object] = {
        "sequence": found.sequence,
        "secret": found.secret.hex(),
        "study": found.study,
        "question": found.question,
        "kind": found.kind,
        "loss": found.loss.json(),
        "reply": found.reply,
        "notes": found.notes,
        "events": found.events,
        "commitment": found.commitment,
        "previous": previous,
        "head": found.head,
    }
    rows = [(name, str(value)) for name, value in (data | {"loss": loss_text(found.loss)}).items()]
    emit(data, aligned(rows, indent=0), as_json=as_json)


def close(
    ledger: OneLedger,
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study: its hash or how that begins, or its name.")],
    state: LedgerFolder = None,
    config: OfHolder = None,
    as_json: AsJson = False,
) -> None:
    """Close a study for good: it gets no further answers, and the cap gets back what it has not spent.

    What it was told already it can still ask for again.

    Examples:
        panbayes holder ledger close north study
    """
    (path,) = _chosen(ledger, _folder(state, config))
    with Ledger.open(path) as opened:
        opened.close_study(_study(study, opened.summary()))
        summary = opened.summary()
    emit(facts(path, summary), account(path, summary, owned=is_owned(path)), as_json=as_json)


def resume(
    ledger: OneLedger,
    study: Annotated[str, typer.Argument(metavar="STUDY", help="The study: its hash or how that begins, or its name.")],
    state: LedgerFolder = None,
    as_json: AsJson = False,
) -> None:
    """Look at the answers to a study that failed, and let it go on.

    A study is paused when three of its answers have failed since its holder last looked: an answer that fails is not
    charged for, and that it failed may tell something about the records. What is shown is for the holder's eyes. Where
    a holder has a file, holder.toml, its officers do this: panbayes holder resume.

    Examples:
        panbayes holder ledger resume north study
    """
    (path,) = _chosen(ledger, state)
    refuse_resume(path, study)
    with Ledger.open(path) as opened:
        opened.write_cut_off()
        chosen, name = _known_study(study, opened.summary())
        failed = opened.resume(chosen)
    data = {"ledger": str(path), "study": chosen, "failed": [asdict(failure) for failure in failed]}
    lines = [f"{path}"]
    if failed:
        rows = [("when", "question", "kind", "failed by")]
        lines += aligned([*rows, *((f.time, f.question[:12], f.kind, f.error) for f in failed)])
        lines.append(f"  {plural(len(failed), 'answer')} to {name} ({chosen[:12]}) failed; the study goes on.")
    else:
        lines.append(f"  No answer to {name} ({chosen[:12]}) has failed since you last looked.")
    emit(data, lines, as_json=as_json)


def cap(
    ledger: OneLedger,
    epsilon: Annotated[
        str,
        typer.Argument(
            metavar="EPSILON",
            help="What all studies together may spend: ε, such as 2.5; or rho=0.05, for zero-concentrated privacy; or "
            "none, for no cap.",
        ),
    ],
    state: LedgerFolder = None,
    new: Annotated[bool, typer.Option("--new", help="Make the ledger if there is none.")] = False,
    as_json: AsJson = False,
) -> None:
    """Set what all studies together may spend.

    What is spent already stays spent. Where a holder has a file, holder.toml, the cap in it holds: it is changed there,
    and refused here.

    Examples:
        panbayes holder ledger cap north 2.5
        panbayes holder ledger cap west 1 --new
    """
    limit = None if epsilon == "none" else parse_loss(epsilon, argument="EPSILON")
    path = _path(ledger, state)
    if not path.exists() and not new:
        raise _absent(ledger, path)
    refuse_cap(path)
    if new:
        Cabinet(path.parent).make_folder(argument="LEDGER")
    with Ledger.open(path, create=new) as opened:
        opened.set_cap(limit)
        summary = opened.summary()
    emit(facts(path, summary), account(path, summary, owned=is_owned(path)), as_json=as_json)


def _folder(state: Path | None, config: Path | None) -> Path | None:
    """Return where ledgers are kept: as it is given, or as a holder's file says."""
    if config is None:
        return state
    if state is not None:
        raise InputError("--config", found="is given with --state", remedy="give one of the two")
    return HolderFile.load(config).state_folder


def _path(ledger: str, state: Path | None) -> Path:
    """Return the file that is meant: one of that name, or the ledger of a holder of that name."""
    path = Path(ledger)
    if path.exists() or path.suffix == SUFFIX or len(path.parts) > 1:
        return path
    try:
        return Cabinet.in_state(state).path(ledger)
    except UnicodeEncodeError:
        raise InputError(
            "LEDGER", found=f'"{ledger}" is no name of a holder', remedy="give a name in UTF-8, or a ledger file"
        ) from None


def _absent(ledger: str, path: Path) -> InputError:
    return InputError(
        "LEDGER",
        found=f'"{ledger}" is no ledger file, and no holder of that name has one ({path})',
        remedy="run `panbayes holder ledger show` to see which there are, or make one with `cap … --new`",
    )


def _chosen(ledger: str | None, state: Path | None) -> list[Path]:
    if ledger is not None:
        path = _path(ledger, state)
        if not path.exists():
            raise _absent(ledger, path)
        return [path]
    cabinet = Cabinet.in_state(state)
    paths = cabinet.files()
    if not paths:
        raise InputError(
            "--state",
            found=f"{cabinet.folder} has no ledgers",
            remedy="give another --state DIR, or a ledger file; ledgers are made by `panbayes learn`",
        )
    return paths


def _study(text: str, summary: Summary) -> str:
    """Return the hash of the study that is meant."""
    return _one_study(text, {s.study: s.name for s in summary.studies}, "that has begun")


def _known_study(text: str, summary: Summary) -> tuple[str, str]:
    """Return the hash and the name of the study that is meant, also of one whose answers have all failed."""
    names = {s.study: s.name for s in summary.studies} | dict(failures(summary).keys())
    chosen = _one_study(text, names, "that was answered, or was to be,")
    return chosen, names[chosen]


def _one_study(text: str, names: Mapping[str, str], which: str) -> str:
    """Return the hash of the one study of ``names`` that is meant."""
    alike = [study for study, name in names.items() if name == text or (len(text) >= 8 and study.startswith(text))]
    if len(alike) != 1:
        raise InputError(
            "STUDY",
            found=f'{"more than one study" if alike else "no study"} {which} is "{text}"',
            remedy="give its hash as `panbayes holder ledger show` does, or its name",
        )
    return alike[0]
