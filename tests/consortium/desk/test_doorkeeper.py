"""Connections of strangers stay apart, whatever the network does to one of them."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send
from uvicorn.server import ServerState

from panbayes.consortium.desk.doorkeeper import Connection, Doorkeeper, Settings


class Reset(asyncio.Transport):
    """A connection that its other end has reset: the system no longer says who that was."""

    def __init__(self) -> None:
        self._socket = socket.socket()
        self.aborted = False
        super().__init__({"socket": self._socket})

    def is_closing(self) -> bool:
        return self.aborted

    def pause_reading(self) -> None:
        pass

    def resume_reading(self) -> None:
        pass

    def write(self, data: Any) -> None:
        pass

    def close(self) -> None:
        self.abort()

    def abort(self) -> None:
        self.aborted = True
        self._socket.close()


async def nobody(_scope: Scope, _receive: Receive, _send: Send) -> None:
    pass


def scope_of(connection: Connection) -> Scope:
    connection.data_received(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n")
    return dict(connection.scope)


@pytest.mark.parametrize("meant", ["dismiss", "cut_off", "trust"])
def test_what_is_done_to_a_connection_that_was_reset_is_done_to_no_other(meant: str) -> None:
    async def meet() -> None:
        door = Doorkeeper(None)
        settings = Settings(nobody, log_config=None, lifespan="off", http=Connection, ws="none", interface="asgi3")
        settings.doorkeeper = door
        pairs: list[tuple[Connection, Reset]] = []
        for _ in range(12):
            connection, transport = Connection(settings, ServerState(), {}), Reset()
            connection.connection_made(transport)
            pairs.append((connection, transport))
        scope = scope_of(pairs[3][0])
        if meant == "trust":
            door.trust(scope, "north")
        elif meant == "dismiss":
            door.dismiss(scope)
            await asyncio.sleep(0.8)
        else:
            door.cut_off(scope)
        expected = [meant != "trust" and place == 3 for place in range(12)]
        assert [transport.aborted for _, transport in pairs] == expected
        for connection, _ in pairs:
            connection.cut_off()

    asyncio.run(meet())
