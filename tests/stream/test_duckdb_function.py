"""The function of DuckDB feeds what a query asks for, from all threads, and tells nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from panbayes import Density, DensityEstimator, DistinctCounter, StreamEstimator
from panbayes.errors import InputError
from panbayes.stream.duckdb_function import FeedFunction

CERTAIN = 60
"""An E at which noise hardly shows."""

USERS = 20_000


@pytest.fixture
def log() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads TO 4")
        connection.execute(
            "CREATE TABLE log AS SELECT range AS user, CASE WHEN range % 4 = 0 THEN 'buy' ELSE 'look' END AS kind, "
            "range % 7 AS price FROM range(20_000)"
        )
        yield connection


def share(estimator: DensityEstimator) -> float:
    return estimator.estimate().density * USERS


def counted() -> DensityEstimator:
    return DensityEstimator(USERS, epsilon=CERTAIN, releases=3)


@pytest.mark.parametrize(
    ("query", "users"),
    [
        ("SELECT count(feed(user)) FROM log", USERS),
        ("SELECT feed(user) FROM log", USERS),
        ("CREATE TABLE fed AS SELECT feed(user) AS fed FROM log", USERS),
        ("SELECT count(feed(user)) FROM log WHERE kind = 'buy'", USERS / 4),
        ("SELECT count(feed(user)) FROM (SELECT user FROM log WHERE price < 0)", 0),
        ("SELECT count(feed(user::VARCHAR)) FROM log", USERS),
        ("SELECT count(feed(CASE WHEN user % 2 = 0 THEN user END)) FROM log", USERS / 2),
        # What nobody asks for is not done.
        ("SELECT count(*) FROM (SELECT feed(user) FROM log)", 0),
        ("SELECT feed(user) FROM log LIMIT 100", 100),
    ],
)
def test_a_query_feeds_what_it_asks_for(log: duckdb.DuckDBPyConnection, query: str, users: float) -> None:
    with counted() as estimator, FeedFunction(log, "feed", estimator):
        log.execute(query).fetchall()
        assert share(estimator) == pytest.approx(users, abs=40)


def test_every_row_says_nothing_whatever_is_in_it(log: duckdb.DuckDBPyConnection) -> None:
    with counted() as estimator, FeedFunction(log, "feed", estimator):
        query = "SELECT feed(one) FROM (VALUES ('7'), (NULL), ('nobody'), (''), ('99999999')) ids(one)"
        assert log.execute(query).fetchall() == [(None,)] * 5
        assert share(estimator) == pytest.approx(1, abs=40)


class Counting(DensityEstimator):
    """An estimator that counts what comes."""

    def update(self, ids: object) -> None:
        assert isinstance(ids, pa.ChunkedArray)
        CAME.append(len(ids))
        super().update(ids)


CAME: list[int] = []


def test_constants_are_not_fed_once_for_all_and_plans_feed_nothing(
    log: duckdb.DuckDBPyConnection,
) -> None:
    with Counting(USERS, epsilon=CERTAIN) as estimator, FeedFunction(log, "feed", estimator):
        log.execute("EXPLAIN SELECT count(feed(5)), count(feed(7)) FROM log").fetchall()
        log.execute("PREPARE later AS SELECT feed(7)")
        assert CAME == []
        log.execute("SELECT count(feed(5)) FROM log").fetchall()
        assert sum(CAME) == USERS


def test_a_query_that_is_run_again_changes_nothing(log: duckdb.DuckDBPyConnection) -> None:
    with counted() as estimator, FeedFunction(log, "feed", estimator):
        for _ in range(3):
            log.execute("SELECT count(feed(user)) FROM log WHERE kind = 'buy'").fetchall()
        assert share(estimator) == pytest.approx(USERS / 4, abs=40)


def test_fields_follow_the_id_in_their_order(log: duckdb.DuckDBPyConnection) -> None:
    where = ["kind=buy", "price>=3"]
    with DistinctCounter(epsilon=CERTAIN, expect=USERS, where=where) as buyers:
        function = FeedFunction(log, "feed_buyers", buyers)
        assert function.signature == "feed_buyers(id, kind, price)"
        log.execute("SELECT count(feed_buyers(user, kind, price)) FROM log").fetchall()
        found = log.execute("SELECT count(*) FROM log WHERE kind = 'buy' AND price >= 3").fetchone()
        assert found is not None
        assert buyers.estimate().users == pytest.approx(found[0], rel=0.05)
        for query in (
            "SELECT feed_buyers(user) FROM log",
            "SELECT feed_buyers(user, kind) FROM log",
            "SELECT feed_buyers(user, kind, price, price) FROM log",
        ):
            with pytest.raises(duckdb.Error, match=r"call feed_buyers\(id, kind, price\)"):
                log.execute(query)
        function.close()


class OneAtATime(DensityEstimator):
    """An estimator that notices two threads at once."""

    def update(self, ids: object) -> None:
        assert not BUSY.is_set(), "two at once"
        BUSY.set()
        THREADS.add(threading.get_ident())
        super().update(ids)
        PAUSE.wait(0.002)
        BUSY.clear()


BUSY, PAUSE, THREADS = threading.Event(), threading.Event(), set[int]()


def test_threads_of_a_query_and_queries_of_threads_take_turns(log: duckdb.DuckDBPyConnection) -> None:
    log.execute("CREATE TABLE many AS SELECT range AS user FROM range(500_000)")
    with OneAtATime(500_000, epsilon=CERTAIN) as estimator, FeedFunction(log, "feed", estimator):
        failed: list[duckdb.Error] = []

        def run(rest: int) -> None:
            try:
                with log.cursor() as cursor:
                    cursor.execute("SELECT count(feed(user)) FROM many WHERE user % 2 = ?", [rest]).fetchall()
            except duckdb.Error as error:
                failed.append(error)

        both = [threading.Thread(target=run, args=(rest,)) for rest in (0, 1)]
        for one in both:
            one.start()
        for one in both:
            one.join()
        assert not failed
        assert len(THREADS) > 1
        assert estimator.estimate().density == pytest.approx(1, abs=0.01)


def test_an_error_says_nothing_of_the_rows(log: duckdb.DuckDBPyConnection) -> None:
    with counted() as estimator, FeedFunction(log, "feed", estimator):
        for query in (
            "SELECT count(feed(1234.5::DOUBLE))",
            "SELECT count(feed(DATE '1999-12-31'))",
            "SELECT count(feed([98765]))",
            "SELECT count(feed({'a': '7', 'b': 'secret'}))",
            "SELECT count(feed(98765::HUGEINT))",
        ):
            with pytest.raises(duckdb.Error, match="InputError: ids: ") as caught:
                log.execute(query)
            told = str(caught.value)
            assert not [value for value in ("1234", "1999", "98765", "secret") if value in told]
        assert share(estimator) == pytest.approx(0, abs=40)


def test_a_state_file_is_opened_once_fed_on_the_disk_and_let_go(log: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    StreamEstimator.create(path, USERS, Density(), epsilon=CERTAIN).close()
    function = FeedFunction(log, "feed", path)
    with pytest.raises(InputError):
        DensityEstimator.open(path)
    log.execute("SELECT count(feed(user)) FROM log WHERE user < 5000").fetchall()
    with DensityEstimator.open(path, writing=False) as reader:
        assert share(reader) == pytest.approx(5000, abs=60)
    function.close()
    function.close()
    DensityEstimator.open(path).close()
    with pytest.raises(duckdb.CatalogException):
        log.execute("SELECT feed(1)")


def test_names_are_free_again_and_taken_ones_refused(log: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    StreamEstimator.create(path, USERS, Density(), epsilon=CERTAIN).close()
    with counted() as estimator:
        with FeedFunction(log, "feed", estimator):
            with pytest.raises(InputError, match="name: the connection has a function feed already"):
                FeedFunction(log, "feed", path)
            DensityEstimator.open(path).close()
            log.execute("SELECT feed(7)").fetchall()
        with FeedFunction(log, "feed", path):
            log.execute("SELECT feed(7)").fetchall()
        for name in ("", "Feed", "feed visitors", 'feed"; DROP TABLE log; --'):
            with pytest.raises(InputError, match="name: found"):
                FeedFunction(log, name, estimator)
        # The estimator stays the caller's.
        assert estimator.releases_left == 3


def test_a_connection_that_was_closed_first_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "a.state"
    StreamEstimator.create(path, USERS, Density(), epsilon=CERTAIN).close()
    connection = duckdb.connect()
    function = FeedFunction(connection, "feed", path)
    connection.close()
    function.close()
    DensityEstimator.open(path).close()
    with pytest.raises(InputError, match="the connection is closed"):
        FeedFunction(connection, "feed", path)
    DensityEstimator.open(path).close()
