"""Whether Spark can be run on this machine."""

from __future__ import annotations

import importlib.util
import os
import shutil

import pytest

__all__ = ["needs_spark", "why_no_spark"]


def why_no_spark() -> str | None:
    """Tell why Spark cannot be run here, None if it can."""
    if importlib.util.find_spec("pyspark") is None:
        return "Spark is not installed: make spark"
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        return "Spark needs Java, which is not here"
    return None


def needs_spark() -> None:
    """Skip a test where Spark cannot be run."""
    why = why_no_spark()
    if why is not None:
        pytest.skip(why)
