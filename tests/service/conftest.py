"""Fixtures of tests of the service."""

from __future__ import annotations

import pytest


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a service that ought to be refused, and is not, end at once."""

    async def serves(_service: object, _every: float) -> None:
        raise AssertionError("it serves")

    monkeypatch.setattr("panbayes.service.serving._Service._beat_until_stopped", serves)
