"""What a ledger says of its declared dataset, for a person and for a program: spending by block, and of δ."""

from __future__ import annotations

from panbayes.cli.text import aligned, plural
from panbayes.consortium.holder.ledger.summary import Summary
from panbayes.privacy.written import rounded

__all__ = ["dataset_facts", "dataset_lines"]


def dataset_facts(summary: Summary) -> dict[str, object]:
    """Return what is declared and spent by block as JSON; nothing where no dataset is declared."""
    dataset = summary.dataset
    if dataset is None:
        return {}
    unit = dataset.unit
    return {
        "dataset": {
            "source": str(dataset.source),
            "unit": None if unit is None else {"column": unit.column, "max_records": unit.max_records},
            "changing": dataset.changing,
            "blocks": dataset.blocks,
            "delta": str(dataset.delta),
            "delta_spent": str(summary.delta),
            "renumbered": summary.renumbered,
        },
        "blocks": [
            {
                "block": block,
                "spent": summary.spent_of(frozenset({block})).json(),
                "reserved": summary.reserved_of(frozenset({block})).json(),
            }
            for block in summary.blocks
        ],
    }


def dataset_lines(summary: Summary) -> list[str]:
    """Return the same in lines."""
    dataset = summary.dataset
    if dataset is None:
        return []
    unit = dataset.unit
    records = "" if unit is None else plural(unit.max_records, "record")
    whose = "every record is a person" if unit is None else f"persons by {unit.column}, {records} of each"
    kind = "changes" if dataset.changing else "is fixed"
    lines = [f"  Dataset: {dataset.source}, which {kind}; {whose}."]
    if dataset.delta:
        lines.append(f"  Own δ spent: {rounded(summary.delta)} of {rounded(dataset.delta, up=False)}.")
    if summary.blocks:
        rows = [("block", "spent", "reserved")]
        for block in summary.blocks:
            named = frozenset({block})
            rows.append((block, summary.spent_of(named).plain(), summary.reserved_of(named).plain()))
        lines += aligned(rows)
    if summary.renumbered:
        lines.append("  Its ids were renumbered: every study is charged to every block.")
    return lines
