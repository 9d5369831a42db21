"""Brokers behind TLS and passwords, for real: who is let in, whom the service talks to, and that no secret is shown."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from panbayes.consortium.desk.certificate import make_certificate
from panbayes.errors import InputError
from panbayes.service.source import Declared
from panbayes.service.sources.kafka import KafkaSource
from panbayes.service.sources.nats import NatsSource
from panbayes.service.sources.redis import RedisSource
from tests.service.brokers import KafkaCluster, NatsServer, RedisServer, ids, nats_server, redis_server
from tests.service.sealed_kafka import Eavesdropper, SealedProxy
from tests.service.taking import taking

SECRET = "-".join(("very", "secret", "password"))


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """The files of a key and of its certificate, which is also what clients trust."""
    key, found = make_certificate(["127.0.0.1"], days=2, now=datetime.now(UTC))
    (tmp_path / "key.pem").write_bytes(key)
    (tmp_path / "ca.pem").write_bytes(found)
    _, other = make_certificate(["127.0.0.1"], days=2, now=datetime.now(UTC))
    (tmp_path / "other.pem").write_bytes(other)
    (tmp_path / "nothing.pem").write_bytes(b"no certificate")
    return tmp_path / "key.pem", tmp_path / "ca.pem"


def refused(source: Declared, folder: Path, told: str, **environment: str) -> None:
    async def start() -> None:
        async with taking(source, folder):
            pass

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        with pytest.raises(InputError, match=told) as error:
            asyncio.run(start())
    assert SECRET not in f"{error.value}{error.value.__cause__}{error.value!r}"


def taken(source: Declared, folder: Path, **environment: str) -> list[int]:
    """Take until everything that waits was taken; return it."""

    async def run() -> list[int]:
        async with taking(source, folder) as found:
            await found.until(lambda: len(found.seen) == 100)
            assert SECRET not in "".join(found.told)
            assert SECRET not in repr(source)
        return found.seen

    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        return asyncio.run(run())


class TlsRedis(RedisServer):
    """A Redis that speaks TLS at its only port, with users and passwords."""

    def ask(self, *words: str | bytes | int) -> Any:
        from redis import Redis

        with Redis(port=self.port, ssl=True, ssl_cert_reqs="none", username="admin", password=SECRET) as client:
            return client.execute_command(*words)


def redis_source(at: RedisServer, **keys: Any) -> RedisSource:
    address = f"rediss://127.0.0.1:{at.port}"
    return RedisSource(**{"server": address, "stream": "visits", "group": "mine", "user": "counting", **keys})


def test_redis_with_tls_and_a_user_of_its_own(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    key, ca = certificate
    rules = tmp_path / "users.acl"
    rights = "~visits +xgroup +xreadgroup +xack +xdel +xinfo +ping +client +hello +auth"
    rules.write_text(f"user default off\nuser admin on >{SECRET} ~* +@all\nuser counting on >{SECRET}2 {rights}\n")
    with redis_server(
        tmp_path,
        *("--port", "0", "--aclfile", str(rules), "--tls-auth-clients", "no"),
        *("--tls-cert-file", str(ca), "--tls-key-file", str(key)),
        kind=TlsRedis,
        port_option="--tls-port",
    ) as server:
        server.ask("XADD", "visits", "*", "id", ids(0, 100))
        trusting = {"ca": "ca.pem"}
        assert sorted(taken(redis_source(server, **trusting), tmp_path, REDISCLI_AUTH=f"{SECRET}2")) == list(range(100))
        # With its acknowledgement the entry is gone.
        assert server.ask("XLEN", "visits") == 0
        for source, told, password in (
            (redis_source(server, **trusting), "refuses this client", SECRET),
            (redis_source(server, user="nobody", **trusting), "refuses this client", f"{SECRET}2"),
            (redis_source(server), "no certificate for this name that is trusted", f"{SECRET}2"),
            (redis_source(server, ca="other.pem"), "no certificate for this name that is trusted", f"{SECRET}2"),
            (
                redis_source(server, server=f"rediss://localhost:{server.port}", **trusting),
                "no certificate for this name that is trusted",
                f"{SECRET}2",
            ),
            (redis_source(server, ca="nothing.pem"), "nothing.pem has no certificates", SECRET),
            (redis_source(server, ca="missing.pem"), "missing.pem has no certificates", SECRET),
            (redis_source(server, server="redis://h:1", ca="ca.pem"), "found it with redis://", SECRET),
        ):
            refused(source, tmp_path, told, REDISCLI_AUTH=password)


def nats_source(at: NatsServer, **keys: Any) -> NatsSource:
    address = f"tls://127.0.0.1:{at.port}"
    return NatsSource(**{"server": address, "stream": "VISITS", "group": "mine", **keys})


class TlsNats(NatsServer):
    """A NATS whose clients speak TLS, and show a token."""

    def client(self) -> dict[str, Any]:
        import ssl

        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return {"tls": context, "token": SECRET}


def test_nats_with_tls_and_a_token(tmp_path: Path, certificate: tuple[Path, Path]) -> None:
    key, ca = certificate
    options = ("--tls", "--tlscert", str(ca), "--tlskey", str(key), "--auth", SECRET)
    with nats_server(tmp_path, *options, kind=TlsNats) as server:
        server.make("VISITS")
        server.send("VISITS", [ids(0, 100)])
        source = nats_source(server, ca="ca.pem")
        for other, told, token in (
            (source, "refuses this client", "wrong"),
            (nats_source(server), "no certificate for this name that is trusted", SECRET),
            (nats_source(server, ca="other.pem"), "no certificate for this name that is trusted", SECRET),
            (nats_source(server, ca="nothing.pem"), "nothing.pem has no certificates", SECRET),
            (nats_source(server, server="nats://h:1", ca="ca.pem"), "found it with nats://", SECRET),
        ):
            refused(other, tmp_path, told, NATS_TOKEN=token)
        assert sorted(taken(source, tmp_path, NATS_TOKEN=SECRET)) == list(range(100))
        assert server.left("VISITS") == 0


@contextmanager
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """Somebody who speaks like NATS without TLS, and keeps what it hears."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def listen() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(3)
                connection.sendall(b'INFO {"server_id":"x","version":"2.10.0","max_payload":1000,"headers":true}\r\n')
                try:
                    while piece := connection.recv(4096):
                        heard.append(piece)
                        connection.sendall(b"PONG\r\n")
                except OSError:
                    pass

        thread = threading.Thread(target=listen)
        thread.start()
        yield listening.getsockname()[1], heard
        thread.join()


def test_no_password_is_sent_without_tls_where_the_address_says_tls(tmp_path: Path) -> None:
    """The driver by itself would: it looks what the server asks for."""
    pytest.importorskip("nats", reason="needs nats-py")
    with listener() as (port, heard):
        source = NatsSource(server=f"tls://127.0.0.1:{port}", stream="VISITS", group="mine")
        refused(source, tmp_path, "no certificate for this name", NATS_USER="me", NATS_PASSWORD=SECRET)
    assert heard == []


@pytest.fixture
def kafka() -> Iterator[KafkaCluster]:
    pytest.importorskip("confluent_kafka", reason="needs confluent-kafka")
    cluster = KafkaCluster()
    cluster.make("visits", 1)
    cluster.send("visits", [ids(0, 50), ids(50, 100)])
    yield cluster
    cluster.close()


@contextmanager
def sealed_kafka(
    kafka: KafkaCluster, certificate: tuple[Path, Path], *, sealed: bool = True
) -> Iterator[tuple[SealedProxy, Eavesdropper]]:
    """A broker that asks for a password, and somebody on the way to it; clients go by the latter."""
    key, ca = certificate
    proxy = SealedProxy(kafka.servers, certificate=ca, key=key, login=f"\0me\0{SECRET}".encode(), sealed=sealed)
    between = Eavesdropper(proxy.port)
    proxy.advertised = between.port
    try:
        yield proxy, between
    finally:
        between.close()
        proxy.close()


def kafka_source(folder: Path, port: int, *, host: str = "127.0.0.1", **settings: str) -> KafkaSource:
    """A source whose settings stand in a file of its own."""
    given = {"sasl.mechanisms": "PLAIN", "sasl.username": "me", "sasl.password": SECRET}
    given |= {"security.protocol": "sasl_ssl"} | {name.replace("_", "."): value for name, value in settings.items()}
    file = folder / "kafka.properties"
    file.touch(mode=0o600)
    file.write_text("".join(f"{name}={value}\n" for name, value in given.items() if value))
    return KafkaSource(servers=f"{host}:{port}", topic="visits", group="mine", settings="kafka.properties")


def test_kafka_with_tls_and_a_password(tmp_path: Path, certificate: tuple[Path, Path], kafka: KafkaCluster) -> None:
    """The driver does both by itself: that it is told to is seen here, and what goes over the wire."""
    ca = str(certificate[1])
    with sealed_kafka(kafka, certificate) as (proxy, between):
        for host, trusted in (("127.0.0.1", str(tmp_path / "other.pem")), ("localhost", ca)):
            source = kafka_source(tmp_path, between.port, host=host, ssl_ca_location=trusted)
            refused(source, tmp_path, "refuses this client")
            assert proxy.shown == [], "whoever is not known for the broker is shown no password"
        source = kafka_source(tmp_path, between.port, ssl_ca_location=ca, sasl_password=f"{SECRET}2")
        refused(source, tmp_path, "refuses this client")
        assert set(proxy.shown) == {f"\0me\0{SECRET}2".encode()}
        source = kafka_source(tmp_path, between.port, ssl_ca_location=ca)
        assert sorted(taken(source, tmp_path)) == list(range(100))
        assert proxy.shown[-1] == f"\0me\0{SECRET}".encode()
        assert between.heard
        assert SECRET.encode() not in between.heard
        assert b"visits" not in between.heard


def test_no_password_goes_to_a_kafka_without_tls(
    tmp_path: Path, certificate: tuple[Path, Path], kafka: KafkaCluster
) -> None:
    async def begin(source: KafkaSource) -> None:
        async with taking(source, tmp_path) as found:
            assert found.told[1:] == [f"kafka: lost {source.servers}; trying again"]

    with sealed_kafka(kafka, certificate, sealed=False) as (proxy, between):
        asyncio.run(begin(kafka_source(tmp_path, between.port, ssl_ca_location=str(certificate[1]))))
        assert between.heard
        assert (proxy.shown, SECRET.encode() in between.heard) == ([], False)
        for protocol, mechanism in (("sasl_plaintext", "PLAIN"), ("SASL_PLAINTEXT", "OAUTHBEARER")):
            given = {"security_protocol": protocol, "sasl_mechanisms": mechanism}
            refused(kafka_source(tmp_path, 9092, host="db.example", **given), tmp_path, "would be shown without TLS")
        given = {"security_protocol": "sasl_plaintext", "sasl_mechanism": "SCRAM-SHA-512", "sasl_mechanisms": "PLAIN"}
        refused(kafka_source(tmp_path, 9092, host="db.example", **given), tmp_path, "would be shown without TLS")
        # On this machine nobody listens: what is asked for is done.
        source = kafka_source(tmp_path, between.port, security_protocol="sasl_plaintext")
        assert sorted(taken(source, tmp_path)) == list(range(100))
        assert SECRET.encode() in between.heard, "or the rest shows nothing"
