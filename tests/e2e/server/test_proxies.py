"""A node behind a trusted proxy: nginx with the documented configuration, and a proxy of this test."""

import contextlib
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from foreseal.ports import next_free_port
from live import LiveNode, live_node
from live.malformed_cases import CALL, CLOSED, HEAD, HTTP, WEBSOCKET, Case
from live.proxies import describe_documented_nginx, require_program, running_proxy
from live.raw_exchange import connect, exchange, handshake, settled_frame_outcome, status_of

# Outcomes behind nginx that differ from those of the native transport. 200 means that nginx rewrote the request:
# invalid fields, spaces, line ends, framing and trailers of the client do not reach the node.
_BEHIND_NGINX = {
    "another host in an absolute-form target": 200,
    "bare LF ends every line": 200,
    "bare LF ends one header line": 200,
    "a header without a colon": 200,
    "a lower-case method": 400,
    "two spaces in the request line": 200,
    "CONNECT": 400,
    "HTTP/1.2": 200,
    "HTTP/0.9": CLOSED,
    "a head of 1 MB": 400,
    "1,000 header lines": 400,
    "100 empty lines before a request": 200,
    "a coding behind chunked": 501,
    "a coding before chunked": 501,
    "chunked twice": 501,
    "an unknown transfer coding": 501,
    "chunked in quotes": 501,
    "a chunk with 1 KB of extensions": 200,
    "trailers of 64 KB": 200,
    "a malformed trailer": 200,
    "a chunk size of 16 digits": 400,
    "bare LF behind a chunk size": 200,
    "bare LF behind a chunk": 200,
    "an unknown expectation": 200,
    "a handshake by POST": 400,
    "a handshake in HTTP/1.0": 400,
    "a handshake without Connection: Upgrade": 101,
}
# nginx passes the target on unchanged.
_ONLY_ASGI = {"a fragment in the target": 200}


@contextlib.contextmanager
def nginx(node: LiveNode, folder: Path) -> Iterator[int]:
    """Run nginx in front of a node and yield its port. Skips the test without nginx."""
    port = next_free_port()
    with running_proxy(describe_documented_nginx(require_program("nginx"), folder, port, _port(node)), port):
        yield port


@pytest.fixture(scope="module")
def behind(transport: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run nginx in front of a node and yield its port."""
    options = ("--transport", transport, "--trusted-proxy", "127.0.0.1")
    with (
        live_node(*options, values={"access.wrong_key_burst": 1_000_000}) as node,
        nginx(node, tmp_path_factory.mktemp("nginx")) as port,
    ):
        yield port


def _expected(case: Case, transport: str) -> int:
    other = _BEHIND_NGINX | (_ONLY_ASGI if transport == "asgi" else {})
    return other.get(case.name, case.native)


def test_malformed_http_behind_nginx_matches_the_table(transport: str, behind: int) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda case: exchange(behind, case.data, is_cut=case.is_cut), HTTP))
    expected = {case.name: _expected(case, transport) for case in HTTP}
    assert {case.name: status_of(answer) for case, answer in zip(HTTP, answers, strict=True)} == expected
    # Each request is executed at most once.
    executed = {case.name: answer.count(b'"result"') for case, answer in zip(HTTP, answers, strict=True)}
    assert executed == {name: int(status == 200) for name, status in expected.items()}


def test_malformed_frames_pass_through_nginx(transport: str, behind: int) -> None:
    expected = {case.name: case.outcome(transport) for case in WEBSOCKET}

    def outcome(case: Case) -> int:
        return settled_frame_outcome(behind, case, transport)[0]

    with ThreadPoolExecutor(8) as pool:
        assert dict(zip(expected, pool.map(outcome, WEBSOCKET), strict=True)) == expected


def test_nginx_limits_the_connections_of_an_address(behind: int) -> None:
    with contextlib.ExitStack() as lines:

        def status(address: str) -> int:
            return status_of(handshake(lines.enter_context(connect(behind, address))))

        assert [status("127.0.0.5") for _ in range(65)] == [101] * 64 + [503]
        assert status("127.0.0.6") == 101


def test_websockets_behind_nginx_count_for_their_client(transport: str, tmp_path: Path) -> None:
    limits = ("--public", "--trusted-proxy", "127.0.0.1", "--public-max-caller-connections", "2")
    with (
        live_node("--transport", transport, *limits) as node,
        nginx(node, tmp_path) as port,
        contextlib.ExitStack() as lines,
    ):

        def status(address: str) -> int:
            return status_of(handshake(lines.enter_context(connect(port, address))))

        assert [status("127.0.0.2") for _ in range(3)] == [101, 101, 429]
        assert status("127.0.0.3") == 101


def test_filters_count_for_the_forwarded_address(transport: str) -> None:
    options = ("--transport", transport, "--public", "--trusted-proxy", "127.0.0.1")
    values = {"public_limits.caller_filters": 2, "public_core_limits.filters": 5}
    with live_node(*options, values=values) as node:

        def make(client: int) -> dict[str, object]:
            body = {"jsonrpc": "2.0", "id": 1, "method": "eth_newBlockFilter", "params": []}
            headers = {"Content-Type": "application/json", "X-Forwarded-For": f"198.51.100.{client}"}
            answer: dict[str, object] = node.rpc.post(json.dumps(body).encode(), headers).json()
            return answer

        made = [make(1), make(1)]
        assert all("result" in answer for answer in made)
        refused = make(1)["error"]
        assert isinstance(refused, dict)
        assert (refused["code"], refused["data"]) == (-32005, {"limit": "caller_filters", "max": 2})
        # Each new client gets one connection, although there is room for five.
        assert all("result" in make(client) for client in range(2, 12))


def _port(node: LiveNode) -> int:
    port = urlsplit(node.url).port
    assert port
    return port


def test_bytes_in_flight_count_for_the_forwarded_address() -> None:
    values = {"limits.address_bytes": 1_000_000}
    with live_node("--trusted-proxy", "127.0.0.1", values=values) as node, contextlib.ExitStack() as lines:

        def begun(client: int) -> bytes:
            return HEAD + b"X-Forwarded-For: 198.51.100.%d\r\nContent-Length: 900000\r\n\r\n" % client

        first, second, other = (lines.enter_context(connect(_port(node))) for _ in range(3))
        for line, client in ((first, 1), (other, 2), (second, 1)):
            line.sendall(begun(client) + b" " * 800_000)
            # Each response is an iteration of the event loop, which reads at least 256,000 bytes of a connection.
            for _ in range(6):
                node.rpc("eth_chainId")
        # Beyond the limit of its address: the body is read to its end, then rejected, and the connection stays open.
        second.sendall(b" " * 100_000)
        refused = second.recv(65536)
        assert status_of(refused) == 429
        assert b"retry-after: 1\r\n" in refused
        assert b"connection: close" not in refused
        for line in (other, first):
            line.sendall(b" " * (100_000 - len(CALL)) + CALL)
            assert status_of(line.recv(65536)) == 200
        second.sendall(HEAD + b"X-Forwarded-For: 198.51.100.3\r\nContent-Length: %d\r\n\r\n" % len(CALL) + CALL)
        assert status_of(second.recv(65536)) == 200
