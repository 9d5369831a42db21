"""A service as a process of its own: ids per CPU-second over HTTP and from Kafka, and what it takes when nobody comes.

The service's own processor time is counted, not its clients'. Beside it stands what the same lines take without a
service, in this process.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tests.service.brokers import KafkaCluster, kafka_cluster
from tests.service.running_service import RunningService, running, wait_for

from panbayes import DistinctCounter
from panbayes.service.feed import Feed
from panbayes.stream.ids.feeding import stream_format
from panbayes.stream.statistics.methods.statistic import Answer
from panbayes.stream.stream_estimator import StreamEstimator

__all__ = ["run"]

BATCH = 100_000
BATCHES = 40
IDLE = 20.0
TEXT = """
[[states]]
name = "visitors"
file = "a.state"

[[sources]]
kind = "http"
listen = "127.0.0.1:0"

[page]
listen = "127.0.0.1:0"
"""
KAFKA = """
[[states]]
name = "visitors"
file = "a.state"

[[sources]]
kind = "kafka"
servers = "{servers}"
topic = "{topic}"
group = "bench"
"""
ROUNDS = {1_000: (10, 400), 1: (5, 60_000)}
"""Ids in a message: how many times so many messages are sent, since a mock cluster keeps few at a time."""


def run() -> None:
    """Print every figure."""
    bodies = [
        "".join(f"visitor-{BATCH * number + i}@example.org\n" for i in range(BATCH)).encode()
        for number in range(BATCHES)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        DistinctCounter.create(folder / "a.state", epsilon=1).close()
        direct = _direct(folder / "b.state", bodies)
        with running(folder, f"beat = 0.1\n{TEXT}") as service:
            service.post(bodies[0])
            before = cpu(service)
            for body in bodies:
                assert service.post(body) == 204
            taken = cpu(service) - before
        with running(folder, TEXT) as service:
            before = cpu(service)
            time.sleep(IDLE)
            idle, memory = cpu(service) - before, _memory(service)
        kafka = {size: _kafka(folder, size) for size in ROUNDS}
    ids = BATCH * BATCHES
    speed, ratio = ids / taken / 1e6, direct / taken
    print(f"HTTP, {BATCH:,} ids in a body: {speed:.1f} million ids per CPU-second ({ratio:.2f} of direct)")
    for size, (sent, needed) in kafka.items():
        speed, ratio = sent / needed / 1e6, (sent / needed) / (ids / direct)
        print(f"Kafka, ids in a message {size:,}: {speed:.2f} million ids per CPU-second ({ratio:.3f} of direct)")
    print(f"direct: {ids / direct / 1e6:.1f} million ids per CPU-second")
    print(f"nobody comes: {100 * idle / IDLE:.2f} % of a processor, {memory:.0f} MB")


def _direct(path: Path, bodies: list[bytes]) -> float:
    DistinctCounter.create(path, epsilon=1).close()
    with StreamEstimator[Answer].open(path) as estimator:
        feed = Feed([estimator], form=stream_format("", "text"), column=None)
        feed.take(bodies[0])
        start = time.process_time()
        for body in bodies:
            feed.take(body)
        return time.process_time() - start


def _kafka(folder: Path, size: int) -> tuple[int, float]:
    """Return how many ids were sent, and the processor time that the service took for them."""
    rounds, messages = ROUNDS[size]
    topic = f"of-{size}"
    with kafka_cluster() as cluster:
        cluster.make(topic, 4)
        with running(folder, f"beat = 0.1\n{KAFKA.format(servers=cluster.servers, topic=topic)}") as service:
            _send(cluster, topic, 0, 4, size)
            before = cpu(service)
            for number in range(rounds):
                _send(cluster, topic, 4 + number * messages, messages, size)
            return rounds * messages * size, cpu(service) - before


def _send(cluster: KafkaCluster, topic: str, first: int, messages: int, size: int) -> None:
    """Send messages, and wait until they were acknowledged."""
    cluster.send(
        topic,
        [
            "".join(f"visitor-{number * size + i}@example.org\n" for i in range(size)).encode()
            for number in range(first, first + messages)
        ],
        **{"queue.buffering.max.messages": 200_000},
    )
    wait_for(lambda: cluster.committed(topic, "bench") == first + messages)


def cpu(service: RunningService) -> float:
    """Return the processor time of a service so far, in seconds."""
    fields = Path(f"/proc/{service.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(service: RunningService) -> float:
    status = Path(f"/proc/{service.process.pid}/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1]) / 1024
