"""WebSockets over real sockets, under both transports and uvicorn: clients that stop reading, and shutdown."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from live import wait_for
from raw_websocket import BINARY, Ended, RawWebSocket, Refused
from repository import PYTHONPATH, SUPPORT

MEGABYTE = 1 << 20
# Receive buffer of the client's kernel; the server's send buffer is at most four megabytes.
SMALL = 1 << 16


class Server:
    """A process that serves the double."""

    def __init__(self, kind: str, **limits: int) -> None:
        self.kind = kind
        self.process = subprocess.Popen(
            [sys.executable, str(SUPPORT / "server_processes" / "stream_process.py"), kind, json.dumps(limits)],
            stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": PYTHONPATH},
            text=True,
        )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2])
        wait_for(self._listens, 20, "a server that listens")

    def connect(self, path: str = "/", *, buffer: int | None = None, **headers: str) -> RawWebSocket:
        return RawWebSocket(self.port, path, buffer=buffer, **headers)

    def metrics(self) -> dict[str, float]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=20) as answer:
            lines = answer.read().decode().splitlines()
        samples = (line.rpartition(" ") for line in lines if not line.startswith("#"))
        return {name: float(value) for name, _, value in samples}

    def memory(self) -> int:
        """Return resident bytes."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    def stop(self) -> float:
        """Stop it and return the seconds until its end."""
        began = time.monotonic()
        self.process.terminate()
        out, _ = self.process.communicate(timeout=20)
        assert (self.process.returncode, out) == (0, "" if self.kind == "uvicorn" else "stopped\n")
        return time.monotonic() - began

    def _listens(self) -> bool:
        with contextlib.suppress(OSError):
            self.metrics()
            return True
        return False


@pytest.fixture(params=["asgi", "native", "uvicorn"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@contextlib.contextmanager
def serving(kind: str, **limits: int) -> Iterator[Server]:
    server = Server(kind, **limits)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.communicate()


def test_websocket_handles_handshakes_calls_and_large_messages(kind: str) -> None:
    with serving(kind, connections=2, body=100_000) as server, server.connect() as one:
        assert one.request("echo", "ü") == ["ü"]
        one.send(b'{"jsonrpc":"2.0","id":1,"method":"slow"}', BINARY)
        assert one.hear()["result"] == []
        assert len(one.request("large", 5_000_000)) == 5_000_000
        for path, headers, status in (("/ws", {}, 404), ("/", {"Origin": "http://localhost"}, 403)):
            with pytest.raises(Refused) as refused:
                server.connect(path, **headers)
            assert refused.value.args[0] == status
            assert refused.value.args[1]
        with server.connect() as two:
            with pytest.raises(Refused, match="too many connections") as refused:
                server.connect()
            assert refused.value.args[0] == 503
            two.call("echo", "x" * 100_000)
            assert two.ending() == (1009, "a message may have at most 100000 bytes")
        assert one.request("echo") == []
        wait_for(lambda: server.metrics()["foreseal_connections"] == 1, 20, "the end of the other connection")


def test_stalled_client_is_bounded_isolated_and_notified(kind: str, record_property: Any) -> None:
    """4,000 logs of 10 kB, 40 MB, while one of two clients reads nothing and may have 1 MB pending."""
    rounds, messages, size = 40, 100, 10_000
    with serving(kind, outgoing_bytes=MEGABYTE) as server:
        with server.connect(buffer=SMALL) as slow, server.connect() as quick, server.connect() as other:
            for one in (slow, quick):
                assert one.request("eth_subscribe", "logs", {})
            before, most, delays = 0, 0, []
            for _ in range(rounds):
                other.call("publish", "logs", messages, size)
                for number in range(messages):
                    result = quick.hear()["params"]["result"]
                    delays.append(time.monotonic() - result["time"])
                    assert result["number"] == number
                assert other.hear()["result"] is None
                # The first messages cause one-time allocations that do not count for the slow client.
                before = before or server.memory()
                most = max(most, server.memory() - before)
            assert server.metrics()['foreseal_subscriptions{kind="logs"}'] == 1
            assert slow.ending() == (1013, "the client reads too slowly: its notification queue is full")
        p99 = sorted(delays)[len(delays) * 99 // 100]
        record_property("memory", most)
        record_property("p99", p99)
        print(f"{kind}: {most / MEGABYTE:.1f} MB more, delay p99 {p99 * 1000:.1f} ms")
        assert most < 8 * MEGABYTE
        # A server that waited for the slow client would take as long as its time limit, a minute.
        assert p99 < 20
        wait_for(lambda: server.metrics()["foreseal_connections_slow_total"] == 1, 20, "the end of the slow one")


def test_bulk_notifications_arrive_in_order(kind: str) -> None:
    """20,000 logs, 200 of them at once: small ones, and 5 kB ones for a socket that fills up repeatedly."""
    for size, buffer in ((10, None), (5_000, SMALL)):
        with (
            serving(kind, outgoing_frames=100_000, outgoing_bytes=1 << 30) as server,
            server.connect(buffer=buffer) as reader,
            server.connect() as other,
        ):
            assert reader.request("eth_subscribe", "logs", {})
            other.call("burst", "logs", 200, size, 100)
            numbers = [reader.hear()["params"]["result"]["number"] for _ in range(20_000)]
            assert numbers == list(range(20_000))
            assert other.hear()["result"] is None


def test_stalled_feed_reader_gets_the_missed_range(kind: str) -> None:
    """1,500 steps of 10 kB while it reads nothing: queued steps arrive, then a message per gap, then live steps."""
    steps = 1500
    limits = {"outgoing_bytes": MEGABYTE}
    with serving(kind, **limits) as server, server.connect(buffer=SMALL) as slow, server.connect() as other:
        assert slow.request("eth_subscribe", "foreseal_feed")
        assert other.request("step", steps, 10_000) is None
        last = missed = 0
        while last < steps:
            message = slow.hear()
            result = message["params"]["result"]
            if message["method"] == "foreseal_lagged":
                # The server may write between the steps and resume, so there can be several gaps.
                assert int(result["after"]["index"], 16) == last
                missed += int(result["to"]["index"], 16) - last
                last = int(result["to"]["index"], 16)
            else:
                last += 1
                assert int(result["index"], 16) == last
        assert last == steps
        assert steps / 3 < missed < steps
        other.request("step", 1, 0)
        assert int(slow.hear()["params"]["result"]["index"], 16) == steps + 1


def test_shutdown_sends_close_frames_and_ignores_stalled_clients(kind: str) -> None:
    with serving(kind) as server, server.connect(buffer=SMALL) as stuck, server.connect() as quick:
        for one in (stuck, quick):
            assert one.request("eth_subscribe", "logs", {})
        with server.connect() as other:
            other.request("publish", "logs", 1000, 10_000)
        for _ in range(1000):
            quick.hear()
        seconds = server.stop()
        # uvicorn closes connections before it notifies the application.
        assert quick.ending()[0] == (1012 if kind == "uvicorn" else 1001)
        # A stop that waited for the stalled client would take its time limit, a minute.
        assert seconds < 20


def test_vanished_client_is_closed(kind: str) -> None:
    with serving(kind) as server:
        with server.connect() as client:
            assert client.request("eth_subscribe", "logs", {})
        wait_for(lambda: server.metrics()["foreseal_connections"] == 0, 20, "the end of the connection")
        assert server.metrics()['foreseal_subscriptions{kind="logs"}'] == 0
        with server.connect() as other, contextlib.suppress(Ended):
            assert other.request("echo") == []


def test_unfinished_request_does_not_delay_the_stop() -> None:
    with serving("asgi") as server, socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n")
        # This later response shows that the server accepted the connection.
        server.metrics()
        assert server.stop() < 15
