"""Causes in the clients of a node: more calls, connections and transactions than it accepts."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from alerts.scenario import SECONDS, Scenario, Started, node_job
from live import live_node
from raw_websocket import RawWebSocket

_CALLS = 40
_HANDSHAKES = 4


@contextlib.contextmanager
def rejected_callers(folder: Path) -> Iterator[Started]:
    """Exceed the rate of a public address, and the maximum of connections."""
    del folder
    with live_node("--public", "--public-rate", "1/s", "--public-burst", "1", "--max-connections", "1") as node:
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
        }
        # It is the only connection that the node accepts.
        with (
            RawWebSocket(int(node.url.rpartition(":")[2])),
            httpx.Client(base_url=node.url, timeout=SECONDS) as client,
            ThreadPoolExecutor(_CALLS) as pool,
        ):

            def post(number: int) -> None:
                call = {"jsonrpc": "2.0", "id": number, "method": "eth_blockNumber", "params": []}
                # The node may close the connection of a rejected caller.
                with contextlib.suppress(httpx.TransportError):
                    client.post("/", json=call)

            def shake_hands(_: int) -> None:
                with contextlib.suppress(httpx.TransportError):
                    client.get("/", headers=upgrade)

            def call() -> None:
                # The node reads rejected callers slowly, so one connection does not exceed the threshold.
                list(pool.map(post, range(4 * _CALLS)))
                list(map(shake_hands, range(_HANDSHAKES)))

            yield Started(node_job(node), call)


LOAD_SCENARIOS = (
    Scenario(
        "callers above their limits",
        frozenset({"ForesealRateLimited", "ForesealConnectionsRejected"}),
        rejected_callers,
    ),
)
