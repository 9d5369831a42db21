"""A published figure that changes only when the estimate does: post-processing of releases, which costs nothing.

A release is spent whenever it is made, whether it is published or not. It is replaced once an interval of
the new estimate has no number in common with that of the published one: the two differ by more than their errors.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from panbayes.errors import InputError
from panbayes.files import check_output, write_bytes

if TYPE_CHECKING:
    from panbayes.stream.release import StreamRelease
    from panbayes.stream.setup import StreamSetup

__all__ = [
    "Publish",
    "ReleaseFile",
    "check_published",
    "check_release_place",
    "publish",
    "would_change",
    "write_release",
]

Publish = Annotated[
    Path | None,
    typer.Option(
        "--publish",
        metavar="FILE",
        help="Keep the estimate as JSON in FILE, and replace it only when it changed by more than the intervals allow; "
        "the release is spent either way.",
        show_default=False,
    ),
]

ReleaseFile = Annotated[
    Path | None,
    typer.Option(
        "--release",
        metavar="FILE",
        help="Write the release to FILE: the noisy counts as JSON, with all that anybody needs to recompute the "
        "estimate. An older release of the same state is replaced.",
        show_default=False,
    ),
]

_MOST: Final = 1 << 20
_FOLDER: Final = "give a file in a folder that exists and can be written; no release was spent"


def check_published(place: Path, *, state: Path) -> None:
    """Refuse a place that could not be written, before a release is spent."""
    check_output(place, argument="--publish", inputs=[state])
    if place.exists():
        _published(place)
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InputError("--publish", found=f"nothing can be written beside {place}", remedy=_FOLDER)


def check_release_place(place: Path, *, state: Path, setup: StreamSetup) -> None:
    """Refuse a place that could not be written, or holds something else, before a release is spent."""
    from panbayes.cli.stream.parts import read_release
    from panbayes.stream.releasing import require_releasable
    from panbayes.stream.saved_setup import digest_of

    require_releasable(setup)
    check_output(place, argument="--release", inputs=[state])
    if place.exists():
        try:
            found = read_release(place)
        except InputError:
            raise InputError(
                "--release", found=f"{place} holds no release", remedy="give another name, or remove the file"
            ) from None
        if found.stream != digest_of(setup) or found.part != (None if setup.part is None else setup.part.number):
            raise InputError("--release", found=f"{place} holds a release of another state", remedy="give another name")
    if not os.access(place.parent, os.W_OK | os.X_OK):
        raise InputError("--release", found=f"nothing can be written beside {place}", remedy=_FOLDER)


def write_release(place: Path, release: StreamRelease) -> None:
    """Write a release to its place."""
    write_bytes(place, release.to_bytes(), argument="--release")


def publish(place: Path, facts: Mapping[str, object]) -> bool:
    """Write an estimate to its place if nothing is there or it changed; say whether it was written."""
    if place.exists() and not would_change(_published(place), facts):
        return False
    write_bytes(place, json.dumps(facts, indent=2, ensure_ascii=False).encode() + b"\n", argument="--publish")
    return True


def would_change(old: object, new: object) -> bool:
    """Say whether an interval anywhere in an estimate has nothing in common with the same one of an older estimate.

    What has other groups or another shape has changed too.

    >>> would_change({"users": 5, "low": 1, "high": 9}, {"users": 9, "low": 8, "high": None})
    False
    >>> would_change({"users": 5, "low": 1, "high": 7}, {"users": 9, "low": 8, "high": 12})
    True
    """
    if isinstance(new, Mapping):
        if not isinstance(old, Mapping) or not set(new) <= set(old):
            return True
        if "low" in new and "high" in new:
            return _end(old["high"], math.inf) < _end(new["low"], -math.inf) or _end(new["high"], math.inf) < _end(
                old["low"], -math.inf
            )
        return any(would_change(old[key], value) for key, value in new.items() if isinstance(value, Mapping | list))
    if isinstance(new, list) and all(isinstance(item, Mapping) for item in new):
        return not isinstance(old, list) or len(old) != len(new) or any(map(would_change, old, new))
    return False


def _end(value: object, open_end: float) -> float:
    """Return an end of an interval; what is no number is an end that excludes nothing."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else open_end


def _published(place: Path) -> object:
    """Read what was published; a file that holds no estimate is not replaced."""
    try:
        with place.open("rb") as file:
            found: object = json.loads(file.read(_MOST))
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, Mapping) or "releases_left" not in found:
        raise InputError(
            "--publish", found=f"{place} holds no published estimate", remedy="give another name, or remove the file"
        )
    return found
