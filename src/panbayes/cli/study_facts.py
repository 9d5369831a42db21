"""What a study says, in lines for people: what it costs, whom it protects, what it asks of each holder."""

from __future__ import annotations

from panbayes.cli.study_file import chosen_keys
from panbayes.cli.text import aligned, plural
from panbayes.consortium.agreement.study import Study
from panbayes.privacy.statement import neighbours, show_pair

__all__ = ["asks", "costs", "facts", "protects", "round_trips", "waits"]


def facts(study: Study) -> list[tuple[str, str]]:
    """Return what a study says, as rows of two."""
    schema = study.schema
    chosen = ", ".join(f"{key} = {value}" for key, value in chosen_keys(study).items() if key != "epsilon")
    return [
        *study.about.given.items(),
        ("strategy", f"{study.strategy}: {study.how.summary}"),
        ("costs", costs(study)),
        ("protects", protects(study)),
        *([("waits for", waits(study))] if study.private else []),
        *([("if one is missing", study.when_missing)] if study.private and study.missing != "wait" else []),
        ("schema", f"{schema.name} ({schema.status}), {plural(len(schema), 'attribute')}"),
        *([("chosen", chosen)] if chosen else []),
        ("hash", study.hash),
    ]


def costs(study: Study) -> str:
    """Say what a study costs the people of each holder."""
    unit = study.schema.unit
    found = f"{_promise(study)} for every person, of each holder that takes part" if study.private else "NOT PRIVATE"
    return found if unit is None else f"{found}; a person has at most {plural(unit.max_records, 'record')}"


def protects(study: Study) -> str:
    """Say what neighbouring tables differ by."""
    return neighbours(study.adjacency, unit="person" if study.schema.unit else "record")


def round_trips(study: Study) -> tuple[int, int]:
    """Return how often holders are waited for at most: whatever their number, and more for every one of them."""
    if not study.private:
        return 0, 0
    one, two = study.plan.round_trips(1), study.plan.round_trips(2)
    return 2 * one - two, two - one


def waits(study: Study) -> str:
    """Say how often holders are waited for."""
    common, each = round_trips(study)
    if not each:
        return f"at most {plural(common, 'round trip')}, whatever the number of holders"
    return f"at most {plural(common, 'round trip')}, and {each} more for every holder, which choose in turns"


def _promise(study: Study) -> str:
    if not study.delta or study.epsilon is None:
        return str(study.grant)
    return f"{show_pair(study.epsilon, study.delta)}, through {study.grant},"


def asks(study: Study) -> list[str]:
    """Say what each holder is asked for, from the study's plan."""
    if not study.private:
        return []
    rows = [("times at most", "asks each holder for", "each at most", "at")]
    for stage in study.plan.stages:
        loss = f"any part of {study.grant}, all together" if stage.loss is None else f"{stage.loss} each time"
        rows.append((str(stage.times), stage.words, stage.most, loss))
    return aligned(rows)
