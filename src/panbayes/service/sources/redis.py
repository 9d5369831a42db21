"""Entries of a Redis stream, which are deleted once they were acknowledged.

The service is the one consumer of a group of its own. What was delivered to it and not acknowledged, because it or the
server went away, is read again first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Protocol
from urllib.parse import urlsplit

from panbayes.errors import InputError
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

__all__ = ["REDIS", "RedisSource"]

_AT_ONCE: Final = 500
_ANSWER: Final = 5.0
_CONSUMER: Final = "panbayes"
_VARIABLE: Final = "REDISCLI_AUTH"
_EXAMPLE: Final = "redis://127.0.0.1:6379"


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisSource(Brokered):
    """Which stream, and where."""

    server: Annotated[
        str,
        Key(
            kinds.text(f'an address such as "{_EXAMPLE}"'),
            f"where Redis is, rediss:// with TLS; the environment's {_VARIABLE} has its password",
        ),
    ]
    stream: Annotated[str, Key(kinds.text('a key such as "visits"'), "the stream; it is made if it is not there")]
    field: Annotated[str, Key(kinds.text('a name such as "id"'), "the field of an entry whose value is lines")] = "id"
    user: Annotated[
        str | None, Key(kinds.text('a name such as "counting"'), "whose password it is", default="the default user")
    ] = None
    ca: Annotated[
        str | None,
        Key(
            kinds.text('a path such as "ca.pem"'),
            "a file of certificates that are trusted beside those of the system, with TLS",
            default="none",
        ),
    ] = None
    delete: Annotated[
        bool,
        Key(
            kinds.flag(),
            "whether entries are deleted once they were acknowledged; while another group reads the stream, none is",
        ),
    ] = True

    def __post_init__(self) -> None:
        """Refuse an address with more than a place in it."""
        plain_server(self.server, schemes=("redis", "rediss"), example=_EXAMPLE)
        _place(self.server)

    def describe(self) -> str:
        """Say where lines come from."""
        return f"the stream {self.stream} at {self.server}"

    async def start(self, feed: Feed, around: Surroundings) -> Broker:
        """Begin to take entries."""
        # The client makes the same of the file as this does, and says less where it cannot.
        trusted(around.folder, self.ca, self.server)
        link = _Link(self, None if self.ca is None else str(around.folder / self.ca), around.say)
        around.say(f"taking lines from {self.describe()}")
        return await Broker(feed, link, around, name="redis", server=self.server).begun()


def _place(server: str) -> tuple[str, int, int]:
    """Return host, port and database of an address."""
    try:
        parts = urlsplit(server)
        return parts.hostname or "127.0.0.1", parts.port or 6379, int(parts.path.strip("/") or 0)
    except ValueError:
        raise InputError("server", found=f'found "{server}"', remedy=f"give an address such as {_EXAMPLE}") from None


class _Client(Protocol):
    """What is asked of the client."""

    def execute_command(self, *words: str | bytes | int) -> Any: ...

    def close(self) -> None: ...


class _Link:
    """A client of one server, and how far what was delivered before has been read again."""

    def __init__(self, source: RedisSource, ca: str | None, say: Say) -> None:
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry
        except ModuleNotFoundError:
            raise missing_driver("redis", "redis") from None
        self._source, self._say = source, say
        self._again: bytes | None = b"0-0"
        self._kept = False
        host, port, database = _place(source.server)
        self._client: _Client = Redis(
            host=host,
            port=port,
            db=database,
            username=source.user,
            password=os.environ.get(_VARIABLE) or None,
            ssl=source.server.startswith("rediss:"),
            ssl_ca_certs=ca,
            socket_timeout=_ANSWER,
            socket_connect_timeout=_ANSWER,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
        )

    def open(self) -> None:
        from redis.exceptions import ResponseError

        self._again = b"0-0"
        try:
            self._ask("XGROUP", "CREATE", self._source.stream, self._source.group, "0", "MKSTREAM")
        except ResponseError as error:
            text = str(error)
            if text.startswith("WRONGTYPE"):
                raise InputError(
                    "stream", found=f'"{self._source.stream}" is no stream', remedy="give the key of a stream"
                ) from None
            if not text.startswith("BUSYGROUP"):
                raise LostError from None

    def take(self) -> Messages:
        from redis.exceptions import ResponseError

        again = self._again
        try:
            found = self._ask(
                *("XREADGROUP", "GROUP", self._source.group, _CONSUMER, "COUNT", _AT_ONCE),
                *(() if again else ("BLOCK", int(PATIENCE * 1_000))),
                *("STREAMS", self._source.stream, again or ">"),
            )
        except ResponseError:
            # The group is gone, with the stream or with a server that keeps nothing.
            raise LostError from None
        # Of one stream: entries with their fields; one that was deleted meanwhile has none.
        entries = found[0][1] if found else []
        if again:
            self._again = entries[-1][0] if entries else None
        name = self._source.field.encode()
        values = [fields[name] for _, fields in entries if fields and name in fields]
        return Messages(values, [number for number, _ in entries])

    def acknowledge(self, marks: Sequence[Any]) -> None:
        from redis.exceptions import ResponseError

        try:
            alone = self._source.delete and self._alone()
            for first in range(0, len(marks), _AT_ONCE):
                some = marks[first : first + _AT_ONCE]
                self._ask("XACK", self._source.stream, self._source.group, *some)
                if alone:
                    self._ask("XDEL", self._source.stream, *some)
        except ResponseError:
            # The stream is not what it was; what is there is seen when it is opened again.
            raise LostError from None

    def _alone(self) -> bool:
        """Say whether nobody else reads the stream; the operator hears it where somebody does."""
        others = len(self._ask("XINFO", "GROUPS", self._source.stream)) > 1
        if others and not self._kept:
            self._say(f"redis: another group reads {self._source.stream}, so its entries are not deleted")
        self._kept = others
        return not others

    def _ask(self, *words: str | bytes | int) -> Any:
        """Send one command."""
        from redis.exceptions import AuthenticationError, NoPermissionError, RedisError, ResponseError

        try:
            return self._client.execute_command(*words)
        except (AuthenticationError, NoPermissionError):
            raise InputError(
                "server",
                found=f"{self._source.server} refuses this client",
                remedy=f"set {_VARIABLE} in the environment, and user in the file if it is not the default one",
            ) from None
        except ResponseError:
            raise
        except (RedisError, OSError) as error:
            if mistrusts(error):
                raise mistrusted(self._source.server) from None
            raise LostError from None

    def close(self) -> None:
        self._client.close()


REDIS: Final = SourceKind("redis", "entries of a Redis stream", RedisSource, repeats=True)
