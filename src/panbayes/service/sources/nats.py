"""Messages of a NATS JetStream stream, by a durable pull consumer that this service alone pulls from.

A work-queue stream deletes what was acknowledged, and is what a service should read. Of a stream that keeps messages
the operator is told so.
"""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from panbayes.errors import InputError
from panbayes.files import check_path
from panbayes.schema import kinds
from panbayes.schema.declaration import Key
from panbayes.service.broker import (
    PATIENCE,
    Broker,
    Brokered,
    LostError,
    Messages,
    missing_driver,
    mistrusted,
    mistrusts,
    plain_server,
    trusted,
)
from panbayes.service.feed import Feed
from panbayes.service.source import Say, SourceKind, Surroundings

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.js.client import JetStreamContext

__all__ = ["NATS", "NatsSource"]

T = TypeVar("T")

_AT_ONCE: Final = 500
_ANSWER: Final = 5.0
_FAREWELL: Final = 1.0
_TOGETHER: Final = 0.05
_EXAMPLE: Final = "nats://127.0.0.1:4222"


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsSource(Brokered):
    """Which stream, and where."""

    server: Annotated[
        str,
        Key(
            kinds.text(f'an address such as "{_EXAMPLE}"'),
            "where NATS is, tls:// with TLS; NATS_USER and NATS_PASSWORD, or NATS_TOKEN, of the environment say who we "
            "are",
        ),
    ]
    stream: Annotated[str, Key(kinds.text('a name such as "VISITS"'), "the stream whose messages are lines")]
    credentials: Annotated[
        str | None,
        Key(kinds.text('a path such as "service.creds"'), "a file of credentials made by nsc", default="none"),
    ] = None
    ca: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "ca.pem"'),
            "a file of certificates that are trusted beside those of the system, with TLS",
            default="none",
        ),
    ] = None
    prefetch: Annotated[
        int, Key(kinds.whole_number(), "how many messages are taken before a beat acknowledges them, at most")
    ] = 10_000
    again: Annotated[
        int,
        Key(
            kinds.whole_number("seconds, such as 60"),
            "after how many seconds a message that was not acknowledged comes again; more than a beat",
        ),
    ] = 60

    def __post_init__(self) -> None:
        """Refuse an address with more than a place in it, and numbers that make no sense."""
        plain_server(self.server, schemes=("nats", "tls"), example=_EXAMPLE)
        for key, value in (("prefetch", self.prefetch), ("again", self.again)):
            if value < 1:
                raise InputError(key, found=f"found {value}", remedy="give 1 or more")
        for key, text in (("stream", self.stream), ("group", self.group)):
            if any(sign in text for sign in ".*> /\\\t"):
                raise InputError(key, found=f'found "{text}"', remedy="give letters, digits, - and _")

    def describe(self) -> str:
        """Say where lines come from."""
        return f"the stream {self.stream} at {self.server}"

    async def start(self, feed: Feed, around: Surroundings) -> Broker:
        """Begin to take messages."""
        credentials = None
        if self.credentials is not None:
            credentials = around.folder / check_path(self.credentials, argument="credentials")
            if not credentials.is_file():
                raise InputError("credentials", found=f"{credentials} is no file", remedy="give one made by nsc")
        tls = trusted(around.folder, self.ca, self.server)
        link = _Link(self, None if credentials is None else str(credentials), tls, around.say)
        around.say(f"taking lines from {self.describe()}")
        return await Broker(feed, link, around, name="nats", server=self.server).begun()


class _Link:
    """A client with an event loop of its own, which runs while it is asked something."""

    _client: Client | None = None
    _pulled: JetStreamContext.PullSubscription

    def __init__(self, source: NatsSource, credentials: str | None, tls: ssl.SSLContext | None, say: Say) -> None:
        if find_spec("nats") is None:
            raise missing_driver("nats", "nats-py")
        self._source, self._credentials, self._tls, self._say = source, credentials, tls, say
        self._told = False
        self._runner = asyncio.Runner()

    def _wait(self, doing: Coroutine[Any, Any, T], seconds: float = 2 * _ANSWER) -> T:
        from nats.errors import Error

        try:
            return self._runner.run(asyncio.wait_for(doing, seconds))
        except (Error, OSError, TimeoutError):
            raise LostError from None

    def open(self) -> None:
        self._wait(self._open(), 4 * _ANSWER)

    async def _open(self) -> None:
        from nats.errors import AuthorizationError, Error
        from nats.js.api import AckPolicy, ConsumerConfig, RetentionPolicy
        from nats.js.errors import NotFoundError

        await self._leave()
        user = os.environ.get("NATS_USER") or None
        refused = False

        async def silent(error: Exception) -> None:
            nonlocal refused
            refused = refused or isinstance(error, AuthorizationError) or "authorization" in str(error).lower()

        client = self._client = _client(sealed=self._tls is not None)
        try:
            await client.connect(
                self._source.server,
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=int(_ANSWER),
                error_cb=silent,
                user=user,
                password=os.environ.get("NATS_PASSWORD") or None,
                token=os.environ.get("NATS_TOKEN") or None,
                user_credentials=self._credentials,
                tls=self._tls,
            )
        except (Error, OSError, TimeoutError) as error:
            if mistrusts(error):
                raise mistrusted(self._source.server) from None
            if refused:
                raise InputError(
                    "server",
                    found=f"{self._source.server} refuses this client",
                    remedy="set NATS_USER and NATS_PASSWORD or NATS_TOKEN in the environment, or give credentials",
                ) from None
            raise
        jetstream = client.jetstream(timeout=_ANSWER)
        try:
            stream = await jetstream.stream_info(self._source.stream)
        except NotFoundError:
            raise InputError(
                "stream",
                found=f'{self._source.server} has no stream "{self._source.stream}"',
                remedy="make it, with retention by work queue so that it keeps nothing",
            ) from None
        await jetstream.add_consumer(
            self._source.stream,
            ConsumerConfig(
                durable_name=self._source.group,
                ack_policy=AckPolicy.EXPLICIT,
                ack_wait=self._source.again,
                max_ack_pending=self._source.prefetch,
            ),
        )
        self._pulled = await jetstream.pull_subscribe_bind(self._source.group, self._source.stream)
        if stream.config.retention == RetentionPolicy.LIMITS and not self._told:
            self._say(f"nats: the stream {self._source.stream} keeps what was acknowledged, as long as its limits say")
        self._told = True

    def take(self) -> Messages:
        return self._wait(self._take())

    async def _take(self) -> Messages:
        try:
            found = await self._pulled.fetch(1, timeout=PATIENCE)
        except TimeoutError:
            if self._client is None or not self._client.is_connected:
                raise LostError from None
            return Messages((), ())
        # What came with it; a longer wait would let ids lie in memory.
        with suppress(TimeoutError):
            found += await self._pulled.fetch(_AT_ONCE, timeout=_TOGETHER)
        return Messages([message.data for message in found], [message.reply for message in found])

    def acknowledge(self, marks: Sequence[Any]) -> None:
        self._wait(self._acknowledge(marks))

    async def _acknowledge(self, marks: Sequence[Any]) -> None:
        if self._client is None:
            raise LostError
        for reply in marks:
            await self._client.publish(reply, b"+ACK")
        await self._client.flush(int(_ANSWER))

    async def _leave(self) -> None:
        if self._client is not None:
            with suppress(OSError, TimeoutError):
                await asyncio.wait_for(self._client.close(), _FAREWELL)
            self._client = None

    def close(self) -> None:
        with suppress(LostError):
            self._wait(self._leave())
        self._runner.close()


def _client(*, sealed: bool) -> Client:
    """Make a client; one that is to speak TLS says nothing, no password either, to a server that does not ask for it.

    The client's own way is to look what the server asks for, whatever the address says.
    """
    from nats.aio.client import Client

    class Sealed(Client):
        def _connect_command(self) -> bytes:
            if not self._server_info.get("tls_required"):
                raise ssl.SSLError("the server speaks no TLS")
            return super()._connect_command()

    return Sealed() if sealed else Client()


NATS: Final = SourceKind("nats", "messages of a NATS JetStream stream", NatsSource, repeats=True)
