"""Throughput in transactions per second, from the first submission until the last transaction has its receipt."""

import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from foreseal.bench.chain_content import BenchAccount, native, owner
from foreseal.bench.content_writer import FilledNode, included
from foreseal.bench.errors import BenchError, ErrorResponse
from foreseal.bench.node import BenchNode, batch_body, body
from foreseal.bench.progress import SENDS, ProgressCallback, ProgressUpdate, repetition_names

KINDS = {"send, native": (False, 1), "send, ERC-20": (True, 1), "send, ERC-20 in batches of 100": (True, 100)}
"""Kinds of submissions: True for token transfers, and the number of transactions per call."""
SEND_CONNECTIONS = 16
_SUBMISSION_TIMEOUT = 300.0
BLOCK_EVERY = 0.2
"""Seconds between blocks of a node that makes them on command."""


@contextmanager
def producing(node: BenchNode, every: float = BLOCK_EVERY) -> Iterator[None]:
    """Make blocks at this interval until the context ends, on a node that makes blocks on command."""
    try:
        node.call("evm_mine")
    except ErrorResponse as error:
        if not error.unknown_method:
            raise
        # The node makes blocks on its own.
        yield
        return
    ended, failures = Event(), list[BaseException]()
    miner = BenchNode(node.name, node.url)

    def mine() -> None:
        due = time.monotonic()
        try:
            while not ended.wait(max(0.0, due - time.monotonic())):
                miner.call("evm_mine")
                due = max(due + every, time.monotonic())
        except BenchError as error:
            failures.append(error)
        finally:
            miner.close()

    thread = Thread(target=mine, name=f"blocks of {node.name}")
    thread.start()
    try:
        yield
    except BenchError as error:
        # If block production failed, raise its error: it is the cause.
        raise (failures[0] if failures else error) from None
    finally:
        ended.set()
        thread.join()
    if failures:
        raise failures[0]


@dataclass(frozen=True)
class ThroughputRun:
    """One run."""

    transactions: int
    seconds: float
    accepted_seconds: float
    cpu: float | None

    @property
    def rate(self) -> float:
        """Transactions per second, until the last is included."""
        return self.transactions / self.seconds


def measure_throughput(
    filled: FilledNode, senders: Sequence[BenchAccount], kind: str, transactions: int
) -> ThroughputRun:
    """Send this many transactions and wait until each has a receipt with status 1. Raise BenchError on failure."""
    tokens, batch = KINDS[kind]
    node, contents = filled.node, filled.contents
    per_sender = max(1, transactions // len(senders))
    make = contents.token_transfer if tokens else native
    # The transactions of one sender go over one connection, in order.
    by_sender = [sender.sign(contents.chain_id, [make(owner(at), 1) for at in range(per_sender)]) for sender in senders]
    lanes = [
        [transaction for signed in by_sender[start::SEND_CONNECTIONS] for transaction in signed]
        for start in range(SEND_CONNECTIONS)
    ]
    lanes = [lane for lane in lanes if lane]
    groups = [[lane[at : at + batch] for at in range(0, len(lane), batch)] for lane in lanes]
    turns = max(map(len, groups))
    if any(len(lane_groups) != turns for lane_groups in groups):
        # Lanes of unequal length would shift bodies to other connections, so the load uses the shortest length of all.
        turns = min(map(len, groups))
    ordered = [groups[lane][turn] for turn in range(turns) for lane in range(len(groups))]
    rest = [transaction for lane_groups in groups for group in lane_groups[turns:] for transaction in group]
    before = node.processes.cpu() if node.processes else None
    with producing(node):
        began = time.perf_counter()
        node.load([_body(group) for group in ordered], len(groups), _SUBMISSION_TIMEOUT, once=True)
        if rest:
            node.load([_body([transaction]) for transaction in rest], 1, _SUBMISSION_TIMEOUT, once=True)
        accepted = time.perf_counter()
        last = [signed[-1] for signed in by_sender]
        # A slow node may include accepted transactions late; this delay is part of the measurement.
        included(node, last, _SUBMISSION_TIMEOUT)
        ended = time.perf_counter()
        # The last receipt of a sender implies all earlier ones; their status is checked after the clock stops.
        included(node, [transaction for signed in by_sender for transaction in signed])
    used = node.processes.cpu() - before if node.processes and before is not None else None
    return ThroughputRun(per_sender * len(senders), ended - began, accepted - began, used)


def compare_throughput(
    nodes: Sequence[FilledNode],
    transactions: int,
    repetitions: int,
    seed: int,
    peer: str | None,
    show: ProgressCallback,
) -> list[dict[str, Any]]:
    """Run all kinds on all nodes in random order; return medians and ratios to the peer."""
    order = random.Random(seed)  # noqa: S311 (an order that can be repeated)
    runs: dict[tuple[str, str], list[ThroughputRun]] = {(kind, node.node.name): [] for kind in KINDS for node in nodes}
    done, of = 0, len(runs) * repetitions
    for repetition in repetition_names(repetitions):
        for kind in order.sample(list(KINDS), len(KINDS)):
            for filled in order.sample(list(nodes), len(nodes)):
                show(ProgressUpdate(SENDS, f"{kind}, {filled.node.name}", done, of, repetition))
                runs[kind, filled.node.name].append(
                    measure_throughput(filled, filled.contents.senders, kind, transactions)
                )
                done += 1
    show(ProgressUpdate(SENDS, "", of, of, repetition))
    return [
        {
            "row": kind,
            "node": name,
            "transactions": node_runs[0].transactions,
            "transactions_per_second": round(statistics.median(run.rate for run in node_runs), 1),
            "rates_of_runs": [round(run.rate, 1) for run in node_runs],
            "accepted_per_second": round(
                statistics.median(run.transactions / run.accepted_seconds for run in node_runs), 1
            ),
            "cpu_us_per_transaction": _cpu_us(node_runs),
            "ratio": _ratio(node_runs, runs.get((kind, peer or ""))),
        }
        for (kind, name), node_runs in runs.items()
    ]


def _cpu_us(runs: Sequence[ThroughputRun]) -> float | None:
    """Return microseconds of the node's processor time per transaction, receipt polling included."""
    costs = [run.cpu / run.transactions * 1e6 for run in runs if run.cpu is not None]
    return round(statistics.median(costs), 1) if costs else None


def _ratio(ours: Sequence[ThroughputRun], theirs: Sequence[ThroughputRun] | None) -> float | None:
    if not theirs or theirs is ours:
        return None
    return round(statistics.median(run.rate / other.rate for run, other in zip(ours, theirs, strict=True)), 3)


def _body(group: Sequence[Any]) -> bytes:
    if len(group) == 1:
        return body("eth_sendRawTransaction", group[0].raw)
    return batch_body([("eth_sendRawTransaction", [transaction.raw]) for transaction in group])
