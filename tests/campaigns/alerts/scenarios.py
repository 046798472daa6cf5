"""Causes of alerts, each on real processes."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from alerts.webhook_targets import gone_target
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, LiveNode, live_node, wait_for
from live.group import names_of
from live.process import foreseal_command, hung
from live.sending import Sender
from payments.api.serving import BUYERS, MERCHANT, Shopper, api_key, configure, serving
from raw_websocket import RawWebSocket
from real_cluster import real_cluster

SECONDS = 60.0
_CALLS = 40
_HANDSHAKES = 4
_TMPFS_SIZE = 160 << 20


@dataclass(frozen=True)
class Started:
    """Running processes: what Prometheus scrapes, and what the campaign repeats until the alerts fire."""

    jobs: dict[str, list[str]]
    act: Callable[[], object] = field(default=lambda: None)
    is_healthy_first: bool = False
    """True if the fault is in `act`: none of the alerts may fire before it."""


@dataclass(frozen=True)
class Scenario:
    """A cause, the alerts that it must fire, and the rules that apply."""

    cause: str
    alerts: frozenset[str]
    start: Callable[[Path], AbstractContextManager[Started]]
    rules: tuple[str, ...] = ("foreseal-node.rules.yml", "foreseal-pay.rules.yml")


def _address(url: str) -> str:
    return url.removeprefix("http://")


def _node_job(node: LiveNode) -> dict[str, list[str]]:
    return {"foreseal": [_address(node.url)]}


@contextlib.contextmanager
def hung_node(folder: Path) -> Iterator[Started]:
    """Stop the node of a merchant service with SIGSTOP."""
    with live_node("--payments", "--block-time", "1s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            shopper.stored("a", 1_000, BUYERS[0])
            keys = iter(range(1_000_000))

            def capture() -> None:
                shopper.post("/v1/orders/a/capture", key=f"capture {next(keys)}")

            with hung(node.process):
                yield Started(_node_job(node) | {"foreseal-pay": [_address(service.url)]}, capture)


@contextlib.contextmanager
def merchant_without_ether(folder: Path) -> Iterator[Started]:
    """Take the ether of a payee, and let a target of webhooks answer 410."""
    with live_node("--payments", "--block-time", "1s") as node, gone_target(folder) as hooks:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db", more=hooks)
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            node.rpc("anvil_setBalance", MERCHANT.address, hex(0))
            keys = iter(range(1_000_000))

            def capture() -> None:
                number = next(keys)
                id = shopper.stored(f"o{number}", 1_000 + number, BUYERS[number % 3])
                shopper.post(f"/v1/orders/{id}/capture")

            yield Started(_node_job(node) | {"foreseal-pay": [_address(service.url)]}, capture)


@contextlib.contextmanager
def merchant_with_little_ether(folder: Path) -> Iterator[Started]:
    """Leave ether for a few captures."""
    with live_node("--payments", "--block-time", "1s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service:
            fees = int(node.rpc("eth_gasPrice"), 16) * 100_000
            node.rpc("anvil_setBalance", MERCHANT.address, hex(60 * fees))
            yield Started({"foreseal-pay": [_address(service.url)]})


@contextlib.contextmanager
def chain_without_blocks(folder: Path) -> Iterator[Started]:
    """Let the node of a merchant service seal no block for two minutes."""
    with live_node("--payments", "--block-time", "120s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service:
            yield Started(_node_job(node) | {"foreseal-pay": [_address(service.url)]})


@contextlib.contextmanager
def stopped_merchant(folder: Path) -> Iterator[Started]:
    """Scrape a merchant service that does not run."""
    del folder
    yield Started({"foreseal-pay": [f"127.0.0.1:{next_free_port()}"]})


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Started]:
    """Fill the file system of a data directory; needs root."""
    disk = folder / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_TMPFS_SIZE}", "tmpfs", str(disk)], check=True)
    try:
        with ExitStack() as stack:
            node = stack.enter_context(live_node("--datadir", str(disk / "chain"), "--block-time", "1s"))
            with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
                while True:
                    filler.write(bytes(1 << 16))
            sender = Sender(node.rpc, DEV_ACCOUNTS[0])

            def send() -> None:
                with contextlib.suppress(Exception):
                    sender.send(data="0x" + "ab" * 60_000, gas=3_000_000)

            yield Started(_node_job(node), send)
            # A stop closes the journal, which needs space.
            (disk / "filler").unlink()
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


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

            yield Started(_node_job(node), call)


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
    with _node_with_workers(folder, "--heartbeat-timeout", "0s", "--busy-timeout", "0s") as (node, admin):
        stopped = _workers(node.process.pid)[0]
        try:
            yield Started({"foreseal": [admin]}, lambda: os.kill(stopped, signal.SIGSTOP), is_healthy_first=True)
        finally:
            os.kill(stopped, signal.SIGCONT)


@contextlib.contextmanager
def _node_with_workers(folder: Path, *more: str) -> Iterator[tuple[LiveNode, str]]:
    """Run a node with two workers, and yield it with the address of its admin listener."""
    admin = f"127.0.0.1:{next_free_port()}"
    genesis = folder / "genesis.json"
    command = [foreseal_command(), "genesis", "--chain-id", "31337"]
    genesis.write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    arguments = ("--workers", "2", "--admin", admin, "--datadir", str(folder / "chain"), "--genesis", str(genesis))
    with live_node(*arguments, *more, command="run") as node:
        wait_for(lambda: len(_workers(node.process.pid)) == 2, SECONDS, "two workers")
        yield node, admin


def _workers(group: int) -> list[int]:
    return [pid for name, pid in names_of(group) if name.startswith("worker")]


@contextlib.contextmanager
def lost_etcd(folder: Path) -> Iterator[Started]:
    """Kill the only etcd member of a cluster."""
    with real_cluster(folder / "cluster", members=1) as cluster:
        ports = [node.port for node in cluster.nodes]
        member = cluster.etcd.members[0]
        targets = {"foreseal": [f"127.0.0.1:{port}" for port in ports], "etcd": [f"127.0.0.1:{member.ports.client}"]}
        member.kill()
        yield Started(targets)
        cluster.etcd.start()
        wait_for(lambda: all(node.is_ready() for node in cluster.nodes), SECONDS, "readiness")


@contextlib.contextmanager
def lost_sequencers(folder: Path) -> Iterator[Started]:
    """Kill the leader, and later its successor."""
    with real_cluster(folder / "cluster", members=1) as cluster:
        targets = {"foreseal": [f"127.0.0.1:{node.port}" for node in cluster.nodes]}
        leader, standby = cluster.sequencers
        calls = iter(range(1_000_000))

        def kill() -> None:
            number = next(calls)
            if number == 0:
                leader.kill()
            if number == _SCRAPED:
                standby.kill()

        yield Started(targets, kill, is_healthy_first=True)


# Repetitions of the campaign, one a second, in which Prometheus sees the successor lead.
_SCRAPED = 8

SCENARIOS = (
    Scenario(
        "a node that hangs, with a merchant service",
        frozenset(
            {
                "ForesealNodeDown",
                "ForesealPayNodeDown",
                "ForesealPayBreakerOpen",
                "ForesealPayServerErrors",
                "ForesealPayWorkerStalled",
            }
        ),
        hung_node,
    ),
    Scenario(
        "a payee without ether, and a webhook target that is gone",
        frozenset({"ForesealPayPayeeEmpty", "ForesealPayRejections", "ForesealPayWebhooksDead"}),
        merchant_without_ether,
    ),
    Scenario("a payee with little ether", frozenset({"ForesealPayPayeeLow"}), merchant_with_little_ether),
    Scenario("a chain without new blocks", frozenset({"ForesealPayNodeStale"}), chain_without_blocks),
    Scenario("a stopped merchant service", frozenset({"ForesealPayDown"}), stopped_merchant),
    Scenario("a full disk", frozenset({"ForesealNodeNotReady", "ForesealNoTicks"}), full_disk),
    Scenario(
        "callers above their limits",
        frozenset({"ForesealRateLimited", "ForesealConnectionsRejected"}),
        rejected_callers,
    ),
    Scenario("a worker that dies", frozenset({"ForesealProcessRestarted"}), killed_worker),
    Scenario("a worker that hangs", frozenset({"ForesealWorkerLost"}), hung_worker),
    Scenario(
        "a cluster without etcd",
        frozenset({"ForesealNoQuorum", "ForesealStaleView", "ForesealEtcdMemberDown", "ForesealNodeNotReady"}),
        lost_etcd,
        ("foreseal-node.rules.yml", "foreseal-cluster.rules.yml"),
    ),
    Scenario(
        "a cluster that loses its sequencers",
        frozenset({"ForesealTakeover", "ForesealNoStandby", "ForesealNoLeader"}),
        lost_sequencers,
        ("foreseal-node.rules.yml", "foreseal-cluster.rules.yml"),
    ),
)
