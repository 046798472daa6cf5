"""Causes in the clients of a node: more calls, connections and transactions than it accepts."""

import contextlib
import itertools
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

from alerts.scenario import SECONDS, Scenario, Started, node_job
from live import DEV_ACCOUNTS, LiveNode, RpcFailure, live_node
from live.process import foreseal_command, stopping
from live.proxies import require_program
from live.sending import GWEI, signed
from raw_websocket import RawWebSocket

_CALLS = 40
_HANDSHAKES = 4
_CONTRACT = "0x" + "c0" * 20
# JUMPDEST, PUSH1 0, JUMP.
_ENDLESS_LOOP = "0x5b600056"
# File descriptors of a node, and the part of them that connections leave in use.
_DESCRIPTORS = 256
_USED = 0.9
# Transactions near the largest size, which the pool holds 2,048 of, and those of one repetition.
_LARGE_SIZE = 130_000
_LARGE_GAS = 1_400_000
_LARGE_COUNT = 200


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


@contextlib.contextmanager
def endless_calls(folder: Path) -> Iterator[Started]:
    """Send more calls that exceed their time limit than the node has threads."""
    del folder
    with live_node("--max-call-time", "1s") as node, ThreadPoolExecutor(_CALLS) as pool:
        client = httpx.Client(base_url=node.url, timeout=SECONDS, limits=httpx.Limits(max_connections=_CALLS))
        params = [{"to": _CONTRACT, "gas": hex(400_000_000)}, "latest", {_CONTRACT: {"code": _ENDLESS_LOOP}}]

        def post(number: int) -> None:
            call = {"jsonrpc": "2.0", "id": number, "method": "eth_call", "params": params}
            client.post("/", json=call)

        with client:
            yield Started(node_job(node), lambda: list(pool.map(post, range(_CALLS))))


@contextlib.contextmanager
def idle_connections(folder: Path) -> Iterator[Started]:
    """Open connections to a node with few file descriptors."""
    del folder
    limit = f"--nofile={_DESCRIPTORS}:{_DESCRIPTORS}"
    command = [require_program("prlimit"), limit, foreseal_command(), "dev", "--port", "0"]
    with stopping(LiveNode(command)) as node, contextlib.ExitStack() as stack:
        port = int(node.url.rpartition(":")[2])
        free = int(_DESCRIPTORS * _USED) - len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))
        opened = False

        def connect() -> None:
            nonlocal opened
            if not opened:
                for _ in range(free):
                    stack.enter_context(RawWebSocket(port))
                opened = True

        yield Started(node_job(node), connect, is_healthy_first=True)


@contextlib.contextmanager
def full_pool(folder: Path) -> Iterator[Started]:
    """Fill the pool with large transactions faster than blocks include them."""
    del folder
    with live_node("--block-time", "60s") as node:
        numbers = iter(range(1_000_000))

        def send() -> None:
            for number in itertools.islice(numbers, _LARGE_COUNT):
                nonce, sender = divmod(number, len(DEV_ACCOUNTS))
                # A transaction evicts only others with lower fees.
                fees = {"maxFeePerGas": 10 * GWEI + number * 10**6, "maxPriorityFeePerGas": GWEI + number * 10**6}
                raw = signed(DEV_ACCOUNTS[sender], nonce, data=bytes(_LARGE_SIZE), gas=_LARGE_GAS, **fees)
                with contextlib.suppress(RpcFailure):
                    node.rpc("eth_sendRawTransaction", raw)

        yield Started(node_job(node), send)


LOAD_SCENARIOS = (
    Scenario(
        "callers above their limits",
        frozenset({"ForesealRateLimited", "ForesealConnectionsRejected"}),
        rejected_callers,
    ),
    Scenario("calls that do not end", frozenset({"ForesealOverloaded"}), endless_calls),
    Scenario("as many connections as file descriptors", frozenset({"ForesealFileDescriptors"}), idle_connections),
    Scenario("more transactions than the pool holds", frozenset({"ForesealPoolFull"}), full_pool),
)
