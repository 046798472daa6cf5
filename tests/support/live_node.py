"""Development nodes in this process, and waits for them."""

import os
import select
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import orjson
import pytest

from foreseal._core import Node
from foreseal.errors import RpcError

JUNK = "test test test test test test test test test test test junk"
ALICE = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
DEV_CHAIN = {"kind": "dev", "chain_id": 31337, "mnemonic": JUNK, "accounts": 3, "balance": hex(10**21), "timestamp": 0}


def settings(datadir: Path, **changes: Any) -> bytes:
    """Return settings of a development chain in `datadir`, with the shortest block time."""
    given = {"datadir": str(datadir), "chain": DEV_CHAIN, "block_time": 1000, "step": 50}
    return orjson.dumps(given | changes)


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    """Poll until `condition` holds."""
    end = monotonic() + seconds
    while not condition():
        assert monotonic() < end, "waited in vain"
        sleep(0.005)


def produce(datadir: Path, blocks: int) -> None:
    """Let a node seal this many blocks in `datadir`, and stop it."""
    node = Node(settings(datadir))
    node.start()
    wait_until(lambda: node.freshness()[0] > blocks)
    node.stop()


def outcomes(node: Node, count: int, seconds: float = 30) -> dict[int, bytes | RpcError]:
    """Wait for `count` outcomes from the worker pool and return them by ticket."""
    by_ticket: dict[int, bytes | RpcError] = {}
    while len(by_ticket) < count:
        readable, _, _ = select.select([node.event_fd()], [], [], seconds)
        assert readable, f"{len(by_ticket)} of {count} outcomes came"
        for ticket, outcome in node.drain()[0]:
            assert outcome is not None, "no body waits"
            by_ticket[ticket] = outcome if isinstance(outcome, RpcError) else bytes(outcome)
    return by_ticket


def shared(name: str) -> Path:
    """Return a file or folder of the shared vectors; skip the test if they are absent."""
    path = Path(os.environ.get("FORESEAL_SHARED", "../shared")) / "vectors" / name
    if not path.exists():
        pytest.skip(f"{path} is not here: set FORESEAL_SHARED to the folder that holds vectors/")
    return path
