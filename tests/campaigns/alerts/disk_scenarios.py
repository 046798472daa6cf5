"""Causes in the disk of a node."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.scenario import Scenario, Started, node_job
from foreseal.cluster.launched_process import LaunchedProcess
from foreseal.ports import next_free_port
from live import DEV_ACCOUNTS, LiveNode, RpcFailure, live_node
from live.faulty_disk import FaultyDisk
from live.process import command_with, stopping
from live.proxies import require_program
from live.sending import Sender

_DISK_SIZE = 160 << 20
_STORE_SIZE = 4 << 20
# Time of a sync or write, and the backlog of the store at which the builder is throttled: one block counts 500.
_DELAY_MS = 150
_BACKLOG = 600


@contextlib.contextmanager
def full_disk(folder: Path) -> Iterator[Started]:
    """Fill the file system of a data directory; needs root."""
    disk = folder / "disk"
    with _small_disk(disk), live_node("--datadir", str(disk / "chain"), "--block-time", "1s") as node:
        with (disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
            while True:
                filler.write(bytes(1 << 16))
        sender = Sender(node.rpc, DEV_ACCOUNTS[0])

        def send() -> None:
            with contextlib.suppress(Exception):
                sender.send(data="0x" + "ab" * 60_000, gas=3_000_000)

        yield Started(node_job(node), send)
        # A stop closes the journal, which needs space.
        (disk / "filler").unlink()


@contextlib.contextmanager
def nearly_full_disk(folder: Path) -> Iterator[Started]:
    """Run a node on a small file system that is 95 % full, next to a node_exporter; needs root."""
    program = require_program("prometheus-node-exporter")
    # The exporter removes the prefix of its root from the mount points.
    disk = folder / "root" / "var" / "lib" / "foreseal"
    with _small_disk(disk), live_node("--datadir", str(disk / "chain"), "--block-time", "1s") as node:
        size = os.statvfs(disk)
        available = size.f_bavail * size.f_frsize
        (disk / "filler").write_bytes(bytes(available - _DISK_SIZE // 20))
        address = f"127.0.0.1:{next_free_port()}"
        options = (f"--path.rootfs={folder}/root", "--collector.disable-defaults", "--collector.filesystem")
        exporter = LaunchedProcess(
            "node_exporter", (program, f"--web.listen-address={address}", *options), folder / "exporter.txt"
        )
        try:
            exporter.start()
            yield Started(node_job(node) | {"machine": [address]})
        finally:
            exporter.stop()


@contextlib.contextmanager
def slow_disk(folder: Path) -> Iterator[Started]:
    """Delay every sync and write of a node, so that its store falls behind its blocks."""
    disk = FaultyDisk(folder)
    datadir = str(folder / "chain")
    command = [*command_with({"store.backlog": _BACKLOG}), "dev", "--port", "0"]
    with stopping(LiveNode(disk.under([*command, "--datadir", datadir, "--block-time", "1s"]))) as node:
        sender = Sender(node.rpc, DEV_ACCOUNTS[0])

        def send() -> None:
            disk.slow_down(_DELAY_MS)
            sender.send()

        yield Started(node_job(node), send, is_healthy_first=True)
        disk.slow_down(0)


@contextlib.contextmanager
def small_store(folder: Path) -> Iterator[Started]:
    """Write transactions with much data to a store with a small maximum size."""
    options = ("--datadir", str(folder / "chain"), "--store-map", str(_STORE_SIZE))
    with live_node(*options, "--block-time", "1s") as node:
        sender = Sender(node.rpc, DEV_ACCOUNTS[0])

        def send() -> None:
            with contextlib.suppress(RpcFailure):
                sender.send(data="0x" + os.urandom(30_000).hex(), gas=3_000_000)

        yield Started(node_job(node), send, is_healthy_first=True)


@contextlib.contextmanager
def _small_disk(folder: Path) -> Iterator[None]:
    """Mount a small file system in memory. Skips the scenario without root."""
    if os.geteuid() != 0:
        pytest.skip("a mount needs root")
    folder.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={_DISK_SIZE}", "tmpfs", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


DISK_SCENARIOS = (
    Scenario("a full disk", frozenset({"ForesealNodeNotReady", "ForesealNoTicks"}), full_disk),
    Scenario("a disk that is nearly full", frozenset({"ForesealDiskSpace"}), nearly_full_disk),
    Scenario(
        "a slow disk",
        frozenset({"ForesealSlowJournal", "ForesealSlowSteps", "ForesealBuilderThrottled"}),
        slow_disk,
    ),
    Scenario("a store near its maximum size", frozenset({"ForesealStoreNearlyFull"}), small_store),
)
