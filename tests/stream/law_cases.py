"""Every state law there is, on few and on many levels: what the contract suites run over."""

from __future__ import annotations

import pytest

from panbayes.stream.laws.registry import law_kinds

__all__ = ["over_laws"]


def over_laws(*levels: int) -> pytest.MarkDecorator:
    """Run a test with ``kind`` and ``levels``: every kind of law, with each of these levels that it can have."""
    cases = [(kind, count) for kind in law_kinds().values() for count in levels if count <= kind.most_levels]
    return pytest.mark.parametrize(("kind", "levels"), cases, ids=[f"{kind.name}-{count}" for kind, count in cases])
