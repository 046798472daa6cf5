"""Nodes that the libraries talk to: a node with its three endpoints, and anvil with the same block time."""

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from differential.anvil import FORK, AnvilProcess, anvil_command
from live import Rpc, live_node

BLOCK_SECONDS = 2
ENDPOINTS = ("/", "/sealed", "/preconfirmed")
CONTROL = "anvil"
MODES = ("interval", "automine")
ACCOUNTS = 20

# A second client mines at this interval, in seconds, where a library waits for blocks under automine.
_MINING_INTERVAL = 1.0
_STEP = ("--block-time", f"{BLOCK_SECONDS}s", "--step", "200ms")


@dataclass(frozen=True, slots=True)
class Chain:
    """A running node."""

    url: str
    """URL without a path."""
    restart: Path | None = None
    """File that a program writes to request a restart; the file is removed when the node is ready again."""


def node_arguments(mode: str) -> list[str]:
    """Return the options of a node in this mode."""
    return [*_STEP, *(("--automine",) if mode == "automine" else ())]


def anvil_arguments(mode: str) -> list[str]:
    """Return the command of anvil in this mode, with its default accounts, which are those of `foreseal dev`."""
    interval = () if mode == "automine" else ("--block-time", str(BLOCK_SECONDS))
    return [str(anvil_command()), "--accounts", str(ACCOUNTS), "--hardfork", FORK, *interval]


@contextlib.contextmanager
def node(mode: str) -> Iterator[str]:
    """Run a node in this mode; yield its URL without a path."""
    with live_node(*node_arguments(mode)) as running:
        yield running.url


@contextlib.contextmanager
def anvil_node(mode: str) -> Iterator[str]:
    """Run anvil in this mode; yield its URL."""
    running = AnvilProcess([*anvil_arguments(mode), "--port", "0"])
    try:
        yield running.url
    finally:
        running.kill()


@contextlib.contextmanager
def mined_by_another_client(url: str) -> Iterator[None]:
    """Mine a block at regular intervals during the context."""
    ended = threading.Event()

    def mine() -> None:
        rpc = Rpc(url)
        while not ended.wait(_MINING_INTERVAL):
            rpc("evm_mine")
        rpc.close()

    miner = threading.Thread(target=mine, daemon=True)
    miner.start()
    try:
        yield
    finally:
        ended.set()
        miner.join()
