"""The table of malformed HTTP and WebSocket, over both transports."""

import contextlib
import os
import socket
import struct
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from live import LiveNode, live_node

from . import strictness
from .strictness import CLOSED, HTTP, OPEN, WEBSOCKET, Case

# Seconds without an answer after which a client ends its side.
_QUIET = 0.5


@pytest.fixture(scope="module")
def node(front: str) -> Iterator[LiveNode]:
    with live_node("--transport", front, "--wrong-key-rate", "0") as node:
        yield node


def connect(node: LiveNode) -> socket.socket:
    port = urlsplit(node.url).port
    assert port
    return socket.create_connection(("127.0.0.1", port), timeout=20)


def exchange(node: LiveNode, data: bytes) -> bytes:
    """Everything that is answered to bytes; the client ends the connection when nothing is for a while."""
    answer = b""
    with connect(node) as line:
        with contextlib.suppress(OSError):
            line.sendall(data)
        line.settimeout(_QUIET)
        for last in (False, True):
            with contextlib.suppress(ConnectionError, TimeoutError):
                while part := line.recv(65536):
                    answer += part
            if not last:
                line.settimeout(20)
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_WR)
    return answer


@pytest.mark.parametrize("case", HTTP, ids=lambda case: case.name)
def test_http_of_the_table(node: LiveNode, front: str, case: Case) -> None:
    answer = exchange(node, case.data)
    status = int(answer.split()[1]) if answer else CLOSED
    assert status == case.outcome(front), answer[:300]
    if status != 200:
        assert b'"result"' not in answer, "it is not executed"


def test_no_incomplete_request_is_executed(node: LiveNode) -> None:
    """Bodies that are whole JSON documents, each with an effect that could be seen."""
    account = "0x" + "5e" * 20
    body = b'{"jsonrpc":"2.0","id":1,"method":"anvil_setBalance","params":["%b","0x7"]}' % account.encode()
    chunk = b"%x\r\n%b\r\n" % (len(body), body)
    for data in (
        strictness.post(b"Content-Length: %d" % (len(body) + 9), body=body),
        strictness.chunks(chunk),
        strictness.chunks(chunk + b"zz\r\n"),
        strictness.chunks(chunk + b"0\r\n"),
        strictness.chunks(chunk + b"0\r\nX\r\n\r\n"),
        strictness.sized(b"Host: localhost", body=body),
    ):
        assert b'"result"' not in exchange(node, data)
        assert node.rpc("eth_getBalance", account, "pending") == "0x0"
    assert b'"result"' in exchange(node, strictness.sized(body=body))
    assert node.rpc("eth_getBalance", account, "pending") == "0x7"


def frames_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Opcodes and payloads of the server's frames."""
    while len(data) >= 2:
        opcode, length, start = data[0] & 15, data[1], 2
        if length == 126:
            (length,), start = struct.unpack("!H", data[2:4]), 4
        elif length == 127:
            (length,), start = struct.unpack("!Q", data[2:10]), 10
        yield opcode, data[start : start + length]
        data = data[start + length :]


@pytest.mark.parametrize("case", WEBSOCKET, ids=lambda case: case.name)
def test_frames_of_the_table(node: LiveNode, front: str, case: Case) -> None:
    answer = b""
    with connect(node) as line:
        line.sendall(strictness.HANDSHAKE + strictness.KEY + b"\r\n")
        while b"\r\n\r\n" not in answer:
            answer += line.recv(65536)
        assert answer.startswith(b"HTTP/1.1 101 ")
        answer = answer.partition(b"\r\n\r\n")[2]
        line.sendall(case.data)
        line.settimeout(2 if case.outcome(front) == OPEN else 20)
        outcome = CLOSED
        try:
            while part := line.recv(65536):
                answer += part
        except TimeoutError:
            outcome = OPEN
        except ConnectionError:
            pass
    for opcode, payload in frames_of(answer):
        if opcode == 8:
            outcome = int.from_bytes(payload[:2]) if payload else 1005
        elif opcode == 1 and outcome != OPEN:
            outcome = 200
    assert outcome == case.outcome(front), answer[:300]


def test_the_documented_table_of_granian_is_this_one() -> None:
    """docs/fronts.md lists what granian decides before our code runs."""
    with open(os.path.join(os.path.dirname(__file__), "../../docs/fronts.md")) as page:
        text = page.read()
    for case in (*HTTP, *WEBSOCKET):
        if case.proxy:
            assert f"| {case.name} |" in text, case.name
