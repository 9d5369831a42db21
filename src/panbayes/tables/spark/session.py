"""Which session of Spark is asked, and what is said when it fails.

A session that is active is used and left as it is. Else one is made by Spark's own configuration (``spark-defaults``,
``SPARK_REMOTE`` for Spark Connect) and stopped afterwards; its page, which would show to whoever reaches it how many
records there are, is not opened, and what its machine writes to the terminal goes nowhere: it may quote records.

Spark's errors carry what workers and readers raised, which may quote records too. None of their text is shown.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn

from panbayes.errors import InputError
from panbayes.tables.quiet import quiet
from panbayes.tables.sources.lake import needs
from panbayes.tables.spark.coding import OTHER_VERSION
from panbayes.tables.spark.parquet_parts import CHANGED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["spark_errors", "spark_session", "without_warnings"]

_PYTHON: Final = "PYSPARK_PYTHON"
_REMOTE: Final = "SPARK_REMOTE"


@contextmanager
def without_warnings() -> Iterator[None]:
    """Keep Spark from warning of the versions of other libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def spark_errors(argument: str, found: str, remedy: str) -> Iterator[None]:
    """Make one line of whatever Spark raises: what is known to go wrong, else ``found`` and ``remedy``."""
    try:
        yield
    except BaseException as error:
        if isinstance(error, InputError | GeneratorExit | KeyboardInterrupt | SystemExit):
            raise
        _tell(str(error), argument, found, remedy)


def _tell(text: str, argument: str, found: str, remedy: str) -> NoReturn:
    if CHANGED in text:
        found, remedy = "has changed since it was opened, or cannot be read by Spark's workers", "run it again"
    elif OTHER_VERSION in text:
        found, remedy = "Spark's workers have another version of panbayes", "install the same version everywhere"
    elif "No module named 'panbayes" in text:
        found, remedy = "Spark's workers have no panbayes", "install it where Spark's workers run (PYSPARK_PYTHON)"
    raise InputError(argument, found=found, remedy=remedy) from None


@contextmanager
def spark_session(argument: str) -> Iterator[SparkSession]:
    """Give the active session, or one that is made for this and stopped."""
    try:
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    except ModuleNotFoundError as error:
        needs(error, argument, "spark")
    failure = ("Spark cannot be started", "see that Java is installed, and Spark's own configuration")
    with spark_errors(argument, *failure), without_warnings():
        active = SparkSession.getActiveSession()
        # A context without a session that is active in this thread is somebody's too.
        shared = active is not None or getattr(SparkContext, "_active_spark_context", None) is not None
        session = active or _made(SparkSession)
    try:
        yield session
    finally:
        if not shared:
            with without_warnings():
                session.stop()


def _made(kind: type[SparkSession]) -> SparkSession:
    builder = kind.builder.appName("panbayes")
    if not os.environ.get(_REMOTE):
        builder = builder.config("spark.ui.enabled", "false").config("spark.ui.showConsoleProgress", "false")
    main = threading.current_thread() is threading.main_thread()
    interrupt = signal.getsignal(signal.SIGINT)
    python = os.environ.get(_PYTHON)
    try:
        # Workers on this machine are to have what this process has.
        os.environ[_PYTHON] = python or sys.executable
        with quiet():
            return builder.getOrCreate()
    finally:
        if python is None:
            del os.environ[_PYTHON]
        if main and interrupt is not None:
            signal.signal(signal.SIGINT, interrupt)
