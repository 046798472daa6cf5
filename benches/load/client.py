"""The closed loop of these runs: the core's load generator, as `foreseal bench` uses it."""

import asyncio
import time

from foreseal.bench.failures import Refused
from foreseal.bench.figures import Figures
from foreseal.bench.node import Node

CONNECTIONS = 16
_LOOK = 0.002


def http_request(port: int, body: bytes) -> bytes:
    """The bytes of a POST as an ordinary client sends it."""
    return (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"User-Agent: foreseal-load\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%b" % (port, len(body), body)
    )


def wait_until_it_answers(port: int) -> None:
    """Return when the server answers: it listens while its journal is replayed. Raises BenchError on other errors."""
    node = Node(f"port {port}", f"http://127.0.0.1:{port}")
    try:
        while True:
            try:
                node.ask("eth_blockNumber")
            except Refused as error:
                if not error.starting:
                    raise
                time.sleep(_LOOK)
            else:
                return
    finally:
        node.close()


async def run(port: int, body: bytes, seconds: float) -> Figures:
    """Load the server on `port` for a while. Raises BenchError with the first wrong answer."""
    node = Node(f"port {port}", f"http://127.0.0.1:{port}")
    return await asyncio.to_thread(node.load, [body], CONNECTIONS, seconds)
