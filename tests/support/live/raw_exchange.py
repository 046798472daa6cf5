"""Raw bytes to a local port, and the responses."""

import contextlib
import re
import socket
import struct
from collections.abc import Iterator

from live import malformed_cases
from live.malformed_cases import CLOSED, NORMAL, OPEN

# Seconds without further bytes after which a client closes its side.
_QUIET = 0.5
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3}) ")


def connect(port: int, address: str = "127.0.0.1") -> socket.socket:
    """Connect from an address of this machine."""
    return socket.create_connection(("127.0.0.1", port), timeout=20, source_address=(address, 0))


def exchange(port: int, data: bytes, *, is_cut: bool = False) -> bytes:
    """Return all response bytes; the client closes its side after the response.

    With `is_cut` it closes it without one: a server may drop a request whose client left.
    """
    answer = b""
    with connect(port) as line:
        with contextlib.suppress(OSError):
            line.sendall(data)
        line.settimeout(_QUIET if is_cut else 20)
        for last in (False, True):
            with contextlib.suppress(ConnectionError, TimeoutError):
                while part := line.recv(65536):
                    answer += part
                    line.settimeout(_QUIET)
            if not last:
                line.settimeout(20)
                with contextlib.suppress(OSError):
                    line.shutdown(socket.SHUT_WR)
    return answer


def status_of(answer: bytes) -> int:
    """Return the status of a response; `CLOSED` if there is none."""
    match = _STATUS.match(answer)
    return int(match[1]) if match else CLOSED


def handshake(line: socket.socket, *headers: bytes) -> bytes:
    """Open a WebSocket and return the response up to the end of its head."""
    line.sendall(
        malformed_cases.HANDSHAKE + malformed_cases.KEY + b"".join(header + b"\r\n" for header in headers) + b"\r\n"
    )
    answer = b""
    while b"\r\n\r\n" not in answer and (part := line.recv(65536)):
        answer += part
    return answer


def frames_of(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield opcodes and payloads of the server's frames."""
    while len(data) >= 2:
        opcode, length, start = data[0] & 15, data[1], 2
        if length == 126:
            (length,), start = struct.unpack("!H", data[2:4]), 4
        elif length == 127:
            (length,), start = struct.unpack("!Q", data[2:10]), 10
        yield opcode, data[start : start + length]
        data = data[start + length :]


def frame_outcome(port: int, data: bytes, *, stays_open: bool) -> tuple[int, bytes]:
    """Return the outcome of frames after a valid handshake, in the form of a `Case`, and the response bytes."""
    with connect(port) as line:
        answer = handshake(line)
        assert answer.startswith(b"HTTP/1.1 101 "), answer
        answer = answer.partition(b"\r\n\r\n")[2]
        line.sendall(data)
        line.settimeout(2 if stays_open else 20)
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
    return outcome, answer


def settled_frame_outcome(port: int, case: malformed_cases.Case, transport: str) -> tuple[int, bytes]:
    """Return the outcome of a case of frames.

    Under granian a case whose client closes normally has ten attempts: on a busy machine one in 3,000 such connections
    ends or stays open without the server's close frame. Another code is never repeated.
    """
    expected = case.outcome(transport)
    attempts = 10 if transport == "asgi" and expected == NORMAL else 1
    outcome, answer = frame_outcome(port, case.data, stays_open=expected == OPEN)
    for _ in range(attempts - 1):
        if outcome not in (CLOSED, OPEN):
            break
        outcome, answer = frame_outcome(port, case.data, stays_open=expected == OPEN)
    return outcome, answer
