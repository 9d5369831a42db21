"""Servers that tests of tables share: PostgreSQL, and a session of Spark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from panbayes.tables.quiet import quiet
from panbayes.tables.spark.session import without_warnings
from tests.postgres import POSTGRES, Postgres
from tests.spark_here import needs_spark

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture
def postgres() -> Postgres:
    """A PostgreSQL server, shared by all tests of a run."""
    assert POSTGRES.port
    return POSTGRES


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Two workers on this machine; whatever fails is tried three times."""
    needs_spark()
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch, without_warnings(), quiet():
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.master("local[2,3]").config("spark.ui.enabled", "false")
        # Short jobs are not worth being compiled well.
        builder = builder.config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")
        builder = builder.config("spark.sql.codegen.wholeStage", "false")
        session = builder.config("spark.ui.showConsoleProgress", "false").getOrCreate()
    yield session
    session.stop()
    gateway = getattr(SparkContext, "_gateway", None)
    if gateway is not None:
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
