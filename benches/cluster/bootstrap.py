"""Bootstrap of an empty replica from a leader with many blocks that continues to produce, and the leader's cadence.

The leader ticks every 200 ms under a light load. The replica fetches a snapshot of the store, then follows the feed.
Its time ends when `/readyz` returns 200. The intervals of the leader's ticks are compared before and during it.
"""

import argparse
import asyncio
import sys
import time
from pathlib import Path
from typing import Any

import uvloop
from benches.cluster.bench_nodes import PROGRAM, bench_nodes
from benches.cluster.long_chain import give_long_chain
from benches.cluster.process_sample import cpu_seconds, disk_use, resident_mb
from benches.cluster.tick_watch import TickWatch, tick_figures
from benches.cluster.transfer_stream import TransferStream
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.cluster.node_process import NodeProcess, ReplicaRole, SequencerRole
from foreseal.errors import NodeError
from journal_import import import_journal
from transfer_accounts import transfer_accounts

RESULT = Path(__file__).parents[1] / "results" / "bootstrap.json"
PACKAGES = ("orjson", "uvloop")
STEP_MS, RATE = 200, 100
BLOCKS, QUIET_SECONDS, TIMEOUT = 1_000_000, 20.0, 3600.0
_POLL = 0.1
# After the replica is ready, so that the last tick is complete.
_REST = 1.0


async def fetch(leader: NodeProcess, replica: NodeProcess, quiet: float, limit: float) -> dict[str, Any]:
    """Start the replica after some seconds under load, and return the figures. Raises NodeError."""
    watch = await TickWatch(leader.port).open()
    ended = asyncio.Event()
    stream = TransferStream(leader.port, transfer_accounts(), record=False)
    sending = asyncio.create_task(stream.run(RATE, quiet + limit, ended.is_set))
    began, cpu = time.perf_counter(), cpu_seconds(leader)
    await asyncio.sleep(quiet)
    started, cpu_before = time.perf_counter(), cpu_seconds(leader)
    replica.start()
    while not await asyncio.to_thread(replica.is_ready):
        replica.check_running()
        if time.perf_counter() - started > limit:
            raise NodeError("startup", f"the replica is not ready after {limit:.0f} s: {replica.log_tail()}")
        await asyncio.sleep(_POLL)
    ready, cpu_after = time.perf_counter(), cpu_seconds(leader)
    await asyncio.sleep(_REST)
    ended.set()
    done = await sending
    watch.close()
    return {
        "seconds": round(ready - started, 1),
        "before": tick_figures(watch.ticks, began + _REST, started),
        "during": tick_figures(watch.ticks, started, ready),
        "leader_cores_before": round((cpu_before - cpu) / (started - began), 3),
        "leader_cores_during": round((cpu_after - cpu_before) / (ready - started), 3),
        "accepted": done.accepted,
        "rejected_once": done.rejected,
    }


def show(figures: dict[str, Any]) -> None:
    """Print a few lines."""
    print(
        f"{figures['blocks']:,} blocks made in {figures['chain_seconds']} s; store of {figures['leader_disk_mb']} MB; "
        f"replica ready after {figures['seconds']} s with {figures['replica_disk_mb']} MB"
    )
    for phase in ("before", "during"):
        print(f"  ticks {phase}: {figures[phase]}, leader {figures[f'leader_cores_{phase}']} cores")


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(prog="python -m benches.cluster.bootstrap", description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--seconds", type=float, default=QUIET_SECONDS, help="seconds before the replica starts")
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--short", action="store_true", help="20,000 blocks and five seconds; saves nothing")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    given = parser.parse_args()
    if given.short:
        given.blocks, given.seconds = 20_000, 5.0
    step = ("--step", f"{STEP_MS}ms")
    with bench_nodes(given.etcd) as nodes:
        version = nodes.etcd.version_text
        leader = nodes.sequencer("leader", options=step)
        assert isinstance(leader.role, SequencerRole), "it serves a feed"
        chain_seconds = give_long_chain(nodes, leader, given.blocks)
        import_journal(PROGRAM, leader)
        nodes.start(leader)
        replica = nodes.node("replica", ReplicaRole([leader.role.feed_address]), ("--log-level", "info"))
        nodes.started.append(replica)
        figures = uvloop.run(fetch(leader, replica, given.seconds, TIMEOUT))
        results = {
            "blocks": given.blocks,
            "chain_seconds": round(chain_seconds, 1),
            **figures,
            "leader_disk_mb": round(disk_use(leader.datadir) / 1e6, 1),
            "replica_disk_mb": round(disk_use(replica.datadir) / 1e6, 1),
            "resident_mb": {"leader": resident_mb(leader), "replica": resident_mb(replica)},
            "same_block": same_block(leader, replica, given.blocks),
            "log": [line for line in replica.log_tail().splitlines() if "snapshot" in line],
        }
    show(results)
    command = f"python -m benches.cluster.bootstrap --blocks {given.blocks} --seconds {given.seconds:g}"
    if given.save and not given.short:
        report = read_provenance(command, PACKAGES) | {"etcd": version, "step_ms": STEP_MS, "rate_per_second": RATE}
        save(report | {"results": results}, given.save)
    if not results["same_block"]:
        print(f"block {given.blocks} of the replica is not that of the leader")
    return 0 if results["same_block"] else 1


def same_block(leader: NodeProcess, replica: NodeProcess, number: int) -> bool:
    """Return True if both have the same block, and the replica also block 1."""
    blocks = [node.call("eth_getBlockByNumber", hex(number), True) for node in (leader, replica)]
    return (
        blocks[0] is not None
        and blocks[0] == blocks[1]
        and replica.call("eth_getBlockByNumber", "0x1", False) is not None
    )


if __name__ == "__main__":
    sys.exit(main())
