"""Redis streams: what was acknowledged is on the disk and no longer in the stream, whoever is killed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from panbayes.errors import InputError
from panbayes.service import broker
from panbayes.service.sources.redis import RedisSource
from tests.effort import soak
from tests.service.brokers import RedisServer, ids, redis_server
from tests.service.running_service import density, open_state, running, wait_for
from tests.service.taking import taking


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    with redis_server(tmp_path) as made:
        yield made


def source(server: RedisServer, **keys: Any) -> RedisSource:
    return RedisSource(**{"server": server.address, "stream": "visits", "group": "mine", **keys})


def fewer(server: RedisServer, before: int) -> Callable[[], bool]:
    return lambda: bool(server.ask("XLEN", "visits") < before)


def test_what_is_gone_from_the_stream_is_in_the_state_and_the_rest_comes_again(
    tmp_path: Path, server: RedisServer
) -> None:
    open_state(tmp_path / "a.state")
    file = f"""beat = 0.3
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "redis"
server = "{server.address}"
stream = "visits"
group = "mine"
"""
    sent = 0
    for _ in range(2):
        server.send("visits", [ids(i, i + 1) for i in range(sent, sent + 200)])
        sent += 200
        with running(tmp_path, file) as service:
            wait_for(fewer(server, sent))
            server.send("visits", [ids(sent, sent + 50)])
            sent += 50
            service.stop(signal.SIGKILL)
        left = sum(value.count(b"\n") for _, (_, value) in _entries(server))
        assert density(tmp_path / "a.state") >= (sent - left) / 1_000 - 0.015
    with running(tmp_path, file) as service:
        wait_for(lambda: server.ask("XLEN", "visits") == 0)
        assert service.stop() == 0
    assert density(tmp_path / "a.state") == pytest.approx(0.5, abs=0.015)


def _entries(server: RedisServer) -> list[tuple[bytes, list[bytes]]]:
    from redis import Redis

    with Redis(port=server.port, protocol=2) as client:
        connection = client.connection_pool.get_connection()
        connection.send_command("XRANGE", "visits", "-", "+")
        found: list[tuple[bytes, list[bytes]]] = connection.read_response()
        client.connection_pool.release(connection)
        return found


def test_nothing_is_acknowledged_before_the_beat_and_everything_taken_is_after_it(
    tmp_path: Path, server: RedisServer
) -> None:
    server.send("visits", [ids(i, i + 2) for i in range(0, 2_000, 2)])

    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 2_000, beating=False)
            assert server.ask("XLEN", "visits") == 1_000
            settled = taken.running.settle()
            server.send("visits", [b"2000"])
            await taken.until(lambda: len(taken.seen) == 2_001, beating=False)
            settled()
            await taken.until(lambda: server.ask("XLEN", "visits") == 1, beating=False)
            assert _entries(server)[0][1] == [b"id", b"2000"]
        assert server.ask("XLEN", "visits") == 0
        assert taken.seen == list(range(2_001))

    asyncio.run(run())


def test_what_another_process_was_killed_with_is_read_again(tmp_path: Path, server: RedisServer) -> None:
    server.send("visits", [ids(i, i + 1) for i in range(1_200)])
    server.ask("XGROUP", "CREATE", "visits", "mine", "0")
    server.ask("XREADGROUP", "GROUP", "mine", "panbayes", "COUNT", 1_100, "STREAMS", "visits", ">")
    # One that is pending and was deleted meanwhile has no value to read.
    server.ask("XDEL", "visits", _entries(server)[0][0])

    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 1_199)
        assert taken.seen == list(range(1, 1_200))
        assert server.ask("XPENDING", "visits", "mine")["pending"] == 0

    asyncio.run(run())


@soak
def test_a_server_that_vanishes_is_lost_once_and_found_again(tmp_path: Path, server: RedisServer) -> None:
    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            server.send("visits", [ids(0, 300)])
            await taken.until(lambda: len(taken.seen) == 300, beating=False)
            server.kill()
            await taken.until(lambda: len(taken.told) > 1)
            await asyncio.sleep(1)
            server.start()
            server.send("visits", [ids(300, 400)])
            await taken.until(lambda: set(taken.seen) == set(range(400)) and server.ask("XLEN", "visits") == 0)
            # A server that has forgotten everything, group and all.
            server.ask("FLUSHALL")
            server.send("visits", [ids(400, 500)])
            await taken.until(lambda: set(taken.seen) == set(range(500)))
        lost, found = f"redis: lost {server.address}; trying again", f"redis: found {server.address} again"
        assert taken.told[1:3] == [lost, found]
        assert (taken.told[3:], taken.ended) == ([lost, found], [])

    asyncio.run(run())


def test_odd_entries_harm_nobody_and_are_acknowledged(
    tmp_path: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "MOST_BYTES", 1 << 20)
    server.send("visits", [b"1", b"", b"\x00\xff", b"[" * 100_000, b"7" * ((1 << 20) + 1), b"2\n3", b"4\r\n\r\n"])
    server.send("visits", [b"5"], field="other")
    server.send("visits", [b"6"])

    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            await taken.until(lambda: 6 in taken.seen)
        assert server.ask("XLEN", "visits") == 0
        assert [line.strip() for line in taken.feed.lines if len(line) < 10] == [
            *(b"1", b"\x00\xff", b"2", b"3", b"4", b"", b"6")
        ]
        assert max(len(line) for line in taken.feed.lines) == 100_000

    asyncio.run(run())


def test_entries_that_another_group_may_not_have_read_are_not_deleted(tmp_path: Path, server: RedisServer) -> None:
    server.send("visits", [ids(0, 10)])

    async def run() -> None:
        async with taking(source(server), tmp_path) as mine:
            await mine.until(lambda: server.ask("XLEN", "visits") == 0)
            server.ask("XGROUP", "CREATE", "visits", "theirs", "0")
            server.send("visits", [ids(10, 20)])
            await mine.until(lambda: server.ask("XPENDING", "visits", "mine")["pending"] == 0 and len(mine.seen) == 20)
            assert server.ask("XLEN", "visits") == 1
            async with taking(source(server, group="theirs", delete=False), tmp_path) as theirs:
                await theirs.until(lambda: len(theirs.seen) == 10)
        assert mine.told[1:] == ["redis: another group reads visits, so its entries are not deleted"]
        assert (theirs.seen, theirs.told[1:]) == (list(range(10, 20)), [])

    asyncio.run(run())


def test_what_cannot_be_read_is_refused_by_name_and_no_secret_is_shown(tmp_path: Path, server: RedisServer) -> None:
    server.ask("SET", "text", "x")

    async def run() -> None:
        with pytest.raises(InputError, match='"text" is no stream'):
            async with taking(source(server, stream="text"), tmp_path):
                pass
        server.ask("CONFIG", "SET", "requirepass", "very-secret")
        with pytest.raises(InputError, match="refuses this client") as refused:
            async with taking(source(server), tmp_path):
                pass
        assert "very-secret" not in str(refused.value)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("REDISCLI_AUTH", "very-secret")
            async with taking(source(server), tmp_path) as taken:
                assert "very-secret" not in "".join(taken.told)

    asyncio.run(run())
    for address in ("redis://:very-secret@h:1", "redis://h?password=very-secret", "h:6379", "redis://h:port"):
        with pytest.raises(InputError) as wrong:
            RedisSource(server=address, stream="visits", group="mine")
        assert "very-secret" not in str(wrong.value)
