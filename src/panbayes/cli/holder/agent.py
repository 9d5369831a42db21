"""``panbayes holder answer`` and ``panbayes holder serve``: the holder's agent, once or for good.

What these load is small: whoever serves waits most of the time. What computes is started when there is a question.
"""

from __future__ import annotations

import datetime as dt
import shlex
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.holder.options import CONFIG, Config
from panbayes.cli.main import when_stopped
from panbayes.cli.text import complain, emit, plural
from panbayes.consortium.agent.answering import Agent, Did
from panbayes.consortium.agent.carrier import Carrier, FolderCarrier
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.decisions import position_of
from panbayes.consortium.agent.serving import Voice, answer_all, check_start, locked
from panbayes.consortium.agent.serving import serve as serve_letters
from panbayes.consortium.agent.studies import Studies
from panbayes.consortium.agent.worker import Worker
from panbayes.consortium.post.folder import Folder
from panbayes.errors import InputError, visible

__all__ = ["answer", "serve"]

FOLDER_SECONDS: Final = 10.0
"""How long a folder is watched before the agent looks after other things."""

MAILBOX_SECONDS: Final = 1.0
"""How long what comes from a mailbox is waited for; polls go on by themselves, whenever the agent looks."""

WARNING: Final = (
    "warning: NOT PRIVATE: the noise comes from a seed, and who knows it sees through; use it with made-up records only"
)

Simulate = Annotated[
    int | None,
    typer.Option(
        metavar="NUMBER",
        help="NOT PRIVATE: noise from this seed, 0 or above, and nothing charged; for rehearsals on made-up records.",
        min=0,
        show_default="noise that nobody can predict",
    ),
]


def answer(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that letters lie in.")],
    config: Config = CONFIG,
    simulate: Simulate = None,
    as_json: AsJson = False,
) -> None:
    """Answer the questions in a folder that belong to approved studies, and take in new studies.

    The folder may lie on a stick, a share or a synchronised drive. Studies that come are kept until an officer decides;
    what is not approved gets no answer, and waits. To run it again changes nothing that was answered.

    Examples:
        panbayes holder answer post
    """
    holder = HolderFile.load(config)
    letters = FolderCarrier(Folder.at(folder, argument="DIR"), holder.public)
    with locked(holder):
        check_start(holder)
        if simulate is not None:
            complain(WARNING)
        worker = Worker(holder, simulate=simulate)
        agent = Agent(holder, letters, worker, say=_trouble, note=_silent, simulated=simulate is not None, again=False)
        try:
            answer_all(agent)
        finally:
            worker.close()
    waiting = _waiting(holder)
    emit(_facts(agent.did, waiting), _account(holder, agent.did, waiting), as_json=as_json)


def serve(
    post: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder to watch.", show_default="the mailbox that the holder's file names"),
    ] = None,
    config: Config = CONFIG,
    simulate: Simulate = None,
) -> None:
    """Answer the questions of approved studies as they come, until the process is ended.

    It connects to the mailbox, or watches a folder, and opens no door: nobody connects to it. It may be ended (Ctrl-C,
    SIGTERM) and started again at any moment. What it does is said on standard error, a line for every answer.

    Examples:
        panbayes holder serve
        panbayes holder serve --post post
    """
    holder = HolderFile.load(config)
    carrier, seconds = _carrier(holder, post)
    say = Voice(_log)
    with locked(holder):
        check_start(holder)
        if simulate is not None:
            complain(WARNING)
        agent = Agent(
            holder,
            carrier,
            Worker(holder, simulate=simulate),
            say=say,
            note=_log,
            simulated=simulate is not None,
        )
        _log(f"{holder.name}: waiting for letters{'' if post is None else f' in {post}'}")
        when_stopped(lambda: _dated(_stopped(agent)))
        serve_letters(agent, seconds=seconds, say=say)


def _carrier(holder: HolderFile, post: Path | None) -> tuple[Carrier, float]:
    """Return what carries letters, and how many seconds it is waited for at a time."""
    if post is not None:
        return FolderCarrier(Folder.at(post, argument="--post"), holder.public), FOLDER_SECONDS
    if holder.mailbox is None:
        raise InputError(
            f"{holder.file}, mailbox", found="is missing", remedy="add a [mailbox] with a url, or give --post DIR"
        )
    # Imported here: a folder needs nothing that opens connections.
    from panbayes.consortium.agent.mailbox import MailboxCarrier

    box = holder.mailbox
    carrier = MailboxCarrier(box.url, holder.private, ca=holder.ca, poll=box.poll, argument=f"{holder.file}, mailbox")
    return carrier, MAILBOX_SECONDS


def _waiting(holder: HolderFile) -> list[tuple[str, str]]:
    """Return the studies that wait for an officer, by name and hash."""
    with holder.ledger() as ledger:
        return [
            (kept.proposed.study.name, kept.proposed.study.hash)
            for kept in Studies(holder).all()
            if position_of(kept.proposed, holder, ledger).word == "waiting"
        ]


def _facts(did: Did, waiting: list[tuple[str, str]]) -> dict[str, object]:
    return {
        "answered": did.left["answered"],
        "repeated": did.left["repeated"],
        "refused": did.left["refused"],
        "waiting": len(did.waiting),
        "turned away": did.turned_away,
        "studies that came": did.studies,
        "studies that wait": [{"name": name, "study": study} for name, study in waiting],
    }


def _account(holder: HolderFile, did: Did, waiting: list[tuple[str, str]]) -> list[str]:
    left = [f"{what} {did.left[what]}" for what in ("answered", "repeated", "refused") if did.left[what]]
    left += [f"waiting {len(did.waiting)}"] if did.waiting else []
    lines = [f"{holder.name}: {', '.join(left) or 'nothing to answer'}."]
    if did.turned_away:
        lines.append(f"{plural(did.turned_away, 'letter')} not from your analysts, or not to you: left where they are.")
    if waiting:
        named = ", ".join(f"{name} ({study[:12]})" for name, study in waiting)
        verb = "waits" if len(waiting) == 1 else "wait"
        many = "1 study" if len(waiting) == 1 else f"{len(waiting)} studies"
        lines.append(f"{many} {verb} for approval: {named}; look with `panbayes holder pending`.")
    return lines


def _stopped(agent: Agent) -> str:
    """Say how things stand when it is asked to stop: whatever has come is kept, or comes again."""
    waiting = agent.studies_waiting
    told = "no question waits"
    if waiting:
        told = f"questions of {'1 study wait' if waiting == 1 else f'{waiting} studies wait'} (panbayes holder pending)"
    return f"stopped; {told}; start again with: panbayes {visible(shlex.join(sys.argv[1:]))}"


def _log(line: str) -> None:
    """Say a line with the time, which is the holder's own."""
    complain(_dated(line))


def _dated(line: str) -> str:
    return f"{dt.datetime.now(dt.UTC):%Y-%m-%d %H:%M:%SZ} {line}"


def _trouble(line: str) -> None:
    complain(f"note: {line}")


def _silent(_line: str) -> None:
    """Say nothing: the account at the end does."""
