"""``panbayes holder approve``: what an officer reads, and the signature under it."""

from __future__ import annotations

import datetime as dt
import shutil
import textwrap
from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.asking import ask, somebody_there
from panbayes.cli.holder.options import CONFIG, Config, House, StudyName, house, read_signature
from panbayes.cli.text import complain, emit, working
from panbayes.consortium.agent import decisions
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.decisions import Position, position_of
from panbayes.consortium.agent.slots import check_grid
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.consortium.agent.words import Account, Paragraph, consent_words
from panbayes.consortium.agreement.study import Study
from panbayes.consortium.holder.ledger.stored_study import Promise, promise_of
from panbayes.consortium.post.keys import PrivateKey
from panbayes.consortium.post.signatures import sign
from panbayes.display import shortened
from panbayes.errors import ExitCode, InputError, visible
from panbayes.files import write_text

__all__ = ["approve"]

WIDTH: Final = 100


def approve(
    study: StudyName,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="An officer's secret key, to sign with.")] = None,
    signature: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="An officer's signature of the statement, made elsewhere."),
    ] = None,
    statement: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the statement that officers sign, and stop."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask: what is shown has been read.")] = False,
    no_look: Annotated[
        bool, typer.Option("--no-look", help="Do not look whether the table fits the study's schema.")
    ] = False,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Show in plain words what a study asks, and sign that it may be answered.

    One or two officers sign, as the holder's file says; until then nothing leaves. An officer signs with a key here, or
    elsewhere: with --statement FILE, then ssh-keygen -Y sign -n panbayes-approval -f KEY FILE, then --signature
    FILE.sig. So keys in hardware and in an ssh-agent work, and the key need not come to this computer.

    On a terminal it is shown whether the holder's table fits the schema. Whoever decides by what they see there tells
    the analyst one fact about the records; --no-look shows nothing.

    Examples:
        panbayes holder approve clinics --statement clinics.txt
        panbayes holder approve clinics --key mary.key --yes
    """
    if sum(given is not None for given in (key, signature, statement)) > 1:
        raise InputError("--key, --signature, --statement", found="more than one is given", remedy="give one of them")
    if as_json and key is not None and not yes:
        raise InputError(
            "--json", found="shows nothing to read before it asks", remedy="give --yes as well, or not --json"
        )
    with house(config) as opened:
        proposed = opened.find(study).proposed
        account = _account(opened, proposed)
        words = consent_words(proposed, account)
        _check(opened.holder, proposed, position_of(proposed, opened.holder, opened.ledger))
        if not as_json:
            emit(None, _shown(words), as_json=False)
        if not account.fits:
            emit(_facts(opened, proposed, words), ["Nothing was signed."], as_json=as_json)
            raise typer.Exit(ExitCode.NO)
        if statement is not None:
            write_text(statement, _statement(opened, proposed), argument="--statement")
            done = [
                f"{statement}: the statement. To sign it elsewhere:",
                f"  ssh-keygen -Y sign -n panbayes-approval -f KEY {statement}",
                f"  panbayes holder approve STUDY --signature {statement}.sig",
            ]
        elif signature is not None:
            done = _take(opened, proposed, read_signature(signature), argument="--signature")
        elif key is not None:
            signed = _sign(opened, proposed, key, ask_first=not yes, look=not no_look)
            done = _take(opened, proposed, signed, argument="--key")
        else:
            done = _how_to_sign(proposed)
        emit(_facts(opened, proposed, words), done, as_json=as_json)


def _how_to_sign(proposed: ProposedStudy) -> list[str]:
    """Say what an officer who has only read can do next."""
    study = proposed.study.hash[:12]
    return [
        "Nothing was signed. Next, one of:",
        f"  panbayes holder approve {study} --key FILE        sign with an officer's key that is at hand",
        f"  panbayes holder approve {study} --statement FILE  write what is signed, to sign it elsewhere",
        f"  panbayes holder decline {study}                   answer nothing; nobody is told",
    ]


def _statement(opened: House, proposed: ProposedStudy) -> str:
    return decisions.statement_now(proposed, opened.holder, opened.ledger)


def _account(opened: House, proposed: ProposedStudy) -> Account:
    """Read where the holder stands, with what other studies may spend that are approved and have not begun."""
    summary, study = opened.ledger.summary(), proposed.study
    begun = {one.study for one in summary.studies}
    waiting = {
        one.proposed.study.hash: one.proposed.study
        for one in opened.studies.all()
        if one.proposed.study.hash not in begun | {study.hash}
        and position_of(one.proposed, opened.holder, opened.ledger).word == "approved"
    }
    own = _counts(study)
    with opened.ledger.transaction(write=False) as transaction:
        mixed = bool(transaction.promises() - {own})
    return Account.of(
        study,
        summary,
        cap=opened.holder.cap,
        promised=[one.grant for one in waiting.values() if _counts(one) == own],
        mixed=mixed,
        rivals=[one.name for one in waiting.values() if _counts(one) != own],
    )


def _counts(study: Study) -> Promise:
    """Return how a study counts neighbours and persons: losses of studies that differ in it do not add up."""
    return promise_of(study.adjacency, study.schema.unit)


def _check(holder: HolderFile, proposed: ProposedStudy, position: Position) -> None:
    """Refuse what no signature could make answered, and warn as learning does."""
    schema, time = proposed.study.schema, holder.time
    schema.require_approved()
    if position.word == "expired":
        raise InputError(
            "STUDY",
            found=f"ended on {proposed.study.about.until}, and it is {dt.date.today()}",
            remedy="ask the analyst for a study with a later end",
        )
    if position.word == "closed":
        raise InputError("STUDY", found="is closed for good in the ledger", remedy="ask the analyst for another study")
    check_grid(proposed.study, grid=float(time.grid), bound=time.rows_bound, argument=f"{holder.file}, time.rows_bound")
    if schema.drafted:
        complain(
            f"warning: {len(schema.drafted)} of {len(schema)} attributes are as a draft read them off somebody's data, "
            f"and every model names their values ({shortened(schema.drafted, width=60)}); ask for a schema of what is "
            "publicly known"
        )


def _shown(words: list[Paragraph]) -> list[str]:
    width = min(WIDTH, shutil.get_terminal_size().columns)
    return [
        line
        for paragraph in words
        for line in textwrap.wrap(
            f"{paragraph.heading}: {paragraph.text}",
            width,
            subsequent_indent="  ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _sign(opened: House, proposed: ProposedStudy, key: Path, *, ask_first: bool, look: bool) -> str:
    """Return the signature by an officer's key, once the officer has agreed."""
    private = PrivateKey.load(key, argument="--key")
    if opened.holder.officer(private.public) is None:
        raise InputError(
            "--key",
            found=f"{key} ({private.public.fingerprint}) is no officer's key here",
            remedy=f"give the key of an officer of {opened.holder.file}",
        )
    if ask_first:
        _ask(opened.holder, proposed, look=look)
    return sign(private, "panbayes-approval", _statement(opened, proposed).encode())


def _take(opened: House, proposed: ProposedStudy, signature: str, *, argument: str) -> list[str]:
    """Write an officer's signature down; say whose it is, and how the study stands."""
    officer = decisions.approve(proposed, opened.holder, opened.ledger, signature, argument=argument)
    whose = "This officer has signed before: it counts once." if officer is None else f"Signed by {officer.name}."
    return [whose, *_told(opened.holder, position_of(proposed, opened.holder, opened.ledger))]


def _ask(holder: HolderFile, proposed: ProposedStudy, *, look: bool) -> None:
    """Let the officer type the study's name, after a look at how the table fits."""
    if look and somebody_there():
        _look(holder, proposed)
    name = visible(proposed.study.name)
    typed = ask(f'To approve it, type its name, "{name}":', argument="--yes", remedy="give --yes if it has been read")
    if typed not in (name, proposed.study.name):
        raise InputError("STUDY", found="another name was typed: nothing was signed", remedy="run it again to approve")


def _look(holder: HolderFile, proposed: ProposedStudy) -> None:
    """Show how the holder's own table fits the schema, to the person at the terminal and to nobody else."""
    # Imported here: it reads tables, and the holder's agent shall stay small.
    from panbayes.consortium.holder.misfits import show_misfits
    from panbayes.tables.reading import read_records

    try:
        with (
            working("reading the table"),
            read_records(holder.data, proposed.study.schema, argument="source", may_be_empty=True) as records,
        ):
            fit = records.origin.fit
    except InputError as error:
        complain(f"note: how your table fits was not looked at: {error}")
        return
    if fit.clean:
        complain("Your table fits the study's schema (for your eyes only).")
    else:
        show_misfits(holder.name, fit)
        complain("Whoever declines because of this tells the analyst one fact about your records by that.")


def _told(holder: HolderFile, position: Position) -> list[str]:
    if position.word == "stopped":
        return ["The study is stopped, and stays so until panbayes holder resume."]
    if not position.enough:
        return [f"{len(position.signed)} of {position.required} officers have signed; the study waits for the other."]
    return [
        "The study is approved: its questions are answered from now on, by panbayes holder answer or serve.",
        f"The letter that tells the analyst lies in {holder.post('outgoing').path}; either command takes it along.",
    ]


def _facts(opened: House, proposed: ProposedStudy, words: list[Paragraph]) -> dict[str, object]:
    position = position_of(proposed, opened.holder, opened.ledger)
    return {
        "name": proposed.study.name,
        "study": proposed.study.hash,
        "letter": proposed.letter.digest,
        "statement": _statement(opened, proposed),
        "words": {paragraph.heading: paragraph.text for paragraph in words},
        "stands": position.word,
        "signed": [officer.name for officer in position.signed],
        "required": position.required,
    }
