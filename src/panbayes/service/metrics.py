"""Published releases as OpenMetrics, for Prometheus and others: figures and ages of releases, and nothing else.

No counter of requests, no use of processor or memory: these follow the stream. The counts that figures are computed
from stand in the releases themselves.
"""

from __future__ import annotations

from collections.abc import Sequence

from panbayes.service.shelf import Published, figures

__all__ = ["CONTENT_TYPE", "openmetrics"]

CONTENT_TYPE = "application/openmetrics-text; version=1.0.0; charset=utf-8"


def openmetrics(releases: Sequence[Published], now: float) -> str:
    """Write the newest release of every state.

    >>> print(openmetrics([Published("visitors", 0, 1, 1_000, {"users": 5})], now=1_060))
    # TYPE panbayes_release gauge
    # HELP panbayes_release A figure of the newest published release.
    panbayes_release{state="visitors",figure="users"} 5.0
    # TYPE panbayes_release_age_seconds gauge
    # UNIT panbayes_release_age_seconds seconds
    # HELP panbayes_release_age_seconds How long ago it was published.
    panbayes_release_age_seconds{state="visitors"} 60
    # EOF
    <BLANKLINE>
    """
    lines = ["# TYPE panbayes_release gauge", "# HELP panbayes_release A figure of the newest published release."]
    lines += [
        f'panbayes_release{{state="{one.state}",figure="{_label(name)}"}} {value!r}'
        for one in releases
        for name, value in figures(one.facts)
        if not name.startswith("counts.")
    ]
    lines += [
        "# TYPE panbayes_release_age_seconds gauge",
        "# UNIT panbayes_release_age_seconds seconds",
        "# HELP panbayes_release_age_seconds How long ago it was published.",
        *(f'panbayes_release_age_seconds{{state="{one.state}"}} {one.age(now)}' for one in releases),
        "# EOF",
    ]
    return "\n".join(lines) + "\n"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
