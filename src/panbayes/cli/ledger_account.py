"""What a ledger says, for a person and for a program: what was spent and is left, and what the holder should know."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from panbayes.cli.dataset_account import dataset_facts, dataset_lines
from panbayes.cli.text import aligned, plural
from panbayes.consortium.holder.ledger.summary import Summary

__all__ = ["account", "facts", "failures"]


def facts(path: Path, summary: Summary) -> dict[str, object]:
    """Return what a ledger says as JSON: nothing that a reply could be guessed by."""
    return {
        "ledger": str(path),
        "cap": None if summary.cap is None else summary.cap.json(),
        "spent": summary.spent.json(),
        "reserved": summary.reserved.json(),
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
                "closed": study.closed,
            }
            for study in summary.studies
        ],
        **dataset_facts(summary),
        "looked": list(summary.looked),
        "failed": [
            {"name": name, "study": study, "failures": many, "paused": study in summary.paused}
            for (study, name), many in failures(summary).items()
        ],
    }


def account(path: Path, summary: Summary, *, owned: bool = False) -> list[str]:
    """Return what a ledger says in lines; one that is ``owned`` belongs to a holder's file, and its officers decide."""
    lines = [f"{path}"]
    if summary.studies:
        rows = [("study", "hash", "releases", "spent", "granted", "")]
        rows += [
            (s.name, s.study[:12], str(s.entries), s.spent.plain(), s.grant.plain(), "closed" if s.closed else "")
            for s in summary.studies
        ]
        lines += aligned(rows)
    limit = "no cap set"
    if summary.left is not None and summary.cap is not None:
        limit = f"privacy left: {summary.left.plain(up=False)} (cap {summary.cap.plain(up=False)})"
    kept = summary.reserved
    begun = "" if kept == summary.spent else f" ({kept.plain()} reserved for studies that have begun)"
    lines.append(f"  Privacy spent: {summary.spent.plain()}{begun}; {limit}.")
    lines += dataset_lines(summary)
    for (study, name), many in failures(summary).items():
        paused = study in summary.paused
        command = "panbayes holder resume" if owned else "panbayes holder ledger resume LEDGER"
        remedy = f"; it is paused until you look: {command} {study[:12]}" if paused else ""
        lines.append(f"  {plural(many, 'answer')} to {name} failed{remedy}.")
    if summary.left_behind is not None:
        lines.append(f"  It was moved without {summary.left_behind.name}, and answers nothing new: move that here too.")
    if summary.looked:
        lines.append(f"  NOT PRIVATE: everything was looked at without noise, by {', '.join(summary.looked)}.")
    return [*lines, f"  Head: {summary.head}"]


def failures(summary: Summary) -> dict[tuple[str, str], int]:
    """Count the answers that failed, by hash and name of their study."""
    return dict(Counter((failure.study, failure.name) for failure in summary.failures))
