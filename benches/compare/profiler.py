"""Flame graphs of nodes: one more run of each row after all measured runs, while perf samples the node."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benches.compare.flame_graph import draw_flame_graph
from benches.compare.perf import PerfSampler

from foreseal.bench.call_matrix import Row
from foreseal.bench.content_writer import FilledNode
from foreseal.bench.errors import BenchError
from foreseal.bench.measurement import connections
from foreseal.bench.node import BenchNode
from foreseal.bench.plan import BenchmarkPlan
from foreseal.bench.progress import ProgressCallback, ProgressUpdate
from foreseal.bench.throughput import KINDS, SEND_CONNECTIONS, measure_throughput

PROFILES = "profiles"
"""Name of the phase."""
_PROFILE = 5.0
"""Typical seconds of a profiled run that are not its load."""
MIN_SECONDS = 2.0
"""Shortest duration of a profiled run: a thousand samples per busy core."""


@dataclass(frozen=True)
class _ProfiledRun:
    row: str
    connections: int
    filled: FilledNode
    start: Callable[[], object]


class Profiler:
    """Writes one SVG per row and node into a folder."""

    def __init__(self, folder: Path, sampler: PerfSampler) -> None:
        self._folder, self._sampler = folder, sampler

    def check(self, nodes: Sequence[BenchNode]) -> None:
        """Raise BenchError if no node runs on this machine, or perf cannot observe one that does."""
        observed = [node for node in nodes if node.processes]
        if not observed:
            raise BenchError("no node has processes that this user can observe on this machine")
        for node in observed:
            self._sampler.check(_pids(node))

    def profile(
        self, nodes: Sequence[FilledNode], plan: BenchmarkPlan, missing: list[dict[str, Any]], show: ProgressCallback
    ) -> list[dict[str, Any]]:
        """Return the saved files.

        `missing` are the rows that a node does not support; they are skipped. A run that fails is added to them, and
        does not end the benchmark.
        """
        saved: list[dict[str, Any]] = []
        self._folder.mkdir(exist_ok=True)
        unsupported = {(row["row"], row["node"]) for row in missing}
        runs = [run for run in _runs(nodes, plan) if (run.row, run.filled.node.name) not in unsupported]
        for done, run in enumerate(runs):
            node = run.filled.node
            show(ProgressUpdate(PROFILES, f"{run.row}, {node.name}", done, len(runs)))
            try:
                saved.append(self._save(run))
            except BenchError as error:
                missing.append({"row": f"profile: {run.row}", "node": node.name, "why": str(error)})
        show(ProgressUpdate(PROFILES, "", len(runs), len(runs)))
        return saved

    def _save(self, run: _ProfiledRun) -> dict[str, Any]:
        node = run.filled.node
        stacks = self._sampler.sample(_pids(node), run.start)
        file = self._folder / file_name(run.row, node.name)
        file.write_text(draw_flame_graph(f"{run.row}, {connections(run.connections)}, {node.name}", stacks))
        named = {"row": run.row, "connections": run.connections, "node": node.name}
        return {**named, "samples": stacks.total(), "file": str(file)}


def expected_profiles(plan: BenchmarkPlan, nodes: Sequence[BenchNode]) -> dict[str, float]:
    """Return the expected duration of the phase."""
    rows = (len(plan.rows) if plan.has_reads else 0) + (len(KINDS) if "send" in plan.phases else 0)
    return {PROFILES: rows * len(nodes) * (plan.extent.seconds + _PROFILE)}


def file_name(row: str, node: str) -> str:
    """Return the file name of a row and a node: logs-one-block-of-100.foreseal.svg."""
    return f"{re.sub('[^a-z0-9]+', '-', row.lower()).strip('-')}.{node}.svg"


def _runs(nodes: Sequence[FilledNode], plan: BenchmarkPlan) -> list[_ProfiledRun]:
    """Return the runs of all nodes whose processes can be observed."""
    count, seconds = max(plan.extent.connections), max(plan.extent.seconds, MIN_SECONDS)
    runs = []
    for filled in (filled for filled in nodes if filled.node.processes):
        for row in plan.rows if plan.has_reads else ():
            load = _load(filled, row, count, seconds)
            runs.append(_ProfiledRun(row.name, count, filled, load))
        kinds = KINDS if "send" in plan.phases else ()
        sends = {kind: _sending(filled, kind, plan.transactions) for kind in kinds}
        runs += [_ProfiledRun(kind, SEND_CONNECTIONS, filled, send) for kind, send in sends.items()]
    return runs


def _load(filled: FilledNode, row: Row, count: int, seconds: float) -> Callable[[], object]:
    return lambda: filled.node.load(
        row.bodies(filled), count, seconds, websocket=row.websocket, error_code=row.error_code
    )


def _sending(filled: FilledNode, kind: str, transactions: int) -> Callable[[], object]:
    return lambda: measure_throughput(filled, filled.contents.senders, kind, transactions)


def _pids(node: BenchNode) -> list[int]:
    """Return the process IDs of a node that runs on this machine."""
    processes = node.processes
    if processes is None:
        raise BenchError(f"{node.name}: its processes are gone")
    return processes.members()
