"""HTTP statuses, and invalid targets."""

import asyncio
import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from foreseal.client import AsyncClient, Client, ConnectionLost, InvalidResponse, Options, RpcError, TimedOut
from foreseal.client.optional_packages import import_optional
from http_thread import QuietHandler

Prepared = list[tuple[int, str, bytes]]


class Server(http.server.ThreadingHTTPServer):
    """Returns prepared responses (status, content type, body), then none at all."""

    daemon_threads = True
    prepared: Prepared
    release: threading.Event


class Handler(QuietHandler):
    server: Server

    def do_POST(self) -> None:
        self.read_body()
        if not self.server.prepared:
            self.server.release.wait(10)
            return
        status, kind, body = self.server.prepared.pop(0)
        self.respond(status, body, content_type=kind)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.prepared, made.release = [], threading.Event()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.release.set()
    made.shutdown()
    thread.join()
    made.server_close()


def block_number(server: Server, *prepared: tuple[int, str, bytes], blocking: bool, **options: Any) -> int:
    server.prepared = list(prepared)
    url = f"http://127.0.0.1:{server.server_port}"
    if blocking:
        with Client(url, Options(**options)) as client:
            return client.block_number()

    async def main() -> int:
        async with AsyncClient(url, Options(**options)) as client:
            return await client.block_number()

    return asyncio.run(main())


BOTH = pytest.mark.parametrize("blocking", [True, False], ids=["blocking", "awaited"])
GOOD = (200, "application/json", b'{"jsonrpc":"2.0","id":2,"result":"0x7"}')


@BOTH
@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_unavailable_server_is_retried(server: Server, blocking: bool, status: int) -> None:
    page = (status, "text/html", b"<h1>later</h1>")
    assert block_number(server, page, GOOD, blocking=blocking) == 7
    with pytest.raises(ConnectionLost, match=f"HTTP {status}: <h1>later</h1>"):
        block_number(server, page, blocking=blocking, attempts=1)


@BOTH
def test_an_error_object_counts_at_any_http_status(server: Server, blocking: bool) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32004,"message":"not served"}}'
    with pytest.raises(RpcError, match="not served"):
        block_number(server, (403, "application/json", body), blocking=blocking)


@BOTH
def test_response_without_json_is_invalid(server: Server, blocking: bool) -> None:
    with pytest.raises(InvalidResponse, match="HTTP 404: nothing here"):
        block_number(server, (404, "text/plain", b"nothing here\n"), GOOD, blocking=blocking)


@BOTH
def test_response_above_the_limit_is_rejected(server: Server, blocking: bool) -> None:
    size = len(GOOD[2])
    assert block_number(server, (503, "text/html", b"later"), GOOD, blocking=blocking, max_response_size=size) == 7
    with pytest.raises(InvalidResponse, match=f"^the response exceeds {size - 1} bytes$"):
        block_number(server, GOOD, blocking=blocking, max_response_size=size - 1)


@BOTH
def test_missing_response_raises_a_timeout(server: Server, blocking: bool) -> None:
    with pytest.raises(TimedOut, match=r"no response within 0\.05 s"):
        block_number(server, blocking=blocking, timeout=0.05, attempts=2)


@BOTH
async def test_unreachable_server_raises_connection_lost(blocking: bool) -> None:
    url, once = "http://127.0.0.1:9", Options(attempts=1)
    if blocking:
        with Client(url, once) as client, pytest.raises(ConnectionLost, match=r"^http://127\.0\.0\.1:9: ConnectError"):
            client.block_number()
        return
    async with AsyncClient(url, once) as client:
        with pytest.raises(ConnectionLost, match=r"^http://127\.0\.0\.1:9: ConnectError"):
            await client.block_number()


@pytest.mark.parametrize("made", [Client, AsyncClient])
def test_invalid_url_is_rejected(made: Any) -> None:
    with pytest.raises(ValueError, match="target must be a URL with http, https, ws or wss, got 'localhost:8545'"):
        made("localhost:8545")
    for path in ("preconfirmed", "a/preconfirmed/"):
        with pytest.raises(
            ValueError, match="confirmations count sealed blocks, so the path must not be /preconfirmed"
        ):
            made(f"http://localhost:8545/{path}")
    with pytest.raises(ValueError, match="target: 'ws://' has no host"):
        made("ws://")
    with pytest.raises(ValueError, match="target: 'http://localhost:many' is not a URL"):
        made("http://localhost:many")
    with pytest.raises(TypeError, match="target must be a URL, an ASGI application or a chain, got int"):
        made(8545)


def test_asgi_application_requires_the_async_client() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    with pytest.raises(TypeError, match="requires AsyncClient"):
        Client(app)
    AsyncClient(app)


def test_missing_package_error_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r"requires the package nowhere: pip install 'foreseal\[client\]'"):
        import_optional("nowhere.at.all")
