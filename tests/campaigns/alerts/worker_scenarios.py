"""Causes in the workers of a node."""

import contextlib
import itertools
import os
import signal
from collections.abc import Iterator
from pathlib import Path

from alerts.scenario import SECONDS, Scenario, Started
from foreseal.ports import next_free_port
from live import LiveNode, Rpc, live_node, wait_for
from live.group import names_of
from real_cluster import signed_transfer
from transfer_accounts import funded_genesis

# Steps of one repetition.
_STEPS = 10


@contextlib.contextmanager
def killed_worker(folder: Path) -> Iterator[Started]:
    """Kill a worker again and again."""
    with _node_with_workers(folder) as (node, admin):

        def kill() -> None:
            for pid in _workers(node.process.pid)[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

        yield Started({"foreseal": [admin]}, kill, is_healthy_first=True)


@contextlib.contextmanager
def hung_worker(folder: Path) -> Iterator[Started]:
    """Stop a worker with SIGSTOP, without a supervisor that replaces it."""
    with _node_with_workers(folder, "--heartbeat-timeout", "0s") as (node, admin):
        stopped = _workers(node.process.pid)[0]
        try:
            yield Started({"foreseal": [admin]}, lambda: os.kill(stopped, signal.SIGSTOP), is_healthy_first=True)
        finally:
            os.kill(stopped, signal.SIGCONT)


@contextlib.contextmanager
def lagging_worker(folder: Path) -> Iterator[Started]:
    """Stop a worker with SIGSTOP while steps are made."""
    with (
        _node_with_workers(folder, "--heartbeat-timeout", "0s") as (node, admin),
        contextlib.closing(Rpc(f"http://{admin}")) as rpc,
    ):
        stopped = _workers(node.process.pid)[0]
        nonces = iter(range(1_000_000))

        def make_steps() -> None:
            os.kill(stopped, signal.SIGSTOP)
            for nonce in itertools.islice(nonces, _STEPS):
                name = rpc("eth_sendRawTransaction", signed_transfer(nonce).raw)
                wait_for(lambda name=name: rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")  # type: ignore[misc]

        try:
            yield Started({"foreseal": [admin]}, make_steps, is_healthy_first=True)
        finally:
            os.kill(stopped, signal.SIGCONT)


@contextlib.contextmanager
def _node_with_workers(folder: Path, *more: str) -> Iterator[tuple[LiveNode, str]]:
    """Run a node with two workers, and yield it with the address of its admin listener."""
    admin = f"127.0.0.1:{next_free_port()}"
    genesis = folder / "genesis.json"
    genesis.write_bytes(funded_genesis())
    arguments = ("--workers", "2", "--admin", admin, "--datadir", str(folder / "chain"), "--genesis", str(genesis))
    with live_node(*arguments, *more, command="run") as node:
        wait_for(lambda: len(_workers(node.process.pid)) == 2, SECONDS, "two workers")
        yield node, admin


def _workers(group: int) -> list[int]:
    return [pid for name, pid in names_of(group) if name.startswith("worker")]


WORKER_SCENARIOS = (
    Scenario("a worker that dies", frozenset({"ForesealProcessRestarted"}), killed_worker),
    Scenario("a worker that hangs", frozenset({"ForesealWorkerLost"}), hung_worker),
    Scenario("a worker that hangs while steps are made", frozenset({"ForesealWorkerLag"}), lagging_worker),
)
