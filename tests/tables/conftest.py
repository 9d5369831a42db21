"""What tests of tables share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.postgres import POSTGRES, Postgres


@pytest.fixture(scope="session", autouse=True)
def _ended_postgres() -> Iterator[None]:
    """End the server that a test has started."""
    yield
    POSTGRES.end()


@pytest.fixture
def postgres() -> Postgres:
    """A PostgreSQL server, shared by all tests of a run."""
    assert POSTGRES.port
    return POSTGRES
