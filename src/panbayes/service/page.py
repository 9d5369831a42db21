"""A page of published releases, for people: every figure with its interval and its age, and how it went before.

It is one document without scripts and without anything from elsewhere. It shows what was published, never what a fresh
estimate would be.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from panbayes.service.shelf import Published

__all__ = ["HEADERS", "Shown", "page"]

HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}

_STYLE: Final = """
:root { color-scheme: light dark; --ink: #1c2733; --faint: #6b7885; --line: #2f6f9f; --back: #fbfcfd; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --faint: #93a1af; --line: #7db8e0; --back: #14191f; }
}
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--back); margin: 2.5rem auto;
  max-width: 46rem; padding: 0 1rem; }
h1 { font-size: 1.3rem; font-weight: 600; }
section { border-top: 1px solid color-mix(in srgb, var(--faint) 40%, transparent); padding: 1rem 0 1.5rem; }
h2 { font-size: 1rem; font-weight: 600; margin: 0; }
.figure { font-size: 2.2rem; font-weight: 300; margin: .2rem 0 0; font-variant-numeric: tabular-nums; }
.faint, footer, text { color: var(--faint); fill: var(--faint); font-size: .85rem; }
p { margin: .1rem 0; }
svg { width: 100%; height: auto; margin-top: 1rem; overflow: visible; }
svg .bar { stroke: var(--line); stroke-width: 1.5; }
svg .dot { fill: var(--line); }
svg .axis { stroke: color-mix(in srgb, var(--faint) 40%, transparent); }
svg text { font-size: 12px; }
"""

_NAMES: Final = {"users": "distinct users", "density": "share of all users who appeared", "value": "estimate"}
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 180, 60, 24
_MOST: Final = 90
"""Releases in a picture, the newest of all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a state: its ``title`` and its ``releases``, the oldest first."""

    title: str
    releases: Sequence[Published]


@dataclass(frozen=True, slots=True)
class _Point:
    value: float
    low: float
    high: float
    moment: str


def page(states: Sequence[Shown], now: float) -> str:
    """Write the page."""
    body = "\n".join(_section(state, now) for state in states)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Published releases</title><style>{_STYLE}</style></head>
<body><h1>Published releases</h1>
{body}
<footer>Every figure has noise in it on purpose, so that it tells next to nothing about any one person. What is shown
was released before; a page that is loaded releases nothing.</footer>
</body></html>
"""


def _section(state: Shown, now: float) -> str:
    title = f"<h2>{html.escape(state.title)}</h2>"
    if not state.releases:
        return f'<section>{title}<p class="faint">Nothing was released yet.</p></section>'
    last = state.releases[-1]
    facts = last.facts
    warning = "" if facts.get("private") is True else '<p class="faint">Not private: its noise was simulated.</p>'
    released = f'<p class="faint">released {last.moment}, {_age(last.age(now))} ago</p>'
    return f"<section>{title}{_headline(facts)}{released}{warning}{_picture(state.releases)}</section>"


def _headline(facts: Mapping[str, object]) -> str:
    if "part" in facts:
        part = html.escape(str(facts["part"]))
        return f"<p>Part {part}: it says nothing of the whole by itself; combine the releases of all parts.</p>"
    point = _point(facts, "")
    if point is None:
        return '<p class="faint">A release of several figures: see /metrics.</p>'
    name = next(_NAMES[key] for key in _NAMES if key in facts)
    about = facts.get("figure")
    told = html.escape(about if isinstance(about, str) else name)
    sure = facts.get("confidence")
    share = f"{100 * sure:g} % interval" if isinstance(sure, float) else "interval"
    high = "any number" if math.isinf(point.high) else _number(point.high)
    return (
        f'<p class="figure">{_number(point.value)}</p>'
        f"<p>{told}; {share} {_number(point.low)} to {high}, ε = {html.escape(str(facts.get('epsilon', '?')))}</p>"
    )


def _point(facts: Mapping[str, object], moment: str) -> _Point | None:
    value = next((facts[key] for key in _NAMES if key in facts), None)
    low, high = facts.get("low"), facts.get("high")
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    return _Point(
        float(value),
        float(low) if isinstance(low, int | float) else 0.0,
        float(high) if isinstance(high, int | float) else math.inf,
        moment,
    )


def _picture(releases: Sequence[Published]) -> str:
    """Draw the newest releases with their intervals; one alone needs no picture."""
    points = [point for one in releases[-_MOST:] if (point := _point(one.facts, one.moment)) is not None]
    if len(points) < 2:
        return ""
    ends = [point.high for point in points if math.isfinite(point.high)]
    top = 1.05 * max([*ends, *(point.value for point in points)]) or 1.0
    step = (_WIDTH - _LEFT) / len(points)

    def height(value: float) -> float:
        return round(_HEIGHT * (1 - min(max(value, 0.0), top) / top), 1)

    marks = []
    for place, point in enumerate(points):
        x = round(_LEFT + (place + 0.5) * step, 1)
        said = f"{point.moment}: {_number(point.value)} ({_number(point.low)} to {_number(point.high)})"
        marks.append(
            f'<g><title>{said}</title><line class="bar" x1="{x}" x2="{x}" y1="{height(point.low)}" '
            f'y2="{height(point.high)}"/><circle class="dot" cx="{x}" cy="{height(point.value)}" r="3.5"/></g>'
        )
    ticks = "".join(
        f'<line class="axis" x1="{_LEFT}" x2="{_WIDTH}" y1="{height(value)}" y2="{height(value)}"/>'
        f'<text x="{_LEFT - 8}" y="{height(value) + 4}" text-anchor="end">{_number(value)}</text>'
        for value in _ticks(top)
    )
    under = _HEIGHT + _BOTTOM - 4
    dates = (
        f'<text x="{_LEFT}" y="{under}">{points[0].moment[:10]}</text>'
        f'<text x="{_WIDTH}" y="{under}" text-anchor="end">{points[-1].moment[:10]}</text>'
    )
    told = f"{len(points)} releases with their intervals"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + _BOTTOM}" role="img" aria-label="{told}">'
        f"{ticks}{''.join(marks)}{dates}</svg>"
    )


def _ticks(top: float) -> list[float]:
    """Return round numbers from 0 up to ``top``, three to six of them.

    >>> _ticks(5300.0)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0, 5000.0]
    """
    size = 10.0 ** math.floor(math.log10(top))
    step = next(size * part for part in (0.2, 0.5, 1.0, 2.0) if top / (size * part) < 6)
    return [round(step * place, 12) for place in range(int(top / step) + 1)]


def _number(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return f"{value:,.0f}" if abs(value) >= 10 or value == int(value) else f"{value:.4g}"


def _age(seconds: int) -> str:
    """Say how long that is, roughly.

    >>> _age(59), _age(3_600), _age(200_000)
    ('59 seconds', '1 hour', '2 days')
    """
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        if seconds >= size:
            count = seconds // size
            return f"{count} {name}{'' if count == 1 else 's'}"
    return "0 seconds"
