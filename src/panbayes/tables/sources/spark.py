"""Spark: ``spark://catalog.schema.table``, ``spark:///?path=/data/people``, and data frames of a session.

See :mod:`panbayes.tables.spark`.
"""

from __future__ import annotations

from typing import Final

from panbayes.tables.sources.source import Source, later

__all__ = ["SPARK", "is_spark_frame"]


def is_spark_frame(given: object) -> bool:
    """Tell whether something is a data frame of Spark, classic or Connect, without loading Spark."""
    return any(
        kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.") for kind in type(given).__mro__
    )


def _always(_given: object) -> bool:
    return True


SPARK: Final = Source(
    "Spark", later("panbayes.tables.spark.opening"), schemes=("spark",), takes=is_spark_frame, remote=_always
)
