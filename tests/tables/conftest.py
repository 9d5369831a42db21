"""What tests of tables share."""

from __future__ import annotations

import pytest

from tests.postgres import POSTGRES, Postgres


@pytest.fixture
def postgres() -> Postgres:
    """A PostgreSQL server, shared by all tests of a run."""
    assert POSTGRES.port
    return POSTGRES
