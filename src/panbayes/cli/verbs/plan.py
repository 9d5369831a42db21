"""``panbayes plan``: what a study will spend, how wrong its network will be, what it takes; or what a wish takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from panbayes.cli.arguments import AsJson
from panbayes.cli.help import add_command
from panbayes.cli.plan_text import advice_lines, as_data, comparison, forecast_lines, percent, threshold_line
from panbayes.cli.text import emit, plural
from panbayes.consortium.agreement.study import Study
from panbayes.errors import InputError
from panbayes.exact.score_rounding import MAX_RECORDS
from panbayes.files import check_output, output_file
from panbayes.planning.advice import advise, alternatives, statistics_threshold
from panbayes.planning.forecast import Setting, forecast
from panbayes.planning.wishes import (
    MOST_EPSILON,
    Wish,
    epsilon_for,
    holders_among,
    holders_for,
    most_holders,
    parse_wish,
    records_for,
    worse_epsilon,
    worse_records,
)
from panbayes.privacy.written import show_fraction

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command ``plan``."""
    add_command(app, plan)


def plan(
    study: Annotated[Path, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    holders: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="How many holders take part.", show_default="asked for by --want, or 1"),
    ] = None,
    records: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Records of all holders together.", show_default="asked for by --want, else needed"
        ),
    ] = None,
    each: Annotated[bool, typer.Option("--each", help="--records are those of each holder.")] = False,
    want: Annotated[
        str | None,
        typer.Option(
            metavar="WISH",
            help='Such as "marginals within 1 %" or "pairs within 2 %": what it takes, of ε, records and holders that '
            "which is not given.",
            show_default="none",
        ),
    ] = None,
    compare: Annotated[bool, typer.Option("--compare", help="Put all strategies side by side.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw errors over ε, as .png or .svg; it must not exist.", show_default="none"
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Foresee what a study will spend, how wrong its network will be, and what it takes.

    Touches no data and spends nothing. Expected errors are within a factor of 2.5 of what runs gave, mostly; what is
    said to be at most cannot be exceeded.

    Examples:
        panbayes plan study.toml --holders 3 --records 20000
        panbayes plan study.toml --holders 3 --records 20000 --compare
        panbayes plan study.toml --holders 3 --records 20000 \\
            --want "marginals within 1 %"
        panbayes plan study.toml --holders 3 --want "pairs within 5 %"
    """
    agreed = Study.load(study)
    wish = None if want is None else parse_wish(want, argument="--want")
    _check_picture(picture, study)
    if records is not None and records < 1:
        raise InputError("--records", found=f"found {records}", remedy="give 1 or more")
    if holders is not None and holders < 1:
        raise InputError("--holders", found=f"found {holders}", remedy="give 1 or more")
    if wish is not None and (records is None or holders is None):
        _answer(agreed, wish, holders, records, each=each, picture=picture, as_json=as_json)
        return
    if records is None:
        raise InputError(
            "--records", found="is missing", remedy="say how many there are, or ask with --want how many it takes"
        )
    many = holders or 1
    setting = Setting(agreed, many, records * many if each else records)
    found = forecast(setting)
    others = {name: forecast(one) for name, one in alternatives(setting).items()} if compare else {}
    known = {name: one.errors for name, one in others.items()} | {agreed.strategy: found.errors}
    advice, threshold = advise(setting, known), statistics_threshold(setting)
    wished = None if wish is None else _epsilon(wish, setting)
    drawn = _draw(picture, setting, wish)
    emit(
        {
            **as_data(found),
            "statistics_threshold": None if threshold is None or threshold.fails else threshold.epsilon,
            "advice": {"strategy": advice.strategy, "why": advice.why, "pure": advice.purely},
            **({"compared": {name: as_data(one) for name, one in others.items()}} if compare else {}),
            **({"wish": wished.data} if wished else {}),
            **({"picture": str(picture)} if picture else {}),
        },
        [
            *forecast_lines(found),
            "",
            *([*comparison(others, agreed), ""] if compare else []),
            *([wished.line] if wished else []),
            threshold_line(threshold, agreed),
            *advice_lines(advice, agreed),
            *drawn,
        ],
        as_json=as_json,
    )


@dataclass(frozen=True, slots=True)
class _Wished:
    line: str
    data: dict[str, object]


def _epsilon(wish: Wish, setting: Setting) -> _Wished:
    epsilon, now = epsilon_for(wish, setting), wish.error(setting)
    own = setting.study.epsilon
    gives = "links no pairs" if now is None else f"gives {percent(now)}"
    given = f"the study's ε = {show_fraction(own) if own else 0} {gives}"
    data: dict[str, object] = {
        "wish": str(wish),
        "asked": "epsilon",
        "takes": epsilon,
        "but_not": None,
        "at_the_studys": now,
    }
    if epsilon is None:
        return _Wished(f"{_capital(wish)}: cannot be reached with any ε up to {MOST_EPSILON:,.0f}; {given}.", data)
    worse = data["but_not"] = worse_epsilon(wish, setting, epsilon)
    more = "or more" if worse is None else f"(more is not always better: {worse:g} is not enough)"
    return _Wished(f"{_capital(wish)}: takes ε = {epsilon:g} {more}, expected; {given}.", data)


def _capital(wish: Wish) -> str:
    text = str(wish)
    return f"{text[:1].upper()}{text[1:]}"


def _answer(
    study: Study,
    wish: Wish,
    holders: int | None,
    records: int | None,
    *,
    each: bool,
    picture: Path | None,
    as_json: bool,
) -> None:
    """Say how many records or holders it takes."""
    if picture is not None:
        raise InputError(
            "--picture", found="is given, and --holders or --records is not", remedy="give both, or leave it"
        )
    epsilon = f"at ε = {show_fraction(study.epsilon) if study.epsilon else 0}"
    takes: int | None
    worse: int | None = None
    if records is None:
        many = holders or 1
        asked_in = Setting(study, many, many)
        takes = records_for(wish, asked_in, each=each)
        worse = None if takes is None else worse_records(wish, asked_in, takes, each=each)
        more = "or more" if worse is None else f"(more is not always better: {worse:,} are not enough)"
        asked, place = "records", f"with {plural(many, 'holder')}, {epsilon}"
        text = f"takes {plural(takes or 0, 'record')} {'at each holder' if each else 'in all'} {more}"
        cannot = f"cannot be reached with up to {plural(MAX_RECORDS, 'record')} in all"
    elif each:
        takes = holders_for(wish, Setting(study, 1, records), each=records)
        asked, place = "holders", f"with {plural(records, 'record')} at each holder, {epsilon}"
        text = f"takes {plural(takes or 0, 'holder')} or more"
        many = most_holders(study, each=records)
        cannot = f"cannot be reached with up to {plural(many, 'holder')}"
    else:
        takes = holders_among(wish, Setting(study, 1, records))
        asked, place = "holders", f"with {plural(records, 'record')} in all, {epsilon}"
        text = f"holds for at most {plural(takes or 0, 'holder')}: each adds its noise"
        cannot = "cannot be reached, not even by one holder"
    emit(
        {"wish": str(wish), "asked": asked, "takes": takes, "but_not": worse, "strategy": study.strategy},
        [
            f"{study.source}: {study.name}, by {study.strategy}. Nothing is read and nothing is spent.",
            f"{_capital(wish)}: {text if takes else cannot}, expected {place}.",
        ],
        as_json=as_json,
    )


def _check_picture(picture: Path | None, study: Path) -> None:
    if picture is None:
        return
    if picture.suffix.lower() not in (".png", ".svg"):
        raise InputError("--picture", found=f"found {picture}", remedy="give a name that ends in .png or .svg")
    check_output(picture, argument="--picture", inputs=(study,))
    if picture.exists():
        raise InputError("--picture", found=f"{picture} exists", remedy="give another name, or remove it first")


def _draw(picture: Path | None, setting: Setting, wish: Wish | None) -> list[str]:
    if picture is None:
        return []
    draw = _drawing()
    with output_file(picture, argument="--picture", inputs=(setting.study.source,)) as temporary:
        draw(temporary, picture.suffix.lower().lstrip("."), setting, wish)
    return [f"{picture}: expected errors over ε, for every strategy."]


def _drawing() -> Callable[[Path, str, Setting, Wish | None], None]:
    try:
        # Imported here: it takes time to load, and few ask for a picture.
        from panbayes.cli.plan_picture import draw_plan
    except ModuleNotFoundError:
        raise InputError(
            "--picture", found="needs matplotlib", remedy="pip install panbayes[figures], or leave it out"
        ) from None
    return draw_plan
