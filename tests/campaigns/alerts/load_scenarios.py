"""Causes in the clients of a node: more calls, connections and transactions than it accepts."""

import contextlib
import itertools
import socket
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
_DESCRIPTORS = 4_096
_USED = 0.84
# Transactions near the largest size, and those of one repetition. The pool holds about 500 of them.
_LARGE_SIZE = 130_000
_LARGE_GAS = 1_400_000
_LARGE_COUNT = 200
# Transactions whose memory exceeds the threshold of an alert, and memory whose share of the pool holds them.
_RETAINED, _MEMORY = 1_500, str(2 << 30)


@contextlib.contextmanager
def rejected_callers(folder: Path) -> Iterator[Started]:
    """Exceed the rate of a public address, and the maximum of connections."""
    del folder
    with live_node("--public", "--public-rate", "1/s", "--max-connections", "1") as node:
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
    """Send more long calls at a time than the node accepts."""
    del folder
    with live_node("--max-calls", "4") as node, ThreadPoolExecutor(_CALLS) as pool:
        client = httpx.Client(base_url=node.url, timeout=SECONDS, limits=httpx.Limits(max_connections=_CALLS))
        params = [{"to": _CONTRACT, "gas": hex(400_000_000)}, "latest", {_CONTRACT: {"code": _ENDLESS_LOOP}}]

        def post(number: int) -> None:
            call = {"jsonrpc": "2.0", "id": number, "method": "eth_call", "params": params}
            client.post("/", json=call)

        with client:
            yield Started(node_job(node), lambda: list(pool.map(post, range(_CALLS))))


@contextlib.contextmanager
def idle_connections(folder: Path) -> Iterator[Started]:
    """Open idle connections to a node with few file descriptors."""
    del folder
    limit = f"--nofile={_DESCRIPTORS}:{_DESCRIPTORS}"
    # The node reserves descriptors for its files, so it accepts only the rest as connections.
    options = ("--port", "0", "--max-address-connections", str(_DESCRIPTORS))
    command = [require_program("prlimit"), limit, foreseal_command(), "dev", *options]
    with stopping(LiveNode(command)) as node, contextlib.ExitStack() as stack:
        address = ("127.0.0.1", int(node.url.rpartition(":")[2]))
        free = int(_DESCRIPTORS * _USED) - len(list(Path(f"/proc/{node.process.pid}/fd").iterdir()))
        opened = False

        def connect() -> None:
            nonlocal opened
            if not opened:
                for _ in range(free):
                    stack.enter_context(socket.create_connection(address))
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


@contextlib.contextmanager
def emptied_pool(folder: Path) -> Iterator[Started]:
    """Drop many large transactions from the pool of a node that may retain their memory."""
    del folder
    with live_node("--block-time", "60s", "--memory", _MEMORY, values={"max_free_memory": 1 << 30}) as node:
        hashes = []
        for number in range(_RETAINED):
            nonce, sender = divmod(number, len(DEV_ACCOUNTS))
            raw = signed(DEV_ACCOUNTS[sender], nonce, data=bytes(_LARGE_SIZE), gas=_LARGE_GAS)
            hashes.append(node.rpc("eth_sendRawTransaction", raw))

        def drop() -> None:
            while hashes:
                node.rpc("anvil_dropTransaction", hashes.pop())

        yield Started(node_job(node), drop, is_healthy_first=True)


LOAD_SCENARIOS = (
    Scenario(
        "callers above their limits",
        frozenset({"ForesealRateLimited", "ForesealConnectionsRejected"}),
        rejected_callers,
    ),
    Scenario("calls that do not end", frozenset({"ForesealOverloaded"}), endless_calls),
    Scenario("as many connections as file descriptors", frozenset({"ForesealFileDescriptors"}), idle_connections),
    Scenario("more transactions than the pool holds", frozenset({"ForesealPoolFull"}), full_pool),
    Scenario("a large pool that is emptied", frozenset({"ForesealFreeMemory"}), emptied_pool),
)
