"""Figures of one round of load on one node."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from benches.cluster.bench_nodes import metrics_page
from benches.cluster.histogram import Histogram, read_histogram
from benches.cluster.process_sample import cpu_seconds
from benches.cluster.transaction_watch import TransactionWatch
from benches.cluster.transfer_stream import StreamRecord, TransferStream
from benches.load.lanes import fail_with, quantiles, until

from foreseal.cluster.etcd import EtcdCluster
from foreseal.cluster.node_process import NodeProcess
from transfer_accounts import TransferAccount

# Not every build has the second one.
HISTOGRAMS = {
    "append": "foreseal_journal_append_seconds",
    "engine_append": "foreseal_quorum_append_seconds",
    "step": "foreseal_step_seconds",
}
COUNTERS = {
    "steps": "foreseal_steps_total",
    "transactions": "foreseal_transactions_total",
    "journal_bytes": "foreseal_journal_written_bytes_total",
}
_SHOWN_TIMEOUT = 60.0


@dataclass(frozen=True, slots=True)
class CostReading:
    """Counters of the processes at one moment."""

    node_cpu: float
    etcd_cpu: float
    counters: dict[str, int]
    histograms: dict[str, Histogram]


@dataclass
class CostRound:
    """Load on one node, and what it cost."""

    stream: StreamRecord
    visible: list[float]
    """Seconds from submission until a subscriber got the transaction."""
    seconds: float
    node_cpu: float
    etcd_cpu: float
    counters: dict[str, int]
    histograms: dict[str, Histogram]
    sends_per_second: float = 0.0


@dataclass
class CostRounds:
    """Rounds of one kind of journal with one step size."""

    rounds: list[CostRound] = field(default_factory=list)

    def figures(self) -> dict[str, Any]:
        """Return delays over all rounds, and costs per step."""
        steps = sum(each.counters["steps"] for each in self.rounds) or 1
        seconds = sum(each.seconds for each in self.rounds)
        node, etcd = (sum(getattr(each, name) for each in self.rounds) for name in ("node_cpu", "etcd_cpu"))
        figures: dict[str, Any] = {
            "transactions": sum(len(each.visible) for each in self.rounds),
            "rejected_once": sum(each.stream.rejected for each in self.rounds),
            "steps": steps,
            "transactions_per_step": round(sum(each.counters["transactions"] for each in self.rounds) / steps),
            "journal_kb_per_step": round(sum(each.counters["journal_bytes"] for each in self.rounds) / steps / 1000, 1),
            "submit_until_visible": quantiles([delay for each in self.rounds for delay in each.visible]),
            "submit_until_answered": quantiles([delay for each in self.rounds for delay in each.stream.answered]),
            "generator_late": quantiles([delay for each in self.rounds for delay in each.stream.late]),
            "sends_per_second": sorted(round(each.sends_per_second) for each in self.rounds),
            "node_cpu_ms_per_step": round(node / steps * 1000, 2),
            "etcd_cpu_ms_per_step": round(etcd / steps * 1000, 2),
            "node_cores": round(node / seconds, 3),
            "etcd_cores": round(etcd / seconds, 3),
        }
        for name in HISTOGRAMS:
            parts = [each.histograms[name] for each in self.rounds if name in each.histograms]
            if parts:
                figures[name] = merged(parts).figures()
        return figures


def merged(parts: list[Histogram]) -> Histogram:
    """Return the sum of histograms with the same bounds."""
    columns = zip(*(part.buckets for part in parts), strict=True)
    buckets = tuple((column[0][0], sum(count for _, count in column)) for column in columns)
    return Histogram(buckets, sum(part.total for part in parts))


def read_counter(text: str, name: str) -> int:
    """Return the sum of the samples of a counter in a metrics page."""
    values = [line.rsplit(" ", 1)[1] for line in text.splitlines() if line.split("{")[0].split(" ")[0] == name]
    return round(sum(map(float, values)))


def read_costs(node: NodeProcess, etcd: EtcdCluster) -> CostReading:
    """Read the metrics of a node, and the processor time of node and members."""
    text = metrics_page(node)
    histograms = {name: read_histogram(text, family) for name, family in HISTOGRAMS.items()}
    return CostReading(
        cpu_seconds(node),
        cpu_seconds(*etcd.members),
        {name: read_counter(text, family) for name, family in COUNTERS.items()},
        {name: histogram for name, histogram in histograms.items() if histogram is not None},
    )


async def run_round(
    node: NodeProcess, etcd: EtcdCluster, accounts: list[TransferAccount], rate: float, seconds: float
) -> CostRound:
    """Send transfers for some seconds, and wait until all of them are visible. Raises RuntimeError."""
    fail_with(asyncio.current_task())
    for account in accounts:
        account.sign(int(rate * seconds / len(accounts)) + 1)
    watch = await TransactionWatch(node.port).open()
    before = read_costs(node, etcd)
    stream = await TransferStream(node.port, accounts).run(rate, seconds)
    if not await until(lambda: stream.sent.keys() <= watch.shown.keys(), _SHOWN_TIMEOUT):
        missing = len(stream.sent.keys() - watch.shown.keys())
        raise RuntimeError(f"{missing} transactions were not shown; first error: {stream.first_error}")
    last = max(watch.shown.values())
    after = read_costs(node, etcd)
    watch.close()
    return CostRound(
        stream,
        [watch.shown[name] - due for name, due in stream.sent.items()],
        last - min(stream.sent.values()),
        after.node_cpu - before.node_cpu,
        after.etcd_cpu - before.etcd_cpu,
        {name: after.counters[name] - before.counters[name] for name in COUNTERS},
        {name: histogram.since(before.histograms[name]) for name, histogram in after.histograms.items()},
    )
