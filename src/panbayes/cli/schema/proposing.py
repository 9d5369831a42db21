"""What private proposals have in common: the price first, a person who agrees, then the answer and its attribute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from panbayes.cli.arguments import input_paths
from panbayes.cli.asking import ask
from panbayes.cli.holder.owned import owner_of
from panbayes.cli.schema.approved import check_not_approved
from panbayes.cli.schema.officers import Signing, sign_own, waiting_for, write_statement
from panbayes.cli.text import aligned, complain, emit, plural, working
from panbayes.consortium.agent.configuration import HolderFile
from panbayes.consortium.agent.own_questions import consent_to_own
from panbayes.consortium.holder.consent import Consent
from panbayes.consortium.holder.ledger.cabinet import SUFFIX, Cabinet
from panbayes.consortium.holder.ledger.ledger import Ledger
from panbayes.consortium.holder.proposals.asking import Offer, offer, take
from panbayes.consortium.holder.proposals.proposed import Proposed, propose
from panbayes.consortium.holder.proposals.wish import Wish
from panbayes.dp.secure import SecureNoise
from panbayes.errors import InputError
from panbayes.files import write_text
from panbayes.privacy.statement import neighbours
from panbayes.privacy.written import parse_epsilon, parse_number, rounded
from panbayes.schema.schema import DEFAULT_MISSING_VALUES
from panbayes.schema.toml_writer import toml_item

__all__ = [
    "Again",
    "Agreed",
    "Blocks",
    "ColumnName",
    "DatasetName",
    "Epsilon",
    "MissingWords",
    "Snippet",
    "Terms",
    "ask_dataset",
    "blocks_of",
    "epsilon_of",
    "exact",
    "missing_of",
    "options_named",
]

DatasetName: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="DATASET", help="A declared dataset: its name in the --state folder, or its ledger's file."),
]
ColumnName: TypeAlias = Annotated[str, typer.Argument(metavar="COLUMN", help="The column to ask about.")]
Epsilon: TypeAlias = Annotated[
    str, typer.Option("--epsilon", metavar="NUMBER", help="What the answer may cost every person, such as 0.1.")
]
Snippet: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Where to write the proposed attribute (TOML).",
        show_default="the screen",
    ),
]
Agreed: TypeAlias = Annotated[bool, typer.Option("--yes", help="Agree to the price without being asked.")]
Again: TypeAlias = Annotated[
    str,
    typer.Option(
        "--edition",
        metavar="NAME",
        help="A name for asking anew, of the table as it is now, at the price again; without it the same question gets "
        "the same answer, free.",
        show_default="none",
    ),
]
Blocks: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--blocks",
        metavar="PERIODS",
        help="Of a dataset with blocks: whose people to ask about, and to charge, such as 2026-Q3,2026-Q4.",
        show_default="everybody",
    ),
]
MissingWords: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--missing-value", metavar="WORD", help="What else means missing, beside NA, NaN, null and ?. Repeatable."
    ),
]

_OPTIONS: Final = frozenset({"blocks", "delta", "epsilon", "high", "low", "period", "quantiles", "step"})

SHOWN: Final = 20
"""So many counts are shown to people; --json has all."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What both verbs take beside their own question."""

    state: Path | None
    output: Path | None
    yes: bool
    as_json: bool
    bins: int
    signing: Signing


def exact(text: str, argument: str) -> Fraction:
    """Read a number exactly, of either sign."""
    bare = text.strip()
    value = parse_number(bare.removeprefix("-"), argument=argument)
    return -value if bare.startswith("-") else value


def epsilon_of(text: str) -> Fraction:
    """Read --epsilon."""
    return parse_epsilon(text, argument="--epsilon")


def missing_of(words: Sequence[str] | None) -> tuple[str, ...]:
    """Return all that means missing."""
    return (*DEFAULT_MISSING_VALUES, *(words or ()))


def blocks_of(text: str | None) -> tuple[str, ...]:
    """Read --blocks."""
    return tuple(sorted({part.strip() for part in (text or "").split(",")} - {""}))


def ask_dataset(dataset: str, wish: Wish, terms: Terms, *, asks: str) -> None:
    """Show what a wish costs, have somebody agree, and show what the answer proposes. ``asks`` says what is asked."""
    if terms.output is not None:
        check_not_approved(terms.output)
    path = _path(dataset, terms.state)
    holder = owner_of(path, terms.signing.config)
    if holder is None and terms.signing.options:
        raise InputError(
            terms.signing.options[0], found="is given, and no officers decide about this account", remedy="leave it out"
        )
    with options_named(), Ledger.open(path) if holder is None else holder.ledger() as ledger:
        offered = offer(ledger, wish)
        if not terms.as_json:
            emit(None, _price(dataset, offered, asks), as_json=False)
        if holder is not None and terms.signing.statement is not None:
            done = write_statement(holder, offered.proposal, terms.signing.statement)
            emit({"statement": str(terms.signing.statement)}, done, as_json=terms.as_json)
            return
        if offered.stored is None and not terms.yes:
            _agree(terms)
        consent = None
        if holder is not None and offered.stored is None:
            consent = _signed(holder.reread(), ledger, offered, terms)
        with working("reading the table"):
            answer = take(ledger, offered, noise=SecureNoise(), consent=consent)
        proposed = propose(wish, answer, offered.protected, bins=terms.bins)
        after = offer(ledger, wish)
    snippet = None if proposed.attribute is None else toml_item("attributes", proposed.attribute)
    if terms.output is not None and snippet is not None:
        write_text(terms.output, snippet, inputs=input_paths([offered.dataset.source]))
    emit(
        _facts(offered, after, proposed, snippet),
        _account(offered, after, proposed, terms.output, snippet),
        as_json=terms.as_json,
    )
    if terms.output is not None and snippet is None:
        complain(f"{terms.output}: not written, since nothing is proposed")


@contextmanager
def options_named() -> Iterator[None]:
    """Let errors about a part of the question name the option that it came from."""
    try:
        yield
    except InputError as error:
        name = error.argument.removeprefix("study, ")
        if name not in _OPTIONS:
            raise
        raise InputError(f"--{name}", found=error.found, remedy=error.remedy) from None


def _path(dataset: str, state: Path | None) -> Path:
    path = Path(dataset)
    if not (path.exists() or path.suffix == SUFFIX or len(path.parts) > 1):
        path = Cabinet.in_state(state).path(dataset)
    if not path.is_file():
        raise InputError(
            "DATASET",
            found=f'"{dataset}" is no declared dataset ({path} is not there)',
            remedy="declare it: panbayes holder dataset declare",
        )
    return path


def _signed(holder: HolderFile, ledger: Ledger, offered: Offer, terms: Terms) -> Consent:
    """Write an officer's signature down, and return the consent that is asked for with the charge."""
    sign_own(holder, ledger, offered.proposal, terms.signing)
    missing = waiting_for(holder, ledger, offered.proposal)
    if missing is not None:
        raise InputError(
            "--key",
            found=missing,
            remedy="let an officer sign: --key FILE with a key that is at hand, --statement FILE to sign elsewhere",
        )
    return consent_to_own(holder, offered.proposal)


def _agree(terms: Terms) -> None:
    if terms.as_json:
        raise InputError("--json", found="shows no price before it asks", remedy="give --yes as well, or not --json")
    typed = ask('To pay this, type "yes":', argument="--yes", remedy="give --yes to agree: nothing was computed")
    if typed.lower() != "yes":
        raise InputError("--yes", found="something else was typed", remedy="nothing was computed, and nothing charged")


def _price(dataset: str, offered: Offer, asks: str) -> list[str]:
    """Say what is asked, what it costs whom, and what is left of the account."""
    wish, protected = offered.wish, offered.protected
    unit = "record" if protected.unit is None else "person"
    lines = [f"Asks: {asks}."]
    if offered.stored is not None:
        return [*lines, "Costs: nothing; it was answered before, and this is the same answer."]
    delta = f", and δ = {rounded(wish.delta)}" if wish.delta else ""
    lines.append(f"Costs: {offered.proposal.grant.plain()}{delta}, from the account of {dataset}.")
    lines.append(f"Protects: {neighbours(protected.adjacency, unit=unit)}.")
    if protected.unit is not None:
        kept = plural(protected.max_records, "record")
        lines.append(f"A person is one {protected.unit.column}, with at most {kept}.")
    if wish.delta:
        lines.append("δ is the chance that a value is named which one person alone has.")
    if offered.left is None:
        lines.append("Left: any amount; no cap is set (panbayes holder ledger cap).")
    else:
        after = offered.left.less(offered.proposal.grant)
        lines.append(f"Left: {offered.left.plain(up=False)} of the cap now, {after.plain(up=False)} afterwards.")
    if wish.delta:
        now, then = (rounded(left, up=False) for left in (offered.delta_left, offered.delta_left - wish.delta))
        lines.append(f"Left: δ = {now} of the dataset's own now, δ = {then} afterwards.")
    return lines


def _facts(offered: Offer, after: Offer, proposed: Proposed, snippet: str | None) -> dict[str, object]:
    wish, protected = offered.wish, offered.protected
    return {
        "question": dict(wish.question()),
        "proposal": offered.proposal.hash,
        "epsilon": str(wish.epsilon),
        "delta": str(wish.delta),
        "adjacency": protected.adjacency,
        "unit": None if protected.unit is None else protected.unit.column,
        "max_records": None if protected.unit is None else protected.unit.max_records,
        "charged": offered.stored is None,
        "left": None if after.left is None else after.left.json(),
        "delta_left": str(after.delta_left),
        "counts": [list(figure) for figure in proposed.figures],
        "deviation": proposed.deviation,
        "threshold": proposed.threshold,
        "error": proposed.error,
        "attribute": snippet,
    }


def _account(offered: Offer, after: Offer, proposed: Proposed, output: Path | None, snippet: str | None) -> list[str]:
    lines: list[str] = []
    if offered.stored is None:
        left = "" if after.left is None else f"; {after.left.plain(up=False)} of the cap is left"
        lines.append(f"Charged: {offered.proposal.grant.plain()}{left}.")
    if proposed.figures:
        shown = [(label, f"{count:,}") for label, count in proposed.figures[:SHOWN]]
        lines += aligned([("value", "about"), *shown])
        more = len(proposed.figures) - SHOWN
        lines += [f"  and {more:,} more; --json has all"] if more > 0 else []
    if proposed.deviation is not None:
        lines.append(f"These are noisy: the standard deviation of each number is {proposed.deviation:.3g}.")
    if proposed.threshold is not None:
        lines.append(f"What is below {proposed.threshold:,} does not stand out from the noise, and is left out.")
    if proposed.error is not None:
        lines.append(
            f"Edges are noisy: 19 times of 20, each is off by at most {proposed.error:,.0f} records more than the best."
        )
    if snippet is None:
        return [*lines, "Nothing stands out from the noise: a larger ε, or more people, would tell more."]
    if output is not None:
        return [*lines, f"{output}: the proposed attribute, to be put into a schema."]
    return [*lines, "Proposed, to be put into a schema:", *snippet.rstrip("\n").split("\n")]
