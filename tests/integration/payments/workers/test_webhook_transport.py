"""The HTTP transport against local servers: what it sends, which responses it survives, where it connects."""

import asyncio
import gzip
import socket
import ssl
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trustme

from foreseal.payments.configuration.webhook_targets import ANY_NETWORK, PUBLIC_ONLY, AddressPolicy, parse_networks
from foreseal.payments.workers import webhook_transport
from foreseal.payments.workers.webhook_transport import (
    MAX_RESPONSE_SIZE,
    PostFailed,
    PostResponse,
    WebhookHttpTransport,
)

LOCAL = AddressPolicy(ANY_NETWORK)
OK = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"


class RawServer:
    """A server that answers each request with `answer`, and records requests and connections."""

    def __init__(self, answer: bytes = OK, *, tls: ssl.SSLContext | None = None, more: bytes = b"") -> None:
        self.answer = answer
        self.more = more
        """Sent again and again after the answer, until the client closes."""
        self.requests: list[bytes] = []
        self.connections = 0
        self.closed = asyncio.Event()
        self._tls = tls

    async def __aenter__(self) -> "RawServer":
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = self.server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hooks?a=b"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                writer.write(self.answer)
                while self.more:
                    writer.write(self.more)
                    await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()
            self.closed.set()


class Lookup:
    """A `getaddrinfo` that returns the next list of addresses for each call."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.hosts: list[str] = []

    def __call__(self, host: str, port: int, **_: Any) -> list[Any]:
        self.hosts.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 60))  # type: ignore[arg-type]


async def failure(transport: WebhookHttpTransport) -> str:
    with pytest.raises(PostFailed) as error:
        await transport.post(b"{}", {})
    await transport.close()
    return str(error.value)


def test_post_has_the_exact_body_and_headers_on_one_connection() -> None:
    async def test() -> None:
        async with RawServer() as server:
            transport = WebhookHttpTransport(server.url, LOCAL)
            for number in range(3):
                body = b'{"n":%d}' % number
                assert await transport.post(body, {"webhook-id": f"evt_{number}"}) == PostResponse(200)
            await transport.close()
        assert server.connections == 1
        head, _, body = server.requests[2].partition(b"\r\n\r\n")
        line, *headers = head.decode().lower().split("\r\n")
        assert (line, body) == ("post /hooks?a=b http/1.1", b'{"n":2}')
        assert dict(header.split(": ") for header in headers) == {
            "host": f"127.0.0.1:{server.port}",
            "content-type": "application/json",
            "content-length": "7",
            "user-agent": "foreseal-webhooks",
            "webhook-id": "evt_2",
        }

    run(test)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 204 No Content\r\n\r\n", PostResponse(204)),
        (b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n", PostResponse(302)),
        (b"HTTP/1.1 503 Busy\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n", PostResponse(503, "7")),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", PostResponse(200)),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", PostResponse(200)),
        (b"HTTP/1.1 200 OK\r\nset-cookie: a=b\r\ncontent-length: 0\r\n\r\n", PostResponse(200)),
    ],
)
def test_status_counts_whatever_follows(answer: bytes, expected: PostResponse) -> None:
    async def test() -> None:
        async with RawServer(answer) as server:
            transport = WebhookHttpTransport(server.url, LOCAL)
            assert await transport.post(b"{}", {}) == expected
            assert await transport.post(b"{}", {}) == expected
            await transport.close()
        assert not any(b"cookie" in request.lower() for request in server.requests)
        assert len(server.requests) == 2

    run(test)


def test_endless_body_is_cut_off() -> None:
    async def test() -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n"
        async with RawServer(head, more=b"a" * MAX_RESPONSE_SIZE) as server:
            transport = WebhookHttpTransport(server.url, LOCAL)
            assert await transport.post(b"{}", {}) == PostResponse(200)
            await server.closed.wait()
            await transport.close()

    run(test)


def test_compressed_body_is_not_decompressed() -> None:
    bomb = gzip.compress(bytes(10_000_000))
    assert len(bomb) < MAX_RESPONSE_SIZE

    async def test() -> None:
        head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n" % len(bomb)
        async with RawServer(head + bomb) as server:
            transport = WebhookHttpTransport(server.url, LOCAL)
            await transport.post(b"{}", {})
            await transport.post(b"{}", {})
            await transport.close()
        assert server.connections == 1

    run(test)


def test_body_that_does_not_end_is_not_awaited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_transport, "_BODY_TIMEOUT", 0.05)

    async def test() -> None:
        async with RawServer(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc") as server:
            transport = WebhookHttpTransport(server.url, LOCAL)
            assert await transport.post(b"{}", {}) == PostResponse(200)
            await server.closed.wait()
            await transport.close()

    run(test)


def test_missing_response_ends_at_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_transport, "ATTEMPT_TIMEOUT", 0.5)

    async def test() -> None:
        for answer in (b"", b"HTTP/1.1 200", b"HTTP/1.1 100 Continue\r\n\r\n"):
            async with RawServer(answer) as server:
                assert await failure(WebhookHttpTransport(server.url, LOCAL)) == "no response within 0.5 s"
                await server.closed.wait()

    run(test)


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage\r\n\r\n",
        b"HTTP/1.1 abc OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\na: " + b"a" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000 + b"\r\n",
    ],
    ids=["garbage", "status", "chunk", "long header", "many headers"],
)
def test_malformed_response_is_a_failure(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_transport, "ATTEMPT_TIMEOUT", 2.0)

    async def test() -> None:
        async with RawServer(answer) as server:
            assert await failure(WebhookHttpTransport(server.url, LOCAL))

    run(test)


def test_closed_port_and_unknown_name_are_failures() -> None:
    async def test() -> None:
        async with RawServer() as server:
            url = server.url
        assert "Cannot connect to host 127.0.0.1" in await failure(WebhookHttpTransport(url, LOCAL))

        def unknown(*_: Any, **__: Any) -> list[Any]:
            raise socket.gaierror(-2, "Name or service not known")

        assert "shop.example cannot be resolved" in await failure(
            WebhookHttpTransport("http://shop.example/", LOCAL, unknown)
        )

    run(test)


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1"], ["8.8.8.8", "127.0.0.1"], ["169.254.169.254"], ["::ffff:127.0.0.1"], ["0.0.0.0"]]
)
def test_name_with_a_forbidden_address_gets_no_connection(addresses: list[str]) -> None:
    async def test() -> None:
        async with RawServer() as server:
            transport = WebhookHttpTransport(f"http://shop.example:{server.port}/", PUBLIC_ONLY, Lookup(addresses))
            assert f"url {addresses[-1]} is not a public address" in await failure(transport)
        assert server.connections == 0

    run(test)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "2130706433", "127.1", "[::ffff:127.0.0.1]", "localhost", "user@127.0.0.1"]
)
def test_forbidden_url_gets_no_connection(host: str) -> None:
    async def test() -> None:
        async with RawServer() as server:
            lookup = Lookup(["127.0.0.1"])
            transport = WebhookHttpTransport(f"http://{host}:{server.port}/", PUBLIC_ONLY, lookup)
            assert (await failure(transport)).startswith("url ")
        assert (server.connections, lookup.hosts) == (0, [])

    run(test)


def test_connection_goes_to_the_checked_address_without_another_lookup() -> None:
    async def test() -> None:
        policy = AddressPolicy(parse_networks(["127.0.0.1/32"]))
        lookup = Lookup(["127.0.0.1"], ["127.0.0.2"])
        async with RawServer() as server:
            url = f"http://shop.example:{server.port}/"
            transport = WebhookHttpTransport(url, policy, lookup)
            assert await transport.post(b"{}", {}) == PostResponse(200)
            assert (lookup.hosts, server.connections) == (["shop.example"], 1)
            assert b"Host: shop.example:" in server.requests[0]
            await transport.close()
            # The name has another address now, which is checked as well.
            assert "url 127.0.0.2 is not a public address" in await failure(transport)
            assert server.connections == 1

    run(test)


def test_hanging_lookup_is_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_transport, "ATTEMPT_TIMEOUT", 0.5)
    release, calls = threading.Event(), []

    def hang(*arguments: Any, **_: Any) -> list[Any]:
        calls.append(arguments)
        release.wait()
        raise socket.gaierror(-3, "Temporary failure in name resolution")

    async def test() -> None:
        transport = WebhookHttpTransport("http://shop.example/", LOCAL, hang)
        for _ in range(3):
            with pytest.raises(PostFailed, match="no response within"):
                await transport.post(b"{}", {})
        await transport.close()

    try:
        run(test)
        assert len(calls) == 1
    finally:
        release.set()


def test_certificate_of_another_name_is_rejected(tmp_path: Path) -> None:
    authority = trustme.CA()
    serving = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("shop.example").configure_cert(serving)
    trusting = ssl.create_default_context()
    authority.configure_trust(trusting)

    async def test() -> None:
        async with RawServer(tls=serving) as server:

            def transport(name: str, tls: ssl.SSLContext | None) -> WebhookHttpTransport:
                return WebhookHttpTransport(f"https://{name}:{server.port}/", LOCAL, Lookup(["127.0.0.1"]), tls)

            good = transport("shop.example", trusting)
            assert await good.post(b"{}", {}) == PostResponse(200)
            await good.close()
            assert "ertificate" in await failure(transport("other.example", trusting))
            assert "ertificate" in await failure(transport("shop.example", None))

    run(test)
