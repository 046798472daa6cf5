"""Steps, reads and memory of a node over 10,000, 1,000,000 and 10,000,000 holders, and with 1 GB of memory.

Each size is a chain of its own, from a genesis with that many accounts and as many token balances. The node is
restarted before the measurement, so that state comes from the store, whose pages the kernel has cached. The last part
runs the largest chain in a control group whose limit includes the cached pages of the store (root, Linux).
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from itertools import pairwise
from pathlib import Path
from typing import Any

from benches.big_state.charts import charts
from benches.big_state.memory_limit import MemoryGroup, MemoryLimitError, memory_group
from benches.big_state.state_genesis import senders, write_genesis
from benches.big_state.state_reads import WORKING_SET, check_answers, read_rates, sample_holders
from benches.big_state.step_rounds import BLOCK_TIME, STEP, StepRounds, transfers_per_step
from benches.cluster.process_sample import disk_use
from benches.load.launched_node import LaunchedNode, launched_node
from benches.result_file import save
from benches.sustained.watch import read_value

from foreseal.bench.provenance import read_provenance

PLOT = Path(__file__).parents[2] / "docs" / "images" / "big_state.svg"
PACKAGES = ("orjson", "uvloop")
HOLDERS = (10_000, 1_000_000, 10_000_000)
GAS_LIMITS = (400_000_000, 2_000_000_000)
MEMORY_LIMIT = 1_000_000_000
MAX_GROWTH = 1.5
# Holders of the reads that rarely repeat.
_SPREAD = 100_000
_SHORT_HOLDERS, _SHORT_GAS_LIMITS = (1_000, 3_000), (4_000_000, 20_000_000)
_SHORT_STEP, _SHORT_BLOCK_TIME = "300ms", "3s"
_STORED_TIMEOUT, _POLL = 1800.0, 0.2


def measure_size(folder: Path, holders: int, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of one size; the chain stays in the folder."""
    genesis = folder / "genesis.json"
    began = time.perf_counter()
    write_genesis(genesis, holders, max(given.gas_limits))
    written = time.perf_counter()
    first = _first_start(folder, genesis)
    genesis.unlink()
    _cache_pages(folder / "data")
    began_again = time.perf_counter()
    with state_node(folder, *_step_options(given)) as node:
        figures = {
            "holders": holders,
            "genesis_seconds": round(written - began, 1),
            "first_start": first,
            "restart_seconds": round(time.perf_counter() - began_again, 2),
            "restarted_mb": _memory(node),
            **_measure(node, holders, holders, given),
            "disk_mb": round(disk_use(folder / "data") / 1e6),
        }
    print(figures, flush=True)
    return figures


def _first_start(folder: Path, genesis: Path) -> dict[str, float]:
    """Start from a genesis, and wait until it is stored."""
    began = time.perf_counter()
    with state_node(folder, "--genesis", str(genesis)) as node:
        answered = time.perf_counter()
        end = answered + _STORED_TIMEOUT
        while _stored(node) < 0:
            if time.perf_counter() > end:
                raise RuntimeError("the genesis block is not stored")
            time.sleep(_POLL)
        return {
            "seconds": round(answered - began, 1),
            "stored_seconds": round(time.perf_counter() - began, 1),
            "peak_mb": round(node.usage.peak() / 1e6),
        }


def _stored(node: LaunchedNode) -> float:
    return read_value(node.metrics(), "foreseal_store_block")


def state_node(folder: Path, *options: str, group: MemoryGroup | None = None) -> AbstractContextManager[LaunchedNode]:
    """Run the node of the chain in a folder for the context, in a control group if one is given."""
    arguments = ("run", "--port", "0", "--datadir", str(folder / "data"), *options)
    prefix = list if group is None else group.command
    return launched_node(arguments, folder / "node.log", prefix)


def _step_options(given: argparse.Namespace) -> tuple[str, ...]:
    return "--step", given.step, "--block-time", given.block_time


def _measure(node: LaunchedNode, holders: int, recipients: int, given: argparse.Namespace) -> dict[str, Any]:
    """Return reads, steps and memory of a running node; transfers are to the first `recipients` holders."""
    spread = sample_holders(holders, _SPREAD, seed=holders)
    figures: dict[str, Any] = {"checked_answers": check_answers(node, holders, seed=1)}
    figures["reads"] = read_rates(node, spread, given.seconds)
    read_rates(node, spread[:WORKING_SET], given.seconds / 2)
    figures["reads_of_working_set"] = read_rates(node, spread[:WORKING_SET], given.seconds)
    rounds = StepRounds(node, given.senders, min(recipients, holders))
    figures["steps"] = [
        {"gas_limit": limit, **rounds.run(transfers_per_step(limit), given.rounds)} for limit in given.gas_limits
    ]
    figures["checked_answers"] += check_answers(node, holders, seed=2)
    return figures | {"measured_mb": _memory(node)}


def _memory(node: LaunchedNode) -> dict[str, int]:
    return {
        "anonymous": round(node.usage.anonymous() / 1e6),
        "resident": round(node.usage.resident() / 1e6),
        "peak": round(node.usage.peak() / 1e6),
    }


def measure_limited(folder: Path, holders: int, given: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a chain whose node has a memory limit, cached pages of the store included."""
    _drop_cached_pages(folder / "data")
    began = time.perf_counter()
    with memory_group(given.memory_limit) as group, state_node(folder, *_step_options(given), group=group) as node:
        figures = {
            "holders": holders,
            "limit_mb": round(given.memory_limit / 1e6),
            "restart_seconds": round(time.perf_counter() - began, 2),
            **_measure(node, holders, WORKING_SET, given),
            "group_peak_mb": round(group.peak() / 1e6),
            "limit_hits": group.limit_hits(),
            "state_mb": round(disk_use(folder / "data" / "store") / 1e6),
        }
    print(figures, flush=True)
    return figures


def _cache_pages(folder: Path) -> None:
    """Read all files, so that the kernel has their pages in its cache."""
    for path in folder.rglob("*"):
        if path.is_file():
            with path.open("rb", buffering=0) as file:
                while file.read(1 << 20):
                    pass


def _drop_cached_pages(folder: Path) -> None:
    """Drop the cached pages of all files: cached pages count for the group that reads them first."""
    os.sync()
    for path in folder.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def growth(results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the growth of steps, reads and anonymous memory from each size to the next."""
    rows = []
    for smaller, larger in pairwise(results):
        row: dict[str, Any] = {"from": smaller["holders"], "to": larger["holders"]}
        for before, after in zip(smaller["steps"], larger["steps"], strict=True):
            row[f"step at {before['gas_limit']}"] = round(after["step_ms"] / before["step_ms"], 3)
        for kind, before in smaller["reads_of_working_set"].items():
            after = larger["reads_of_working_set"][kind]
            row[kind] = round(before["requests_per_second"] / after["requests_per_second"], 3)
        row["memory"] = round(larger["measured_mb"]["anonymous"] / smaller["measured_mb"]["anonymous"], 3)
        figures = [value for name, value in row.items() if name not in ("from", "to")]
        rows.append(row | {"reached": max(figures) <= MAX_GROWTH})
    return rows


def measure(root: Path, given: argparse.Namespace) -> dict[str, Any]:
    """Measure all sizes, then the largest one with the memory limit. Return the report without its origin."""
    results = []
    limited: dict[str, Any] | None = None
    for holders in given.holders:
        folder = root / str(holders)
        folder.mkdir()
        given.senders = senders()
        results.append(measure_size(folder, holders, given))
        if holders == max(given.holders):
            try:
                limited = measure_limited(folder, holders, given)
            except MemoryLimitError as error:
                print(error)
        shutil.rmtree(folder)
    return {"gas_limits": list(given.gas_limits), "results": results, "limited": limited, "growth": growth(results)}


def main() -> int:
    """Measure, print and save; return 1 if a growth is above its target."""
    parser = argparse.ArgumentParser(prog="python -m benches.big_state", description=__doc__)
    parser.add_argument("--holders", type=int, nargs="+", default=list(HOLDERS))
    parser.add_argument("--rounds", type=int, default=10, help="rounds of each size of steps")
    parser.add_argument("--seconds", type=float, default=5.0, help="of each kind of read")
    parser.add_argument("--folder", type=Path, help="folder for the chains: up to 20 GB; default: a temporary one")
    parser.add_argument("--short", action="store_true", help="1,000 and 3,000 holders; saves nothing")
    parser.add_argument("--save", type=Path, help="result file")
    given = parser.parse_args()
    given.gas_limits, given.memory_limit = GAS_LIMITS, MEMORY_LIMIT
    given.step, given.block_time = STEP, BLOCK_TIME
    if given.short:
        given.holders, given.gas_limits = list(_SHORT_HOLDERS), _SHORT_GAS_LIMITS
        given.rounds, given.seconds = 1, 0.2
        given.step, given.block_time = _SHORT_STEP, _SHORT_BLOCK_TIME
    with tempfile.TemporaryDirectory(prefix="foreseal-state-", dir=given.folder) as folder:
        figures = measure(Path(folder), given)
    print(figures["growth"])
    if given.save and not given.short:
        command = f"python -m benches.big_state --holders {' '.join(map(str, given.holders))} --rounds {given.rounds}"
        save(read_provenance(command, PACKAGES) | figures, given.save)
        PLOT.write_text(charts(figures))
    return int(not all(row["reached"] for row in figures["growth"]))


if __name__ == "__main__":
    sys.exit(main())
