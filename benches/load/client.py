"""The closed loop of these runs: the core's load generator, with the parameters of `foreseal bench`."""

import asyncio
import time

from foreseal.bench.errors import ErrorResponse
from foreseal.bench.node import BenchNode
from foreseal.bench.run_metrics import RunMetrics

CONNECTIONS = 16
_LOOK = 0.002


def http_request(port: int, body: bytes) -> bytes:
    """Return the bytes of a POST by an ordinary client."""
    return (
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Type: application/json\r\n"
        b"User-Agent: foreseal-load\r\nAccept: */*\r\nContent-Length: %d\r\n\r\n%b" % (port, len(body), body)
    )


def wait_until_it_answers(port: int) -> None:
    """Return when the server responds: it listens while its journal is replayed. Raise BenchError on other errors."""
    node = BenchNode(f"port {port}", f"http://127.0.0.1:{port}")
    try:
        while True:
            try:
                node.call("eth_blockNumber")
            except ErrorResponse as error:
                if not error.starting:
                    raise
                time.sleep(_LOOK)
            else:
                return
    finally:
        node.close()


async def run(port: int, body: bytes, seconds: float) -> RunMetrics:
    """Load the server on `port` for some seconds. Raise BenchError at the first wrong response."""
    node = BenchNode(f"port {port}", f"http://127.0.0.1:{port}")
    return await asyncio.to_thread(node.load, [body], CONNECTIONS, seconds)
