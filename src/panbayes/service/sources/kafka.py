"""Messages of a Kafka topic, by ``assign()``: this service reads the partitions it is told to, and no one else decides.

A consumer that subscribes shares the partitions with others of its group, and they move whenever one comes or goes; a
part of a state must see every id. So partitions are assigned, all of the topic or those that are named, and the group
keeps nothing but the offsets, which are committed after the beat and never by the clock of the client.

With ``delete`` records are deleted up to those offsets, at every acknowledgement and when the service starts, in case
it ended before the last ones were. A broker that does not delete is asked again every time, and the operator hears it
once; and once more when it does.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.broker import PATIENCE, Broker, Brokered, LostError, Messages, missing_driver
from panbayes.service.feed import Feed
from panbayes.service.source import Say, SourceKind, Surroundings

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition
    from confluent_kafka.admin import AdminClient

__all__ = ["KAFKA", "KafkaLink", "KafkaSource"]

_AT_ONCE: Final = 5_000
_ANSWER: Final = 5.0
"""Seconds that an answer of the broker may take."""

_SOON: Final = 1.0
"""Seconds after which a refusal is told; a broker that has not answered is given the rest of :data:`_ANSWER`."""

_SHOWN: Final = ("OAUTHBEARER", "PLAIN")
_HERE: Final = re.compile(r"localhost|127\.[0-9.]+|\[::1\]")
_ALLOWED: Final = ("client.id", "sasl.", "security.", "ssl.")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSource(Brokered):
    """Which topic, and where."""

    servers: Annotated[
        str, Key(kinds.text('addresses such as "localhost:9092"'), "brokers to begin with, with commas between them")
    ]
    topic: Annotated[str, Key(kinds.text('a name such as "visits"'), "the topic whose messages are lines")]
    partitions: Annotated[
        tuple[int, ...],
        Key(kinds.list_of((int,), "numbers such as 0"), "the partitions that are read", default="all"),
    ] = ()
    delete: Annotated[
        bool,
        Key(kinds.flag(), "whether records are deleted from the topic, for everybody, once they were acknowledged"),
    ] = False
    settings: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "kafka.properties"'),
            "a file of the client's own settings that begin with sasl., ssl. or security., such as its password",
            default="none",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Refuse partitions that cannot be."""
        if any(number < 0 for number in self.partitions):
            raise InputError("partitions", found="found a number below 0", remedy="give numbers such as 0")

    def describe(self) -> str:
        """Say where lines come from."""
        return f"the topic {self.topic} at {self.servers}"

    async def start(self, feed: Feed, around: Surroundings) -> Broker:
        """Begin to take messages."""
        secrets = {}
        if self.settings is not None:
            secrets = _read_settings(around.folder / check_path(self.settings, argument="settings"))
            _check_sealed(secrets, self.servers)
        link = KafkaLink(self, secrets, around.say)
        around.say(f"taking lines from {self.describe()}")
        return await Broker(feed, link, around, name="kafka", server=self.servers).begun()


class KafkaLink:
    """A consumer of some partitions; the client connects again by itself."""

    _consumer: Consumer
    _admin: AdminClient

    def __init__(self, source: KafkaSource, secrets: dict[str, str], say: Say) -> None:
        """Make a client; it connects when it is asked something."""
        try:
            from confluent_kafka import Consumer, KafkaException
            from confluent_kafka.admin import AdminClient
        except ModuleNotFoundError:
            raise missing_driver("kafka", "confluent-kafka") from None
        self._source, self._say = source, say
        self._assigned = self._down = self._refused = self._kept = False
        self._commits = 0
        self._deleting: set[Future[Any]] = set()
        self._held: list[Message] = []
        silent = logging.getLogger("panbayes.kafka")
        silent.handlers, silent.propagate = [logging.NullHandler()], False
        common: dict[str, Any] = {
            "bootstrap.servers": source.servers,
            "reconnect.backoff.max.ms": 2_000,
            "error_cb": self._fail,
            **secrets,
        }
        consumer = {
            **common,
            "group.id": source.group,
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "auto.offset.reset": "earliest",
            "on_commit": self._committed,
            # Little is fetched ahead, since what waits in memory is ids that no state has seen.
            "queued.min.messages": 1,
            "queued.max.messages.kbytes": 1_024,
            "fetch.queue.backoff.ms": 10,
            "receive.message.max.bytes": 256 << 20,
        }
        try:
            self._consumer = Consumer(consumer, logger=silent)
            if source.delete:
                self._admin = AdminClient(common, logger=silent)
        except KafkaException as error:
            code: KafkaError = error.args[0]
            raise InputError(
                "settings", found=f"the client refuses them ({code.name()})", remedy="see the manual of librdkafka"
            ) from None

    def _fail(self, error: KafkaError) -> None:
        self._refused = self._refused or error.name() in ("_AUTHENTICATION", "_SSL")
        self._down = self._down or self._refused or error.name() == "_ALL_BROKERS_DOWN"

    def _committed(self, *_: object) -> None:
        self._commits -= 1

    def _hear(self, seconds: float) -> None:
        """Let the client say what it has to say; a message that comes with it is kept, for others follow it."""
        message = self._consumer.poll(seconds)
        if message is not None:
            self._held.append(message)

    def open(self) -> None:
        """See that the broker and the topic are there, and begin where the group stands."""
        from confluent_kafka import TopicPartition

        there = self._partitions()
        self._down = False
        if not there:
            raise InputError(
                "topic",
                found=f'{self._source.servers} has no topic "{self._source.topic}"',
                remedy="make it, or let this client read it",
            )
        wanted = self._source.partitions or there
        for number in wanted:
            if number not in there:
                raise InputError(
                    "partitions",
                    found=f'topic "{self._source.topic}" has no partition {number}',
                    remedy=f"give some of 0 to {max(there)}",
                )
        if not self._assigned:
            partitions = [TopicPartition(self._source.topic, number) for number in sorted(set(wanted))]
            self._consumer.assign(partitions)
            self._assigned = True
            if self._source.delete:
                self._delete_committed(partitions)

    def _partitions(self) -> tuple[int, ...]:
        """Ask for the topic, which has none if it is not there.

        A refusal is told soon, though the client would go on trying.
        """
        from confluent_kafka import KafkaException

        self._refused = False
        for seconds in (_SOON, _ANSWER - _SOON):
            try:
                topic = self._consumer.list_topics(self._source.topic, timeout=seconds).topics[self._source.topic]
                return () if topic.error is not None else tuple(topic.partitions)
            except KafkaException:
                self._hear(0)
            if self._refused:
                raise InputError(
                    "settings",
                    found=f"{self._source.servers} refuses this client",
                    remedy="give a file with what it asks for, such as sasl.password and ssl.ca.location",
                )
        raise LostError

    def take(self) -> Messages:
        """Return what is there, after a wait for the first."""
        self._hear(PATIENCE)
        if self._down:
            # The client may have found another way in the meantime.
            self.open()
        found = (*self._held, *self._consumer.consume(_AT_ONCE, 0))
        self._held.clear()
        values: list[bytes] = []
        offsets: dict[int, int] = {}
        for message in found:
            partition, offset = message.partition(), message.offset()
            if message.error() is not None or partition is None or offset is None:
                continue
            value = message.value()
            if value:
                values.append(value)
            offsets[partition] = offset + 1
        return Messages(values, tuple(offsets.items()))

    def acknowledge(self, marks: Sequence[Any]) -> None:
        """Commit the offsets, and have records deleted if that is wished."""
        from confluent_kafka import TopicPartition

        last: dict[int, int] = {}
        for partition, offset in marks:
            last[partition] = max(offset, last.get(partition, 0))
        reached = [TopicPartition(self._source.topic, partition, offset) for partition, offset in last.items()]
        # Not waited for: the next commit says more than this one, and without either the messages come again.
        self._commits += 1
        self._consumer.commit(offsets=reached, asynchronous=True)
        if self._source.delete:
            self._delete(reached)

    def _delete_committed(self, partitions: list[TopicPartition]) -> None:
        from confluent_kafka import KafkaException

        try:
            reached = self._consumer.committed(partitions, timeout=_ANSWER)
        except KafkaException:
            # The next acknowledgement deletes these as well.
            return
        self._delete([one for one in reached if one.offset > 0])

    def _delete(self, reached: list[TopicPartition]) -> None:
        """Have records before these offsets deleted; it is not waited for."""
        if not reached:
            return
        for done in self._admin.delete_records(reached, request_timeout=_ANSWER).values():
            self._deleting.add(done)
            done.add_done_callback(self._deleted)

    def _deleted(self, done: Future[Any]) -> None:
        """Tell the operator when deleting begins to fail and when it works again; the client's thread calls this."""
        from confluent_kafka import KafkaError

        self._deleting.discard(done)
        error = done.exception()
        if (error is not None) is self._kept:
            return
        self._kept = error is not None
        if error is None:
            self._say(f"kafka: {self._source.servers} deletes records again")
            return
        reason = error.args[0] if error.args else None
        code = reason.name() if isinstance(reason, KafkaError) else type(error).__name__
        self._say(
            f"kafka: {self._source.servers} does not delete records ({code}); they stay while the topic keeps them"
        )

    def close(self) -> None:
        """Wait for the last commit and for what is being deleted, not for long."""
        deadline = time.monotonic() + _ANSWER
        while (self._commits > 0 or self._deleting) and not self._down and time.monotonic() < deadline:
            self._consumer.poll(0.05)
        self._consumer.close()


def _read_settings(path: Path) -> dict[str, str]:
    """Read lines ``name=value``, of which a service takes what says who it is."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        others = path.stat().st_mode & 0o077
    except (OSError, UnicodeDecodeError):
        raise InputError("settings", found=f"{path} cannot be read", remedy="give a file of settings") from None
    if others:
        raise InputError("settings", found=f"{path} can be read by others", remedy=f"run: chmod 600 {path}")
    found: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        name, sign, value = (piece.strip() for piece in line.partition("="))
        if not name or name.startswith("#"):
            continue
        if not sign or not name.startswith(_ALLOWED):
            raise InputError(
                "settings",
                found=f"line {number} of {path} is not one that a service takes",
                remedy=f"give settings that begin with {', '.join(_ALLOWED)}",
            )
        found[name] = value
    return found


def _check_sealed(settings: Mapping[str, str], servers: str) -> None:
    """Refuse to show a password or a token to another machine without TLS; other mechanisms show none."""
    protocol = settings.get("security.protocol", "").lower()
    # Two names of one setting, of which the driver takes the later.
    mechanisms = [settings.get(name, "").upper() for name in ("sasl.mechanism", "sasl.mechanisms")]
    shown = next((mechanism for mechanism in mechanisms if mechanism in _SHOWN), None)
    hosts = [one.strip().rpartition("://")[2].rpartition(":")[0] for one in servers.split(",")]
    if protocol == "sasl_plaintext" and shown is not None and not all(map(_HERE.fullmatch, hosts)):
        raise InputError(
            "settings",
            found=f"a password or token ({shown}) would be shown without TLS",
            remedy="give security.protocol=sasl_ssl, or a mechanism that shows none, such as SCRAM-SHA-512",
        )


KAFKA: Final = SourceKind("kafka", "messages of a Kafka topic", KafkaSource, repeats=True)
