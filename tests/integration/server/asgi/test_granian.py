"""granian in front of the application, over real sockets, and its shutdown."""

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import orjson
import pytest

from live.blocks import wait_for
from repository import PYTHONPATH, SUPPORT

CALL = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": ["x"]})
JSON = {"content-type": "application/json"}


class Server:
    """A server process that reports events on standard output."""

    def __init__(
        self, transport: str, port: int = 0, seconds_to_open: float = 0, slow: float = 0, drain_delay: int = 0
    ) -> None:
        arguments = [
            str(SUPPORT / "server_processes" / "transport_process.py"),
            transport,
            *map(str, (port, seconds_to_open, slow, drain_delay)),
        ]
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": PYTHONPATH},
            text=True,
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def listen(self) -> int:
        """Wait until it serves calls and return its port."""
        assert [self.line(), self.line()] == ["opening", "started"]
        return int(self.line().rpartition(":")[2])

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Send a signal and wait for the end; return exit code, the rest of stdout, and stderr."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=20)
        return self.process.returncode, out, err


@pytest.fixture
def server(transport: str) -> Iterator[Server]:
    made = Server(transport)
    yield made
    if made.process.poll() is None:
        made.process.kill()
        made.process.communicate()


def post(port: int, body: bytes, headers: dict[str, str] | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/", body, JSON | (headers or {}))
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def test_calls_over_one_connection(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.listen(), timeout=20)
    for _ in range(3):
        connection.request("POST", "/", CALL, JSON)
        response = connection.getresponse()
        assert response.status == 200
        assert response.headers["X-Foreseal-View"]
        assert orjson.loads(response.read())["result"] == ["x"]
    connection.close()


def test_chunked_body_is_read_completely(server: Server) -> None:
    port = server.listen()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/", iter([CALL[:5], CALL[5:]]), JSON, encode_chunked=True)
    assert orjson.loads(connection.getresponse().read())["result"] == ["x"]
    connection.close()


def test_large_body_in_many_packets_is_read_completely(server: Server) -> None:
    text = "x" * 3_000_000
    body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [text]})
    status, answer = post(server.listen(), body)
    assert (status, orjson.loads(answer)["result"]) == (200, [text])


def test_body_of_fifty_megabytes_is_rejected(server: Server) -> None:
    port = server.listen()
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        size = 50 * 1024 * 1024
        line.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % size)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
        line.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        with contextlib.suppress(OSError):
            for _ in range(size // 0x10000):
                line.sendall(chunk)
        assert line.recv(100).startswith(b"HTTP/1.1 413 ")
    assert post(port, CALL)[0] == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_node_gracefully_despite_idle_connections(server: Server, number: int) -> None:
    with socket.create_connection(("127.0.0.1", server.listen()), timeout=20):
        started = time.monotonic()
        assert server.stop(number) == (0, "stopped\n", "")
        # A stop that waited for the connection would take the drain time of ten seconds.
        assert time.monotonic() - started < 10


def test_calls_in_progress_are_answered_before_the_stop(transport: str) -> None:
    server = Server(transport, slow=5)
    port = server.listen()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/", CALL.replace(b"echo", b"slow"), JSON)
    wait_for(lambda: in_flight(port) == 1, 20, "the call in work")
    server.process.send_signal(signal.SIGTERM)
    response = connection.getresponse()
    assert (response.status, orjson.loads(response.read())["result"]) == (200, ["x"])
    connection.close()
    assert server.process.wait(20) == 0
    server.process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_during_the_start_stops_gracefully(transport: str, number: int) -> None:
    server = Server(transport, seconds_to_open=60)
    assert server.line() == "opening"
    assert server.stop(number) == (0, "started\nstopped\n", "")


def test_occupied_port_is_one_clear_error(transport: str, server: Server) -> None:
    port = server.listen()
    second = Server(transport, port)
    _, err = second.process.communicate(timeout=20)
    assert second.process.returncode == 1
    assert err == f"cannot listen on 127.0.0.1:{port}: Address already in use\n"


def readyz(port: int) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/readyz")
    response = connection.getresponse()
    answer = response.status, response.read()
    connection.close()
    return answer


def test_readyz_fails_before_calls_are_rejected(transport: str) -> None:
    server = Server(transport, drain_delay=60_000)
    port = server.listen()
    assert readyz(port) == (200, b"ok\noldest waiting call: submission 0 ms, read 250 ms\n")
    server.process.send_signal(signal.SIGTERM)
    wait_for(lambda: readyz(port) == (503, b"stopping\n"), 20, "the word of the stop")
    # Calls are still served, and each response closes its connection.
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/", CALL, JSON)
    response = connection.getresponse()
    assert (response.status, response.getheader("connection")) == (200, "close")
    response.read()
    connection.close()
    code, out, _ = server.stop()
    assert (code, out.splitlines()[-1]) == (0, "stopped")


def test_a_second_signal_ends_the_drain(transport: str) -> None:
    # The call takes far longer than the test may.
    server = Server(transport, slow=1_000)
    port = server.listen()
    with socket.create_connection(("127.0.0.1", port)) as waiting:
        slow = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": "slow", "params": []})
        head = f"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(slow)}\r\n\r\n"
        waiting.sendall(head.encode() + slow)
        wait_for(lambda: in_flight(port) == 1, 20, "the call in work")
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: refuses(port) or time.monotonic() - began > 5, 20, "the end of the listening")
        code, out, err = server.stop()
    # A message reports the aborted call; nothing else fails because of it.
    assert (code, "stopped" in out, "invalid state" in err) == (0, True, False)


def test_immediate_second_signal_stops_without_an_error(transport: str) -> None:
    # A shell's `timeout` sends signals to the process and to its group.
    for _ in range(5):
        server = Server(transport)
        server.listen()
        server.process.send_signal(signal.SIGTERM)
        assert server.stop() == (0, "stopped\n", "")


def in_flight(port: int) -> float:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    (line,) = (line for line in text.splitlines() if line.startswith("foreseal_calls_in_flight "))
    return float(line.split()[1])


def refuses(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except OSError:
        return True
    return False
