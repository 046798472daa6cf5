"""The closed loop of these runs: the core's load generator, as `foreseal bench` uses it."""

import asyncio

from foreseal.bench.figures import Figures
from foreseal.bench.node import Node

CONNECTIONS = 16


def http_request(port: int, body: bytes) -> bytes:
    """The bytes of a POST as an ordinary client sends it."""
    return (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"User-Agent: foreseal-load\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%b" % (port, len(body), body)
    )


async def run(port: int, body: bytes, seconds: float) -> Figures:
    """Load the server on `port` for a while. Raises BenchError with the first wrong answer."""
    node = Node(f"port {port}", f"http://127.0.0.1:{port}")
    return await asyncio.to_thread(node.load, [body], CONNECTIONS, seconds)
