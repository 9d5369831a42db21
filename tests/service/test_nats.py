"""NATS JetStream: what was acknowledged is on the disk and no longer in a work queue, whoever is killed."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from panbayes.errors import InputError
from panbayes.service import broker
from panbayes.service.sources.nats import NatsSource
from tests.effort import soak
from tests.service.brokers import NatsServer, ids, nats_server
from tests.service.running_service import density, open_state, running, wait_for
from tests.service.taking import taking


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path) as made:
        yield made


def source(server: NatsServer, **keys: Any) -> NatsSource:
    return NatsSource(**{"server": server.address, "stream": "VISITS", "group": "mine", "again": 2, **keys})


def fewer(server: NatsServer, before: int) -> Callable[[], bool]:
    return lambda: bool(server.left("VISITS") < before)


def test_what_is_gone_from_the_queue_is_in_the_state_and_the_rest_comes_again(
    tmp_path: Path, server: NatsServer
) -> None:
    open_state(tmp_path / "a.state")
    server.make("VISITS")
    file = f"""beat = 0.3
[[states]]
name = "members"
file = "a.state"

[[sources]]
kind = "nats"
server = "{server.address}"
stream = "VISITS"
group = "mine"
again = 2
"""
    for turn in range(2):
        server.send("VISITS", [ids(i, i + 1) for i in range(200 * turn, 200 * turn + 200)])
        before = server.left("VISITS")
        with running(tmp_path, file) as service:
            wait_for(fewer(server, before))
            service.stop(signal.SIGKILL)
        left = server.left("VISITS")
        assert density(tmp_path / "a.state") >= (200 * (turn + 1) - left) / 1_000 - 0.015
    with running(tmp_path, file) as service:
        wait_for(lambda: server.left("VISITS") == 0)
        assert service.stop() == 0
    assert density(tmp_path / "a.state") == pytest.approx(0.4, abs=0.015)


def test_nothing_is_acknowledged_before_the_beat_and_everything_taken_is_after_it(
    tmp_path: Path, server: NatsServer
) -> None:
    server.make("VISITS")
    server.send("VISITS", [ids(i, i + 2) for i in range(0, 1_400, 2)])

    async def run() -> None:
        async with taking(source(server, again=60), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 1_400, beating=False)
            assert server.left("VISITS") == 700
            settled = taken.running.settle()
            server.send("VISITS", [b"1400"])
            await taken.until(lambda: len(taken.seen) == 1_401, beating=False)
            settled()
            await taken.until(lambda: server.left("VISITS") == 1, beating=False)
        assert server.left("VISITS") == 0
        assert (sorted(taken.seen), taken.told[1:]) == (list(range(1_401)), [])

    asyncio.run(asyncio.wait_for(run(), 120))


def test_no_more_than_the_prefetch_is_taken_before_a_beat(tmp_path: Path, server: NatsServer) -> None:
    server.make("VISITS")
    server.send("VISITS", [ids(i, i + 1) for i in range(50)])

    async def run() -> None:
        async with taking(source(server, again=60, prefetch=20), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) >= 20, beating=False)
            await asyncio.sleep(1)
            assert len(taken.seen) == 20
            await taken.until(lambda: len(taken.seen) == 50)
        assert sorted(taken.seen) == list(range(50))

    asyncio.run(run())


@soak
def test_what_another_process_was_killed_with_comes_again_in_time(tmp_path: Path, server: NatsServer) -> None:
    server.make("VISITS")

    async def pull(js: Any) -> float:
        pulled = await js.pull_subscribe_bind("mine", "VISITS")
        assert len(await pulled.fetch(10, timeout=5)) == 10
        return float((await js.consumer_info("VISITS", "mine")).config.ack_wait)

    async def run() -> None:
        async with taking(source(server), tmp_path):
            pass
        server.send("VISITS", [ids(i, i + 1) for i in range(10)])
        assert server.ask(pull) == 2
        async with taking(source(server), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 10)
        assert (sorted(taken.seen), server.left("VISITS")) == (list(range(10)), 0)

    asyncio.run(run())


@soak
def test_a_server_that_vanishes_is_lost_once_and_found_again(tmp_path: Path, server: NatsServer) -> None:
    server.make("VISITS")

    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            server.send("VISITS", [ids(i, i + 1) for i in range(300)])
            await taken.until(lambda: len(taken.seen) == 300, beating=False)
            server.kill()
            await taken.until(lambda: len(taken.told) > 1)
            await asyncio.sleep(1)
            server.start()
            server.send("VISITS", [ids(300, 400)])
            await taken.until(lambda: set(taken.seen) == set(range(400)) and server.left("VISITS") == 0)
            # The stream itself goes away, and is made again.
            server.ask(lambda js: js.delete_stream("VISITS"))
            await taken.until(lambda: len(taken.told) > 3)
            await asyncio.sleep(1)
            server.make("VISITS")
            server.send("VISITS", [ids(400, 500)])
            await taken.until(lambda: set(taken.seen) == set(range(500)))
        lost, found = f"nats: lost {server.address}; trying again", f"nats: found {server.address} again"
        assert taken.told[1:] == [lost, found, lost, found]
        assert taken.ended == []

    asyncio.run(run())


def test_odd_messages_harm_nobody_and_a_stream_that_keeps_them_is_said_to(
    tmp_path: Path, server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "MOST_BYTES", 1 << 18)
    server.make("VISITS", keeps=True)
    server.send("VISITS", [b"1", b"", b"\x00\xff", b"7" * ((1 << 18) + 1), b"2\n3", b"4\r\n\r\n", b"5"])

    async def run() -> None:
        async with taking(source(server), tmp_path) as taken:
            await taken.until(lambda: 5 in taken.seen)
        assert [line.strip() for line in taken.feed.lines] == [b"1", b"\x00\xff", b"2", b"3", b"4", b"", b"5"]
        assert taken.told[1:] == ["nats: the stream VISITS keeps what was acknowledged, as long as its limits say"]
        # What was acknowledged does not come again, though the stream has it.
        async with taking(source(server), tmp_path) as again:
            server.send("VISITS", [b"6"])
            await again.until(lambda: 6 in again.seen)
        assert again.seen == [6]

    asyncio.run(run())


def test_what_is_not_there_is_refused_by_name_and_a_server_that_is_not_is_waited_for(
    tmp_path: Path, server: NatsServer
) -> None:
    async def run() -> None:
        with pytest.raises(InputError, match='has no stream "VISITS"'):
            async with taking(source(server), tmp_path):
                pass
        server.make("VISITS")
        server.send("VISITS", [b"1"])
        server.kill()
        async with taking(source(server), tmp_path) as taken:
            assert taken.told[1:] == [f"nats: lost {server.address}; trying again"]
            server.start()
            await taken.until(lambda: taken.seen == [1])
        assert taken.told[2:] == [f"nats: found {server.address} again"]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"server": "nats://me:very-secret@h:4222"}, "passwords come from the environment"),
        ({"server": "127.0.0.1:4222"}, "nats://HOST:PORT"),
        ({"prefetch": 0}, "found 0"),
        ({"group": "a.b"}, 'found "a.b"'),
    ],
)
def test_keys_that_make_no_sense_are_refused(keys: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as refused:
        NatsSource(**{"server": "nats://h:4222", "stream": "V", "group": "g", **keys})
    assert told in str(refused.value)
    assert "very-secret" not in str(refused.value)


def test_a_client_that_the_server_refuses_is_told_where_passwords_come_from(tmp_path: Path) -> None:
    with nats_server(tmp_path, "--user", "me", "--pass", "very-secret") as server:

        async def run() -> None:
            with pytest.raises(InputError, match="refuses this client"):
                async with taking(source(server), tmp_path):
                    pass
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("NATS_USER", "me")
                patch.setenv("NATS_PASSWORD", "very-secret")
                # It is let in, and finds no stream.
                with pytest.raises(InputError, match="has no stream"):
                    async with taking(source(server), tmp_path):
                        pass

        asyncio.run(run())
