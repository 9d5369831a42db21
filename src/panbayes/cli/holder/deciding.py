"""``panbayes holder decline``, ``stop`` and ``resume``: what takes consent away, and what gives it back."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.holder.options import CONFIG, By, Config, Reason, StudyName, author, house
from panbayes.cli.text import aligned, emit, plural
from panbayes.consortium.agent import decisions
from panbayes.consortium.agent.decisions import position_of
from panbayes.consortium.agent.study_letters import ProposedStudy
from panbayes.errors import InputError

__all__ = ["decline", "resume", "stop"]


def decline(
    study: StudyName, reason: Reason = "", by: By = None, config: Config = CONFIG, as_json: AsJson = False
) -> None:
    """Decline a study: it is not answered, and what was signed for it is void.

    The analyst is not told: a study that is declined, stopped, unknown or not yet read looks the same from outside.
    Officers who change their mind approve it anew.

    Examples:
        panbayes holder decline clinics --reason "no ethics vote"
    """
    with house(config) as opened:
        proposed = opened.find(study).proposed
        decisions.decline(proposed, opened.ledger, by=author(by), reason=reason)
    emit(_facts(proposed, "declined"), [f"{_named(proposed)} is declined. Nobody is told."], as_json=as_json)


def stop(
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY",
            help="The study: its name or how its hash begins, as panbayes holder pending shows them.",
            show_default="with --all, every one",
        ),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Stop every study that has arrived.")] = False,
    reason: Reason = "",
    by: By = None,
    config: Config = CONFIG,
    as_json: AsJson = False,
) -> None:
    """Stop a study: nothing leaves from now on.

    It takes effect before the next answer, also of an agent that runs. No key is needed: whoever may use this computer
    as the holder may stop. What has left cannot be taken back and stays spent; panbayes holder resume lets it go on.

    Examples:
        panbayes holder stop clinics --reason "the contract has ended"
        panbayes holder stop --all
    """
    if (study is None) != everything:
        raise InputError("STUDY", found="is needed, or else --all", remedy="give one of the two")
    with house(config) as opened:
        if study is not None:
            stopped = {opened.find(study).proposed.study.hash: opened.find(study).proposed}
        else:
            stopped = {one.proposed.study.hash: one.proposed for one in opened.studies.all()}
        for proposed in stopped.values():
            decisions.stop(proposed, opened.ledger, by=author(by), reason=reason)
    emit(
        [_facts(proposed, "stopped") for proposed in stopped.values()],
        [f"{_named(proposed)} is stopped: nothing leaves from now on." for proposed in stopped.values()]
        or ["No study has arrived: nothing is to be stopped."],
        as_json=as_json,
    )


def resume(
    study: StudyName, reason: Reason = "", by: By = None, config: Config = CONFIG, as_json: AsJson = False
) -> None:
    """Let a study go on that was stopped, or paused after answers that failed.

    It goes on with the approvals that its officers have signed; where those are void or too few, they sign first.
    Answers that failed are shown, for the holder's eyes: that they failed may tell something about the records.

    Examples:
        panbayes holder resume clinics --reason "the contract is renewed"
    """
    with house(config) as opened:
        proposed = opened.find(study).proposed
        before = position_of(proposed, opened.holder, opened.ledger).word
        failed = decisions.resume(proposed, opened.holder, opened.ledger, by=author(by), reason=reason)
        now = position_of(proposed, opened.holder, opened.ledger).word
    rows = [("when", "question", "kind", "failed by")]
    shown = aligned([*rows, *((f.time, f.question[:12], f.kind, f.error) for f in failed)]) if failed else []
    told = f"{plural(len(failed), 'answer')} to it failed since you last looked:" if failed else ""
    emit(
        {**_facts(proposed, now), "before": before, "failed": [asdict(one) for one in failed]},
        [_goes_on(proposed, before), *([told] if told else []), *shown],
        as_json=as_json,
    )


def _goes_on(proposed: ProposedStudy, before: str) -> str:
    if before == "approved":
        return f"{_named(proposed)} was neither stopped nor paused: it goes on as before."
    return f"{_named(proposed)} was {before}, and goes on."


def _named(proposed: ProposedStudy) -> str:
    return f"{proposed.study.name} ({proposed.study.hash[:12]})"


def _facts(proposed: ProposedStudy, word: str) -> dict[str, object]:
    return {"name": proposed.study.name, "study": proposed.study.hash, "stands": word}
