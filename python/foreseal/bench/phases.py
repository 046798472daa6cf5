"""One benchmark: the phases in their order."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from foreseal._core import Responder
from foreseal.bench.content_writer import BlockControl, ContentWriter, FilledNode
from foreseal.bench.errors import BenchError
from foreseal.bench.fanout import fanout
from foreseal.bench.measurement import MatrixRun, MeasurementPlan, cells_reported, connections
from foreseal.bench.node import BenchNode, body
from foreseal.bench.peers import PeerProcess
from foreseal.bench.plan import BenchmarkPlan, expected_seconds
from foreseal.bench.progress import GENERATOR, READS, RESTARTED, ProgressCallback, ProgressUpdate, fanout_of
from foreseal.bench.throughput import compare_throughput
from foreseal.bench.visibility import visibility


@dataclass
class Benchmark:
    """Nodes, and the results so far."""

    plan: BenchmarkPlan
    nodes: Sequence[BenchNode]
    started: Sequence[PeerProcess]
    """The nodes that can be restarted."""
    results: dict[str, Any] = field(default_factory=dict)

    def fill(self, show: ProgressCallback) -> list[FilledNode]:
        """Measure the generator, and write the content to every node."""
        self.results["generator"] = generator(self.plan.extent, show)
        return [ContentWriter(node, self.plan.shape).fill(show) for node in self.nodes]

    def measure(self, filled: Sequence[FilledNode], show: ProgressCallback) -> dict[str, Any]:
        """Run all phases. Raise BenchError at the first wrong response; there are no figures then."""
        plan = self.plan
        resident = {filled_node.node.name: filled_node.node.resident_mb for filled_node in filled}
        self._reads(filled, "reads", READS, show)
        if "restart" in plan.phases and (restarted := self._restarted(filled)):
            self._reads(restarted, "reads_after_restart", RESTARTED, show)
        if "send" in plan.phases:
            extent = plan.extent
            arguments = (plan.transactions, extent.repetitions, extent.seed, plan.peer)
            self.results["sends"] = compare_throughput(filled, *arguments, show)
        if "visible" in plan.phases:
            self.results["visibility"] = [visibility(filled_node, plan.samples, show) for filled_node in filled]
        if "fanout" in plan.phases:
            speaking = [filled_node for filled_node in filled if not filled_node.node.without_websockets()]
            self.results["fanout"] = [self._fanout(filled_node, show) for filled_node in speaking]
        self.results["nodes"] = [
            self._described(filled_node, resident[filled_node.node.name]) for filled_node in filled
        ]
        return self.results

    def expected_seconds(self) -> dict[str, float]:
        """Return the expected duration of each phase, in order."""
        restarted = [started.name for started in self.started if started.is_persistent]
        return expected_seconds(self.plan, [node.name for node in self.nodes], restarted)

    def _reads(self, filled: Sequence[FilledNode], key: str, phase: str, show: ProgressCallback) -> None:
        plan = self.plan
        if not plan.has_reads:
            return
        matrix = MatrixRun(filled, plan.rows, plan.extent)
        matrix.compare()
        closed = matrix.closed(show, phase)
        self.results[key] = cells_reported(closed, plan.peer)
        if "open" in plan.phases and key == "reads":
            self.results["open_loop"] = cells_reported(matrix.open(closed, show), plan.peer)
        missing = [{"row": row, "node": name, "why": why} for (row, name), why in matrix.missing.items()]
        self.results["missing"] = missing

    def _restarted(self, filled: Sequence[FilledNode]) -> list[FilledNode]:
        """Restart the nodes that persist their chain."""
        restarted = []
        by_name = {started.name: started for started in self.started if started.is_persistent}
        for filled_node in filled:
            if started := by_name.get(filled_node.node.name):
                started.stop()
                started.start(filled_node.node)
                if (
                    BlockControl(filled_node.node).is_manual
                    and int(filled_node.node.call("eth_blockNumber"), 16) < filled_node.head
                ):
                    raise BenchError(f"{filled_node.node.name}: after a restart its chain is another one")
                restarted.append(filled_node)
        return restarted

    def _fanout(self, filled: FilledNode, show: ProgressCallback) -> dict[str, Any]:
        phase = fanout_of(filled.node.name)
        show(ProgressUpdate(phase, f"{self.plan.subscribers} subscribers", 0, 1))
        figures = fanout(filled, self.plan.subscribers, self.plan.notifications)
        show(ProgressUpdate(phase, "", 1, 1))
        return figures

    def _described(self, filled: FilledNode, resident: float | None) -> dict[str, Any]:
        started = next((process for process in self.started if process.name == filled.node.name), None)
        return {
            "name": filled.node.name,
            "version": filled.node.call("web3_clientVersion"),
            "transport": started.transport if started else None,
            "start_ms": round(started.start_ms) if started else None,
            "filled_resident_mb": resident,
            "resident_mb": filled.node.resident_mb,
            "blocks": int(filled.node.call("eth_blockNumber"), 16),
        }


def generator(extent: MeasurementPlan, show: ProgressCallback) -> list[dict[str, Any]]:
    """Measure the generator against a constant response; figures near this limit are not the node's."""
    results = []
    responder = Responder()
    try:
        node = BenchNode("the constant responder", f"http://{responder.address()}")
        runs = [(websocket, count) for websocket in (False, True) for count in extent.connections]
        for done, (websocket, count) in enumerate(runs):
            transport = "WebSocket" if websocket else "HTTP"
            show(ProgressUpdate(GENERATOR, f"{transport}, {connections(count)}", done, len(runs)))
            run = node.load([body("eth_blockNumber")], count, extent.seconds, websocket=websocket)
            results.append(
                {
                    "transport": transport,
                    "connections": count,
                    "requests_per_second": round(run.rate),
                    **run.latencies.quantiles(),
                }
            )
    finally:
        responder.stop()
    show(ProgressUpdate(GENERATOR, "", len(runs), len(runs)))
    return results
