"""Lag of replicas behind the leader, alone and with many readers of frames, and the memory of all processes.

Each replica is a process with its own store that applies every step. A reader of frames is a connection of this
process: it checks cursor, frame numbers and hashes, and applies nothing. A lag is the time from the arrival of a
transaction at a subscriber of the leader until its arrival at one of the replica, or until the append's frame arrived.
A chain of replicas, each of which follows the one before, gives the lag of each hop of a tree.
"""

import argparse
import asyncio
import statistics
import sys
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import uvloop
from benches.cluster.append_comparison import AppendComparison
from benches.cluster.bench_nodes import BenchNodes, bench_nodes
from benches.cluster.feed_reader import FeedReader, FeedTarget
from benches.cluster.lag_figures import lag_figures, lags, same_order
from benches.cluster.process_sample import cpu_seconds, resident_mb
from benches.cluster.transaction_watch import TransactionWatch
from benches.cluster.transfer_stream import StreamRecord, TransferStream
from benches.load.lanes import fail_with, until
from benches.result_file import save

from foreseal.bench.provenance import read_provenance
from foreseal.cluster.node_process import NodeProcess, ReplicaRole, SequencerRole
from foreseal.ports import next_free_port
from transfer_accounts import CHAIN_ID, transfer_accounts

RESULT = Path(__file__).parents[1] / "results" / "replica_lag.json"
PACKAGES = ("orjson", "uvloop")
STEP_MS, RATE, SECONDS = 200, 500, 20.0
# Real replicas; of 100 followers the others are readers of frames.
MAX_REPLICAS = 10
# Replicas of the chain.
HOPS = 3
FOLLOWERS = (1, 10, 100)
# The first seconds are not measured: caches and connections are new.
WARM_UP = 2.0
# One of this many readers connects again with its cursor while the load runs.
RECONNECTED = 10
_SHOWN_TIMEOUT = 60.0


@dataclass
class LagRun:
    """Observations with one number of followers."""

    stream: StreamRecord
    leader: TransactionWatch
    replicas: list[TransactionWatch]
    readers: list[FeedReader]
    comparison: AppendComparison
    began: float
    seconds: float
    leader_cpu: float

    def figures(self) -> dict[str, Any]:
        """Return lags and checks. Raises ValueError if a process lacks a transaction."""
        first = self.began + WARM_UP
        order = list(self.leader.shown)
        watches = [lags(self.leader.shown, each.shown, first) for each in self.replicas]
        return {
            "replicas": len(self.replicas),
            "frame_readers": len(self.readers),
            "transactions": len(order),
            "leader_cores": round(self.leader_cpu / self.seconds, 3),
            "lag_of_replicas": lag_figures(watches),
            "same_order": all(same_order(order, list(each.shown)) for each in self.replicas),
            "repeated": sum(each.repeated for each in (self.leader, *self.replicas)),
            **self._reader_figures(first),
        }

    def _reader_figures(self, first: float) -> dict[str, Any]:
        if not self.readers:
            return {}
        appends = self._appends(first)
        reader_lags = [[each.arrived[number] - at for number, at in appends.items()] for each in self.readers]
        return {
            "lag_of_frame_readers": lag_figures(reader_lags),
            "appends_compared": self.comparison.compared,
            "different_appends": len(self.comparison.different),
            "reader_failures": [f"{each.name}: {each.failure}" for each in self.readers if each.failure],
            "reconnections": sum(each.reconnected for each in self.readers),
            # Appends, changes of the pool and heartbeats.
            "feed_kb_per_reader_and_second": round(
                sum(each.received for each in self.readers) / len(self.readers) / self.seconds / 1000, 1
            ),
        }

    def _appends(self, first: float) -> dict[int, float]:
        """Return the time at which the leader showed each append with transactions, by its sequence number."""
        times: dict[int, float] = {}
        number = 0
        # Transactions of one step arrive at one time; only the first one of an append gives its time.
        for name, at in self.leader.shown.items():
            raw = bytes.fromhex(self.stream.raw[name].removeprefix("0x"))
            if at < first or raw in self.comparison.records.get(number, b""):
                continue
            sequence = self.comparison.sequence_with(raw, number)
            if sequence is None:
                raise ValueError(f"no append has the transaction {name}")
            number = sequence
            times[sequence] = at
        return times


class LagMeasurement:
    """A leader with a quorum journal, and a growing number of followers."""

    def __init__(self, nodes: BenchNodes, options: argparse.Namespace, replicas: int) -> None:
        """Start the leader; `replicas` is the maximum number of real replicas."""
        self._nodes = nodes
        self._max_replicas = replicas
        self._rate: float = options.rate
        self._seconds: float = options.seconds
        step = ("--step", f"{STEP_MS}ms")
        self._leader = nodes.sequencer("leader", options=step)
        assert isinstance(self._leader.role, SequencerRole), "it serves a feed"
        self._role = self._leader.role
        self._replicas: list[NodeProcess] = []
        self._accounts = transfer_accounts()
        nodes.start(self._leader)

    def measure(self, followers: int) -> dict[str, Any]:
        """Return the figures with this many followers."""
        missing = range(len(self._replicas), min(followers, self._max_replicas))
        role = ReplicaRole([self._role.feed_address])
        added = [self._nodes.node(f"replica-{number + 1}", role) for number in missing]
        self._nodes.start(*added)
        self._replicas += added
        run = uvloop.run(self._run(self._replicas, followers - len(self._replicas)))
        members = [resident_mb(member) for member in self._nodes.etcd.members]
        of_replicas = sorted(resident_mb(replica) for replica in self._replicas)
        return {
            "followers": followers,
            **run.figures(),
            "resident_mb": {
                "leader": resident_mb(self._leader),
                "replicas": {
                    "min": of_replicas[0],
                    "median": statistics.median(of_replicas),
                    "max": of_replicas[-1],
                },
                "etcd": members,
            },
        }

    def measure_hops(self, count: int) -> list[dict[str, Any]]:
        """Return the lag of each replica of a chain behind the one before it. Raises ValueError."""
        feed, chain = self._role.feed_address, list[NodeProcess]()
        for number in range(1, count + 1):
            role = ReplicaRole([feed], next_free_port())
            chain.append(self._nodes.node(f"hop-{number}", role))
            feed = f"tcp://127.0.0.1:{role.feed}"
        self._nodes.start(*chain)
        run = uvloop.run(self._run(chain, 0))
        for node in chain[::-1]:
            node.stop()
        watches = [run.leader, *run.replicas]
        hop_lags = [lags(before.shown, after.shown, run.began + WARM_UP) for before, after in pairwise(watches)]
        return [{"hop": number, **lag_figures([each])} for number, each in enumerate(hop_lags, 1)]

    async def _run(self, followers: list[NodeProcess], readers: int) -> LagRun:
        fail_with(asyncio.current_task())
        comparison = AppendComparison()
        leader = await TransactionWatch(self._leader.port).open()
        replicas = [await TransactionWatch(each.port).open() for each in followers]
        frames = await self._open_readers(readers, comparison)
        for account in self._accounts:
            account.sign(int(self._rate * self._seconds / len(self._accounts)) + 1)
        cpu, began = cpu_seconds(self._leader), time.perf_counter()
        sending = asyncio.create_task(TransferStream(self._leader.port, self._accounts).run(self._rate, self._seconds))
        await asyncio.sleep(self._seconds / 2)
        for reader in frames[::RECONNECTED]:
            await reader.reconnect()
        stream = await sending
        seconds = time.perf_counter() - began
        used = cpu_seconds(self._leader) - cpu
        wanted = stream.sent.keys()
        if not await until(lambda: all(wanted <= each.shown.keys() for each in (leader, *replicas)), _SHOWN_TIMEOUT):
            raise RuntimeError(f"not all transactions were shown; first error: {stream.first_error}")
        newest = max((reader.next for reader in frames), default=0)
        await until(lambda: all(reader.next >= newest or reader.failure for reader in frames), _SHOWN_TIMEOUT)
        for each in (leader, *replicas, *frames):
            each.close()
        return LagRun(stream, leader, replicas, frames, comparison, began, seconds, used)

    async def _open_readers(self, count: int, comparison: AppendComparison) -> list[FeedReader]:
        if count <= 0:
            return []
        genesis = self._leader.call("eth_getBlockByNumber", "0x0", False)["hash"]
        token = self._nodes.files.token.read_bytes().strip()
        target = FeedTarget(self._role.feed, token, CHAIN_ID, bytes.fromhex(genesis.removeprefix("0x")))
        readers = [
            FeedReader(f"reader-{number}", target, lambda append, _: comparison.add(append)) for number in range(count)
        ]
        for reader in readers:
            await reader.open()
        return readers


def show(figures: dict[str, Any]) -> None:
    """Print one line for each kind of follower."""
    for kind in ("replicas", "frame_readers"):
        lag = figures.get(f"lag_of_{kind}")
        if lag:
            print(
                f"{figures['followers']:>4} followers, {lag['processes']:>3} {kind.replace('_', ' ')}: "
                f"lag {lag['p50_ms']}/{lag['p99_ms']}/{lag['max_ms']} ms, {lag['samples']} samples",
                flush=True,
            )
    print(f"     resident, MB: {figures['resident_mb']}; leader {figures['leader_cores']} cores", flush=True)


def problems(results: list[dict[str, Any]]) -> list[str]:
    """Return the checks that failed."""
    messages = []
    for figures in results:
        checks = {
            "another order of transactions": not figures["same_order"],
            "repeated transactions": figures["repeated"],
            "different appends": figures.get("different_appends", 0),
            "failed readers": figures.get("reader_failures", []),
        }
        messages += [f"{figures['followers']} followers: {name}: {value}" for name, value in checks.items() if value]
    return messages


def main() -> int:
    """Measure, print and save; return 1 if a follower had other content than the leader."""
    parser = argparse.ArgumentParser(prog="python -m benches.cluster.replica_lag", description=__doc__)
    parser.add_argument("--followers", type=int, nargs="+", default=list(FOLLOWERS))
    parser.add_argument("--rate", type=float, default=RATE, help="transactions a second")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--etcd", help="program of the etcd members; default: etcd on the PATH")
    parser.add_argument("--short", action="store_true", help="1 and 20 followers for four seconds; saves nothing")
    parser.add_argument("--save", type=Path, help=f"result file, such as {RESULT}")
    given = parser.parse_args()
    replicas = MAX_REPLICAS
    if given.short:
        given.followers, given.seconds, replicas = [1, 20], 4.0, 2
    results: list[dict[str, Any]] = []
    with bench_nodes(given.etcd) as nodes:
        version = nodes.etcd.version_text
        measurement = LagMeasurement(nodes, given, replicas)
        hops = measurement.measure_hops(HOPS)
        for hop in hops:
            print(f"hop {hop['hop']}: lag {hop['p50_ms']}/{hop['p99_ms']}/{hop['max_ms']} ms", flush=True)
        for followers in sorted(given.followers):
            results.append(measurement.measure(followers))
            show(results[-1])
    counts = " ".join(map(str, given.followers))
    command = (
        f"python -m benches.cluster.replica_lag --followers {counts} --rate {given.rate:g} --seconds {given.seconds:g}"
    )
    messages = problems(results)
    for problem in messages:
        print(problem)
    if given.save and not given.short:
        report = read_provenance(command, PACKAGES) | {
            "etcd": version,
            "step_ms": STEP_MS,
            "rate_per_second": given.rate,
        }
        save(report | {"warm_up_seconds": WARM_UP, "problems": messages, "hops": hops, "results": results}, given.save)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
