"""HTTP from malformed clients and bad networks. After all of it the node still produces blocks."""

import contextlib
import errno
import http.client
import io
import json
import socket
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from live import LiveNode, Rpc, live_node
from live.blocks import pending_number, wait_for_block

CALL = b'{"jsonrpc":"2.0","id":%d,"method":"eth_chainId","params":[]}'
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
LARGE = 50 * 1024 * 1024
# Maximum seconds for a body; number of connections with half a body.
WAIT, HALVES = 2, 60


@pytest.fixture(scope="module")
def node(transport: str) -> Iterator[LiveNode]:
    with live_node("--transport", transport, values={"limits.wait": 1000 * WAIT}) as node:
        yield node


@pytest.fixture
def line(node: LiveNode) -> Iterator[socket.socket]:
    """Open a raw connection."""
    with connect(node) as line:
        yield line


def connect(node: LiveNode) -> socket.socket:
    parts = urlsplit(node.url)
    assert parts.hostname
    assert parts.port
    return socket.create_connection((parts.hostname, parts.port), timeout=20)


def request(body: bytes) -> bytes:
    return HEAD + b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def responses(line: socket.socket, count: int) -> list[tuple[int, bytes]]:
    """Return status and body of the next responses on the connection."""
    answers, stream = [], line.makefile("rb")
    for _ in range(count):
        response = http.client.HTTPResponse(_Reading(stream))  # type: ignore[arg-type]
        response.begin()
        answers.append((response.status, response.read()))
    return answers


class _Reading:
    """A socket for http.client that never closes the underlying stream."""

    def __init__(self, stream: io.BufferedReader) -> None:
        self._stream = stream

    def makefile(self, _mode: str) -> "_Reading":
        return self

    def close(self) -> None:
        pass

    def __getattr__(self, name: str) -> object:
        return getattr(self._stream, name)


def result(body: bytes) -> tuple[object, object]:
    answer = json.loads(body)
    return answer["id"], answer.get("result")


def test_body_of_fifty_megabytes_is_rejected(node: LiveNode) -> None:
    with connect(node) as line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % LARGE)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    with connect(node) as line:
        line.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % LARGE)
        with contextlib.suppress(OSError):
            for _ in range(LARGE // 0x10000):
                line.sendall(b" " * 0x10000)
    with connect(node) as line:
        line.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        with contextlib.suppress(OSError):
            for _ in range(LARGE // 0x10000):
                line.sendall(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
    assert node.rpc("eth_chainId") == "0x7a69"


def test_unfinished_bodies_release_their_slots(node: LiveNode) -> None:
    halves = [connect(node) for _ in range(HALVES)]
    try:
        for index, half in enumerate(halves):
            half.sendall(HEAD + b"Content-Length: 100\r\n\r\n" + (b'{"jsonrpc"' if index % 2 else b""))
        began = time.monotonic()
        # Other clients are served meanwhile.
        while time.monotonic() - began < WAIT / 4:
            assert node.rpc("eth_chainId") == "0x7a69"
        for half in halves:
            ((status, body),) = responses(half, 1)
            assert (status, json.loads(body)["error"]["data"]) == (408, {"limit": "wait", "max": WAIT * 1000})
            assert half.recv(1) == b"", "the connection is closed"
        # One after the other would take two minutes.
        assert time.monotonic() - began < HALVES * WAIT / 4
    finally:
        for half in halves:
            half.close()


def test_trickling_body_times_out(line: socket.socket) -> None:
    line.sendall(HEAD + b"Content-Length: 1000\r\n\r\n")
    began = time.monotonic()
    with contextlib.suppress(OSError):
        while time.monotonic() - began < 15 * WAIT:
            line.sendall(b" ")
            time.sleep(0.05)
    assert time.monotonic() - began < 15 * WAIT, "it could go on for ever"


def test_a_slow_body_within_the_limit_is_answered(transport: str) -> None:
    whole = request(CALL % 7)
    # The limit of this node is the default: a busy machine may suspend the client between two parts.
    with live_node("--transport", transport) as patient, connect(patient) as line:
        for at in range(0, len(whole), 20):
            line.sendall(whole[at : at + 20])
            time.sleep(WAIT / 50)
        ((status, body),) = responses(line, 1)
    assert (status, result(body)) == (200, (7, "0x7a69"))


def test_hangup_during_a_body_is_harmless(node: LiveNode) -> None:
    for cut in (10, len(HEAD), len(HEAD) + 30):
        with connect(node) as line:
            line.sendall(request(CALL % 1)[:cut])
    for _ in range(20):
        with connect(node) as line:
            # The request is complete, but the client does not read the response.
            line.sendall(request(b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{}]}'))
    assert node.rpc("eth_chainId") == "0x7a69"


def test_pipelined_requests_are_answered_in_order(line: socket.socket) -> None:
    slow = b'{"jsonrpc":"2.0","id":%d,"method":"eth_getBlockByNumber","params":["pending",true]}'
    bodies = [(CALL if index % 2 else slow) % index for index in range(40)]
    line.sendall(b"".join(map(request, bodies)))
    answers = responses(line, len(bodies))
    assert [status for status, _ in answers] == [200] * len(bodies)
    assert [json.loads(body)["id"] for _, body in answers] == list(range(len(bodies)))


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    return HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in chunks) + end


def test_chunked_bodies_are_read_completely(line: socket.socket) -> None:
    call = CALL % 5
    ways = [
        chunked(call),
        chunked(*(call[at : at + 1] for at in range(len(call)))),
        chunked(call[:9], call[9:], end=b"0\r\nTrailer: x\r\n\r\n"),
        chunked(call[:9]).removesuffix(b"0\r\n\r\n") + b"%X;name=value\r\n%b\r\n0\r\n\r\n" % (len(call) - 9, call[9:]),
    ]
    line.sendall(b"".join(ways))
    for status, body in responses(line, len(ways)):
        assert (status, result(body)) == (200, (5, "0x7a69"))


@pytest.mark.parametrize(
    "head",
    [
        b"no http at all\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"POST / HTTP/9.9\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        HEAD + b"Content-Length: -1\r\n\r\n",
        HEAD + b"Content-Length: 1e3\r\n\r\n",
        HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n",
        HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
        HEAD + b"Transfer-Encoding: wrong\r\n\r\n",
        HEAD + b"Big: " + b"x" * 1_000_000 + b"\r\n\r\n",
        HEAD + b"".join(b"X-%d: y\r\n" % index for index in range(1000)) + b"\r\n",
    ],
)
def test_invalid_http_is_rejected_and_closed(node: LiveNode, line: socket.socket, head: bytes) -> None:
    answer = b""
    with contextlib.suppress(ConnectionError):
        line.sendall(head)
        end_of_request(line)
        while part := line.recv(65536):
            answer += part
    # Closed, rejected, or invalid JSON (granian treats an interrupted body as complete), but never served.
    refused = answer.startswith(b"HTTP/1.") and answer.split()[1][:1] == b"4"
    assert answer == b"" or refused or b'"code":-32700' in answer, answer[:200]
    assert b'"result"' not in answer
    assert node.rpc("eth_chainId") == "0x7a69"


def end_of_request(line: socket.socket) -> None:
    """Close the sending side; the server may have closed the connection already."""
    try:
        line.shutdown(socket.SHUT_WR)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


def test_content_length_with_chunked_encoding_is_rejected(line: socket.socket) -> None:
    hidden = request(CALL % 666)
    line.sendall(HEAD + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden)
    line.shutdown(socket.SHUT_WR)
    answer = b""
    with contextlib.suppress(ConnectionError):
        while part := line.recv(65536):
            answer += part
    # Chunks win (RFC 9112, 6.3): the first body is empty and a separate request follows, or everything is rejected.
    assert answer.count(b'"id":666') <= 1
    assert answer.startswith((b"HTTP/1.1 400 ", b"HTTP/1.1 200 "))
    assert b'"code":-32700' in answer or answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("verb", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND"])
def test_a_wrong_verb_is_rejected(rpc: Rpc, verb: str) -> None:
    answer = rpc.request(verb, "/", b"", {})
    assert answer.status == 405
    assert "POST" in answer.headers["allow"]


def test_only_json_content_types_are_accepted(rpc: Rpc) -> None:
    call = CALL % 1
    for kind in ("application/json", "application/json; charset=utf-8", "Application/JSON"):
        assert rpc.post(call, {"Content-Type": kind}).status == 200
    for kind in (
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jso",
    ):
        assert rpc.post(call, {"Content-Type": kind}).status == 415


def test_unknown_paths_and_hosts_are_rejected(rpc: Rpc) -> None:
    for path in ("/nothing", "//", "/../../etc/passwd", "/healthz/", "/%00"):
        assert rpc.request("POST", path, CALL % 1, {"Content-Type": "application/json"}).status == 404
    assert rpc.post(CALL % 1, {"Content-Type": "application/json", "Host": "evil.example"}).status == 403


def test_many_concurrent_connections_are_answered(node: LiveNode) -> None:
    lines = [connect(node) for _ in range(200)]
    try:
        for index, line in enumerate(lines):
            line.sendall(request(CALL % index))
        for index, line in enumerate(lines):
            ((status, body),) = responses(line, 1)
            assert (status, result(body)) == (200, (index, "0x7a69"))
    finally:
        for line in lines:
            line.close()


def test_blocks_continue_after_malformed_clients(node: LiveNode, rpc: Rpc) -> None:
    assert node.process.poll() is None
    assert rpc.request("GET", "/healthz").status == 200
    wait_for_block(rpc, pending_number(rpc))
    assert "panic" not in node.printed
    assert "Traceback" not in node.printed, node.printed
