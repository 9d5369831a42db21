"""Kafka: what was committed is on the disk, whoever is killed; partitions are assigned; odd messages harm nobody."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from panbayes import DistinctCounter
from panbayes.errors import InputError
from panbayes.service import broker
from panbayes.service.sources import kafka
from panbayes.service.sources.kafka import KafkaLink, KafkaSource
from panbayes.stream.distinct_estimate import DistinctEstimate
from panbayes.stream.release import combine
from tests.effort import soak, some
from tests.service.brokers import KafkaCluster, ids, kafka_cluster
from tests.service.deleting_proxy import DeletingProxy
from tests.service.running_service import density, open_state, running, wait_for
from tests.service.taking import taking


@pytest.fixture(scope="module")
def cluster() -> Iterator[KafkaCluster]:
    with kafka_cluster() as made:
        yield made


def text(cluster: KafkaCluster, topic: str, *more: str, group: str = "mine", state: str = "a.state") -> str:
    keys = "\n".join(more)
    return f"""beat = 0.3
[[states]]
name = "members"
file = "{state}"

[[sources]]
kind = "kafka"
servers = "{cluster.servers}"
topic = "{topic}"
group = "{group}"
{keys}
"""


def source(cluster: KafkaCluster, topic: str, **keys: Any) -> KafkaSource:
    return KafkaSource(**{"servers": cluster.servers, "topic": topic, "group": "mine", **keys})


def reached(cluster: KafkaCluster, topic: str, group: str, least: int) -> Callable[[], bool]:
    return lambda: cluster.committed(topic, group) >= least


@soak
def test_what_was_committed_counts_after_kills_and_the_rest_comes_again(tmp_path: Path, cluster: KafkaCluster) -> None:
    open_state(tmp_path / "a.state")
    cluster.make("kills")
    file = text(cluster, "kills")
    for turn in range(3):
        cluster.send("kills", [ids(i, i + 1) for i in range(200 * turn, 200 * turn + 150)])
        with running(tmp_path, file) as service:
            wait_for(reached(cluster, "kills", "mine", 150 * turn + 1))
            assert service.stop(signal.SIGKILL) == -signal.SIGKILL
        # Without a service: what is acknowledged now is in the state.
        seen = cluster.committed("kills", "mine")
        assert density(tmp_path / "a.state") >= seen / 1_000 - 0.015
    with running(tmp_path, file) as service:
        wait_for(lambda: cluster.committed("kills", "mine") == 450)
        assert service.stop() == 0
    assert density(tmp_path / "a.state") == pytest.approx(0.45, abs=0.015)


@soak
def test_two_parts_that_both_read_everything_count_everybody_once(tmp_path: Path, cluster: KafkaCluster) -> None:
    """Each is killed once; some messages come twice. Together they hold each user under one part."""
    cluster.make("parts")
    users = 3_000
    sent = [ids(i, i + 10) for i in range(0, users, 10)]
    files = []
    for number in (1, 2):
        folder = tmp_path / str(number)
        folder.mkdir()
        DistinctCounter.create(
            folder / "a.state", epsilon=60, expect=users, releases=1, part=f"{number}/2", key="07" * 16
        ).close()
        files.append((folder, text(cluster, "parts", group=f"part-{number}")))
    cluster.send("parts", sent[:200] + sent[:50])
    for turn in range(2):
        for number, (folder, file) in enumerate(files, start=1):
            with running(folder, file) as service:
                wait_for(reached(cluster, "parts", f"part-{number}", 250 + 150 * turn))
                service.stop(signal.SIGTERM if turn else signal.SIGKILL)
        cluster.send("parts", sent[150:] if not turn else [])
    releases = []
    for folder, _ in files:
        with DistinctCounter.open(folder / "a.state", writing=False) as part:
            releases.append(part.release())
    whole = combine(releases).estimate()
    assert isinstance(whole, DistinctEstimate)
    assert whole.users == pytest.approx(users, rel=0.08)


def test_nothing_is_committed_before_the_beat_and_everything_taken_is_after_it(
    tmp_path: Path, cluster: KafkaCluster
) -> None:
    cluster.make("beats")
    cluster.send("beats", [ids(i, i + 2) for i in range(0, 2_000, 2)])

    async def run() -> None:
        async with taking(source(cluster, "beats"), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 2_000, beating=False)
            assert cluster.committed("beats", "mine") == 0
            settled = taken.running.settle()
            cluster.send("beats", [b"2000"])
            await taken.until(lambda: len(taken.seen) == 2_001, beating=False)
            settled()
            await taken.until(lambda: cluster.committed("beats", "mine") == 1_000, beating=False)
        assert cluster.committed("beats", "mine") == 1_001
        # What was committed does not come again.
        async with taking(source(cluster, "beats"), tmp_path) as again:
            cluster.send("beats", [b"2001"])
            await again.until(lambda: 2001 in again.seen)
        assert (sorted(taken.seen), again.seen) == (list(range(2_001)), [2001])

    asyncio.run(run())


def test_named_partitions_alone_are_read(tmp_path: Path, cluster: KafkaCluster) -> None:
    cluster.make("some")
    cluster.send("some", [ids(i, i + 1) for i in range(30)])

    async def run() -> None:
        async with taking(source(cluster, "some", partitions=(0, 2)), tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 20)
            # Another consumer of the same group takes nothing away, as it would if partitions were shared.
            async with taking(source(cluster, "some", partitions=(1,)), tmp_path) as other:
                await other.until(lambda: len(other.seen) == 10)
                cluster.send("some", [ids(i, i + 1) for i in range(30, 60)])
                await taken.until(lambda: len(taken.seen) == 40)
                await other.until(lambda: len(other.seen) == 20)
        assert all(i % 3 != 1 for i in taken.seen)
        assert all(i % 3 == 1 for i in other.seen)

    asyncio.run(run())


@contextmanager
def impatient() -> Iterator[None]:
    """Give a broker that will not answer less time for it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kafka, "_ANSWER", 2.0)
        yield


@soak
def test_a_broker_that_vanishes_is_lost_once_and_found_again(tmp_path: Path) -> None:
    with kafka_cluster() as cluster:
        cluster.make("visits")

        async def run() -> None:
            async with taking(source(cluster, "visits"), tmp_path) as taken:
                cluster.send("visits", [ids(i, i + 1) for i in range(300)])
                await taken.until(lambda: len(taken.seen) == 300, beating=False)
                cluster.hang_up()
                with impatient():
                    await taken.until(lambda: len(taken.told) > 1)
                await asyncio.sleep(1)
                cluster.answer()
                cluster.send("visits", [ids(300, 400)])
                await taken.until(lambda: cluster.committed("visits", "mine") == 301)
            assert set(taken.seen) == set(range(400))
            assert taken.told[1:] == [
                f"kafka: lost {cluster.servers}; trying again",
                f"kafka: found {cluster.servers} again",
            ]
            assert taken.ended == []
            # A broker that is gone when the service starts and when it stops is waited for, and not for long.
            cluster.hang_up()
            with impatient():
                async with taking(source(cluster, "visits"), tmp_path) as taken:
                    assert taken.told[1:] == [f"kafka: lost {cluster.servers}; trying again"]

        asyncio.run(run())


@soak
def test_what_was_fetched_when_the_broker_vanishes_is_not_passed_over() -> None:
    """A message that the client hands over while it says that the broker is gone comes first afterwards."""
    with kafka_cluster() as cluster:
        cluster.make("visits", 1)
        cluster.send("visits", [ids(i, i + 1) for i in range(10)])
        link = KafkaLink(source(cluster, "visits"), {}, lambda _: None)
        found: list[bytes] = []
        try:
            link.open()
            time.sleep(1.5)
            cluster.hang_up()
            time.sleep(1.5)
            # Nobody answers, and what was fetched lies in the client.
            for _ in range(2):
                with impatient(), pytest.raises(broker.LostError):
                    link.open()
            cluster.answer()
            wait_for(lambda: _opens(link))
            cluster.send("visits", [ids(10, 20)])
            deadline = time.monotonic() + 30
            while len(found) < 11 and time.monotonic() < deadline:
                with suppress(broker.LostError):
                    found += link.take().values
        finally:
            link.close()
        assert b"".join(found) == ids(0, 20)


def _opens(link: KafkaLink) -> bool:
    try:
        link.open()
    except broker.LostError:
        return False
    return True


def test_odd_messages_harm_nobody_and_are_acknowledged(
    tmp_path: Path, cluster: KafkaCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "MOST_BYTES", 1 << 20)
    cluster.make("odd", 1)
    big = {"message.max.bytes": 20_000_000}
    cluster.send("odd", [b"1", None, b"", b"\x00\xff", b"7" * ((1 << 20) + 1), b"2\n3", b"4\r\n\r\n", b"5"], **big)

    async def run() -> None:
        async with taking(source(cluster, "odd"), tmp_path) as taken:
            await taken.until(lambda: 5 in taken.seen)
        assert cluster.committed("odd", "mine") == 8
        assert [line.strip() for line in taken.feed.lines] == [b"1", b"\x00\xff", b"2", b"3", b"4", b"", b"5"]

    asyncio.run(run())


def test_a_broker_that_does_not_delete_is_said_so_once(tmp_path: Path, cluster: KafkaCluster) -> None:
    cluster.make("kept")

    async def run() -> None:
        async with taking(source(cluster, "kept", delete=True), tmp_path) as taken:
            for turn in range(2):
                cluster.send("kept", [ids(turn, turn + 1)] * 3)
                await taken.until(reached(cluster, "kept", "mine", 3 * turn + 3))
            await taken.until(lambda: len(taken.told) > 1)
        assert len(taken.told) == 2
        assert taken.told[1].startswith(f"kafka: {cluster.servers} does not delete records (")

    asyncio.run(run())


def test_records_are_deleted_up_to_what_was_acknowledged(tmp_path: Path, cluster: KafkaCluster) -> None:
    """By the protocol, to a broker that answers that it did (:mod:`tests.service.deleting_proxy`)."""
    cluster.make("deleted", 2)
    cluster.send("deleted", [ids(i, i + 1) for i in range(5)])
    proxy = DeletingProxy(cluster.servers)

    async def run() -> None:
        deleting = KafkaSource(servers=proxy.servers, topic="deleted", group="mine", delete=True)
        async with taking(deleting, tmp_path) as taken:
            await taken.until(lambda: len(taken.seen) == 5, beating=False)
            await asyncio.sleep(0.6)
            assert proxy.asked == []
        assert sorted(proxy.asked) == [("deleted", 0, 3), ("deleted", 1, 2)]
        assert len(taken.told) == 1
        # Whoever ended before these were deleted asks again at the start.
        proxy.asked.clear()
        async with taking(deleting, tmp_path) as again:
            await again.until(lambda: len(proxy.asked) == 2, beating=False)
        assert sorted(proxy.asked) == [("deleted", 0, 3), ("deleted", 1, 2)]
        assert again.seen == []
        # A service that stops waits for the answer.
        proxy.delay, before = 0.7, proxy.answered
        cluster.send("deleted", [b"9", b"9"])
        async with taking(deleting, tmp_path) as last:
            await last.until(lambda: last.seen == [9, 9], beating=False)
        assert proxy.answered == before + 2

    try:
        asyncio.run(run())
    finally:
        proxy.close()


def _asked_more(proxy: DeletingProxy, than: int) -> bool:
    return len(proxy.asked) > than


@pytest.mark.parametrize(("code", "name"), some([(29, "TOPIC_AUTHORIZATION_FAILED"), (44, "POLICY_VIOLATION")], 1))
def test_a_refusal_to_delete_is_said_once_and_so_is_its_end(
    tmp_path: Path, cluster: KafkaCluster, code: int, name: str
) -> None:
    topic = f"kept-{code}"
    cluster.make(topic, 1)
    proxy = DeletingProxy(cluster.servers)
    proxy.code = code

    async def run() -> None:
        deleting = KafkaSource(servers=proxy.servers, topic=topic, group="mine", delete=True)
        async with taking(deleting, tmp_path) as taken:
            for turn in range(3):
                cluster.send(topic, [ids(turn, turn + 1)])
                await taken.until(partial(_asked_more, proxy, turn))
            await taken.until(lambda: len(taken.told) == 2)
            proxy.code = 0
            cluster.send(topic, [ids(3, 4)])
            await taken.until(lambda: len(taken.told) == 3)
        assert taken.told[1:] == [
            f"kafka: {proxy.servers} does not delete records ({name}); they stay while the topic keeps them",
            f"kafka: {proxy.servers} deletes records again",
        ]
        assert taken.seen == [0, 1, 2, 3]

    try:
        asyncio.run(run())
    finally:
        proxy.close()


def test_what_is_not_there_is_refused_by_name(tmp_path: Path, cluster: KafkaCluster) -> None:
    cluster.make("here", 2)

    async def start(**keys: Any) -> None:
        async with taking(source(cluster, keys.pop("topic", "here"), **keys), tmp_path):
            pass

    with pytest.raises(InputError, match='has no topic "nowhere"'):
        asyncio.run(start(topic="nowhere"))
    with pytest.raises(InputError, match="no partition 2"):
        asyncio.run(start(partitions=(0, 2)))
    settings = tmp_path / "kafka.properties"
    settings.write_text("# ours\nsasl.username = me\nsasl.password = very-secret\n", encoding="utf-8")
    settings.chmod(0o644)
    with pytest.raises(InputError, match="can be read by others"):
        asyncio.run(start(settings="kafka.properties"))
    settings.chmod(0o600)
    asyncio.run(start(settings="kafka.properties"))
    settings.write_text(
        "security.protocol=sasl_plaintext\nsasl.mechanisms=PLAIN\nsasl.username=me\nsasl.password=very-secret\n",
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="refuses this client") as refused:
        asyncio.run(start(settings="kafka.properties"))
    assert "very-secret" not in str(refused.value)
    for line in ("enable.auto.commit=true", "group.id=other", "very-secret"):
        settings.write_text(line, encoding="utf-8")
        with pytest.raises(InputError, match="line 1 of") as refused:
            asyncio.run(start(settings="kafka.properties"))
        assert "very-secret" not in str(refused.value)
    settings.write_text("security.protocol=very-secret", encoding="utf-8")
    with pytest.raises(InputError, match="the client refuses them") as refused:
        asyncio.run(start(settings="kafka.properties"))
    assert "very-secret" not in str(refused.value)


@pytest.mark.parametrize(("kind", "package"), [("kafka", "confluent_kafka"), ("redis", "redis"), ("nats", "nats")])
def test_a_driver_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, package: str
) -> None:
    from panbayes.service.source import source_kinds

    monkeypatch.setitem(sys.modules, package, None)
    keys = {
        "kafka": {"servers": "h:1", "topic": "t"},
        "redis": {"server": "redis://h:1", "stream": "s"},
        "nats": {"server": "nats://h:1", "stream": "s"},
    }
    declared = source_kinds()[kind].declared(group="g", **keys[kind])

    async def start() -> None:
        async with taking(declared, tmp_path):
            pass

    with pytest.raises(InputError, match=rf"pip install 'panbayes\[{kind}\]'"):
        asyncio.run(start())
