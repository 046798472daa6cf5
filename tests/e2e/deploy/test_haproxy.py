"""HAProxy with the configuration of `deploy` in front of doubles of nodes whose readiness the test controls."""

import contextlib
import http.client
import subprocess
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

from websockets.utils import accept_key

from foreseal.ports import next_free_port
from http_thread import QuietHandler
from live import wait_for
from live.proxies import describe_haproxy, require_program, running_proxy
from raw_websocket import Ended, RawWebSocket

# Checks after which HAProxy takes a node for not ready, and after which it ends the WebSockets of the node.
REQUESTS_FALL, SOCKETS_FALL = 2, 20


class NodeDouble(ThreadingHTTPServer):
    """Answers /readyz as told, calls with its name, and a WebSocket with each message that it receives."""

    daemon_threads = True

    def __init__(self, name: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.name = name
        self.is_ready = True
        self.checks = 0
        """Health checks answered since the readiness changed; both backends check."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Report nothing: HAProxy resets the connections of its checks."""

    def set_ready(self, *, is_ready: bool) -> None:
        self.is_ready, self.checks = is_ready, 0


class _Handler(QuietHandler):
    server: NodeDouble
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.headers.get("Upgrade") is not None:
            lines = ["HTTP/1.1 101 Switching Protocols", "Connection: Upgrade", "Upgrade: websocket"]
            lines.append(f"Sec-WebSocket-Accept: {accept_key(self.headers['Sec-WebSocket-Key'])}")
            self.wfile.write("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
            # Each short message of a client has 2 bytes, 4 of its mask, and its text.
            while (head := self.rfile.read(2)) and (size := head[1] & 0x7F):
                mask = self.rfile.read(4)
                text = bytes(byte ^ mask[at % 4] for at, byte in enumerate(self.rfile.read(size)))
                self.wfile.write(bytes((0x81, size)) + text)
            self.close_connection = True
            return
        is_ready = self.server.is_ready
        self.respond(200 if is_ready else 503, b"ok")
        if self.path == "/readyz" and is_ready == self.server.is_ready:
            self.server.checks += 1

    def do_POST(self) -> None:
        self.read_body()
        self.respond(200, self.server.name.encode())


@contextlib.contextmanager
def doubles() -> Iterator[list[NodeDouble]]:
    nodes = [NodeDouble(name) for name in ("one", "two")]
    try:
        for node in nodes:
            threading.Thread(target=node.serve_forever, daemon=True).start()
        yield nodes
    finally:
        for node in nodes:
            node.shutdown()
            node.server_close()


def ask(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/", b"{}")
    answer = connection.getresponse().read().decode()
    connection.close()
    return answer


def is_open(socket: RawWebSocket) -> bool:
    try:
        socket.send(b"1")
        return bool(socket.hear() == 1)
    except (Ended, OSError):
        return False


def test_websockets_outlive_a_short_loss_of_readiness(tmp_path: Path) -> None:
    program, port = require_program("haproxy"), next_free_port()
    with doubles() as nodes, contextlib.ExitStack() as stack:
        proxy = describe_haproxy(program, tmp_path, port, [node.server_port for node in nodes])
        stack.enter_context(running_proxy(proxy, port))
        # Until its first success in each backend, one failed check is enough.
        wait_for(lambda: all(node.checks >= 4 for node in nodes), 30, "first checks")
        sockets = [stack.enter_context(RawWebSocket(port)) for _ in range(4)]
        nodes[0].set_ready(is_ready=False)
        # Both backends check; requests leave the node long before its WebSockets do.
        wait_for(lambda: nodes[0].checks >= 2 * REQUESTS_FALL + 4, 30, "checks")
        assert {ask(port) for _ in range(6)} == {"two"}
        assert [is_open(socket) for socket in sockets] == [True] * 4
        nodes[0].set_ready(is_ready=True)
        wait_for(lambda: {ask(port) for _ in range(6)} == {"one", "two"}, 30, "readiness")
        assert [is_open(socket) for socket in sockets] == [True] * 4

        nodes[0].set_ready(is_ready=False)
        wait_for(lambda: nodes[0].checks >= SOCKETS_FALL, 60, "checks")
        wait_for(
            lambda: [is_open(socket) for socket in sockets].count(True) == 2, 60, "end of the WebSockets of one node"
        )
        assert {ask(port) for _ in range(6)} == {"two"}


def test_the_shipped_file_is_valid(tmp_path: Path) -> None:
    process = describe_haproxy(require_program("haproxy"), tmp_path, next_free_port(), [1, 2])
    command = [process.command[0], "-c", "-f", str(tmp_path / "haproxy.cfg")]
    checked = subprocess.run(command, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
