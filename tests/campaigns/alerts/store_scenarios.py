"""Causes in the file of a node's store, and in its clock."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from alerts.scenario import SECONDS, Scenario, Started, node_job
from clock_shim import build_shim, clock_environment, set_clock
from live import DEV_ACCOUNTS, LiveNode, RpcFailure, live_node, wait_for
from live.faulty_disk import FaultyDisk
from live.process import FAST, command_with, stopping
from live.sending import Sender
from store_pages import clear_checksums, damage

_INPUT = b"\xab" * 600
_FOUR_DAYS = 4 * 24 * 3600
_FREQUENT_SCRUB = {"store.scrub_pause": 1000}


@contextlib.contextmanager
def damaged_data(folder: Path) -> Iterator[Started]:
    """Flip bits of a stored transaction, which a client requests and the scrub reads."""
    datadir = folder / "chain"
    values = {"store.recent": 1} | _FREQUENT_SCRUB
    with live_node("--datadir", str(datadir), "--block-time", "1s", values=values) as node:
        name = Sender(node.rpc, DEV_ACCOUNTS[0]).send(data="0x" + _INPUT.hex(), gas=100_000)
        receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > int(receipt["blockNumber"], 16) + 3, SECONDS, "blocks")
        damaged = False

        def read() -> None:
            nonlocal damaged
            if not damaged:
                damage(datadir, _INPUT)
                damaged = True
            with contextlib.suppress(RpcFailure):
                node.rpc("eth_getTransactionByHash", name)

        yield Started(node_job(node), read, is_healthy_first=True)


@contextlib.contextmanager
def unreadable_disk(folder: Path) -> Iterator[Started]:
    """Let the disk report read errors to the scrub."""
    disk = FaultyDisk(folder)
    options = ("--port", "0", *FAST, "--datadir", str(folder / "chain"))
    with stopping(LiveNode(disk.under([*command_with(_FREQUENT_SCRUB), "dev", *options]))) as node:
        yield Started(node_job(node), disk.fail_reads, is_healthy_first=True)


@contextlib.contextmanager
def pages_without_checksum(folder: Path) -> Iterator[Started]:
    """Remove the checksums of a store's pages, as a version without checksums wrote them."""
    datadir = folder / "chain"
    options = ("--datadir", str(datadir), "--block-time", "1s")
    with live_node(*options, values=_FREQUENT_SCRUB) as node:
        name = Sender(node.rpc, DEV_ACCOUNTS[0]).send(data="0x" + _INPUT.hex(), gas=100_000)
        receipt = wait_for(lambda: node.rpc("eth_getTransactionReceipt", name), SECONDS, "receipt")
        wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > int(receipt["blockNumber"], 16) + 3, SECONDS, "blocks")
    clear_checksums(datadir)
    with live_node(*options, values=_FREQUENT_SCRUB) as node:
        yield Started(node_job(node))


@contextlib.contextmanager
def _with_another_clock(folder: Path, ahead: int, values: Mapping[str, object] | None = None) -> Iterator[LiveNode]:
    """Run a node whose wall clock is ahead by this many seconds, as the file `clock` of the folder says."""
    library = build_shim(folder)
    assert library, "a C compiler is needed to build the core as well"
    clock = folder / "clock"
    variables = [f"{name}={value}" for name, value in clock_environment(library, clock).items()]
    set_clock(clock, ahead)
    arguments = ("--port", "0", *FAST, "--datadir", str(folder / "chain"))
    with stopping(LiveNode(["/usr/bin/env", *variables, *command_with(values), "dev", *arguments])) as node:
        yield node


@contextlib.contextmanager
def rare_scrub(folder: Path) -> Iterator[Started]:
    """Let four days of a node's wall clock pass between two scrubs."""
    with _with_another_clock(folder, -_FOUR_DAYS, {"store.scrub_pause": 600_000_000}) as node:
        wait_for(lambda: node.rpc("foreseal_status")["store"]["scrub"]["passes"] > 0, SECONDS, "a scrub")
        # The clock of Prometheus is not moved.
        yield Started(node_job(node), lambda: set_clock(folder / "clock", 0))


@contextlib.contextmanager
def corrected_clock(folder: Path) -> Iterator[Started]:
    """Correct the wall clock of a node that was an hour ahead."""
    with _with_another_clock(folder, 3600) as node:
        wait_for(lambda: int(node.rpc("eth_blockNumber"), 16) > 1, SECONDS, "blocks")
        yield Started(node_job(node), lambda: set_clock(folder / "clock", 0))


STORE_SCENARIOS = (
    Scenario("damage to stored data", frozenset({"ForesealStoreDamaged", "ForesealInternalErrors"}), damaged_data),
    Scenario("a disk that reports read errors", frozenset({"ForesealScrubErrors"}), unreadable_disk),
    Scenario("a store without checksums", frozenset({"ForesealStoreUnchecked"}), pages_without_checksum),
    Scenario("a clock that was an hour ahead", frozenset({"ForesealAheadOfClock"}), corrected_clock),
    Scenario("four days between two scrubs", frozenset({"ForesealScrubStale"}), rare_scrub),
)
