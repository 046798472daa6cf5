"""Runs of the matrix: every row with every number of connections, nodes in random order."""

import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from foreseal.bench.call_matrix import BenchCall, Row
from foreseal.bench.content_writer import FilledNode
from foreseal.bench.errors import BenchError, ErrorResponse
from foreseal.bench.node import BenchNode
from foreseal.bench.progress import OPEN_LOOP, READS, ProgressCallback, ProgressUpdate, repetition_names
from foreseal.bench.run_metrics import Latencies, RunMetrics

_LONGEST_SHOWN = 300


@dataclass(frozen=True)
class MeasurementPlan:
    """Length and load of the measurement."""

    connections: tuple[int, ...] = (1, 16, 64)
    seconds: float = 1.0
    repetitions: int = 5
    seed: int = 1
    open_share: float = 0.5
    """Rate of the open loop, as a share of the rate of the slowest node in the closed loop."""


@dataclass
class Cell:
    """A row, a number of connections, a node."""

    row: str
    loop: str
    """`closed` or `open`."""
    connections: int
    node: str
    runs: list[RunMetrics] = field(default_factory=list)
    offered: float | None = None
    """Requests per second that were due, in an open loop."""

    @property
    def rate(self) -> float:
        """Results per second, the median of the runs."""
        return statistics.median(run.rate for run in self.runs)

    def report(self, peer: "Cell | None") -> dict[str, Any]:
        """Return the figures; the ratio is the median of the ratios to the peer's run of the same repetition."""
        latencies = Latencies()
        for run in self.runs:
            latencies.add(run.latencies)
        cpu = [run.cpu_us for run in self.runs if run.cpu_us is not None]
        pairs = zip(self.runs, peer.runs, strict=True) if peer and peer is not self else ()
        ratios = [ours.rate / theirs.rate for ours, theirs in pairs if theirs.rate]
        return {
            "row": self.row,
            "loop": self.loop,
            "connections": self.connections,
            "node": self.node,
            "requests_per_second": round(self.rate, 1),
            "rates_of_runs": [round(run.rate, 1) for run in self.runs],
            "offered_per_second": None if self.offered is None else round(self.offered, 1),
            "unanswered": sum(run.unanswered for run in self.runs),
            "latency": latencies.quantiles(),
            "latency_buckets_ms": latencies.buckets(),
            "cpu_us_per_request": round(statistics.median(cpu), 2) if cpu else None,
            "answer_bytes": [min(run.smallest for run in self.runs), max(run.largest for run in self.runs)],
            "ratio": round(statistics.median(ratios), 3) if ratios else None,
        }


class MatrixRun:
    """Rows over nodes that have the same content."""

    def __init__(self, nodes: Sequence[FilledNode], rows: Sequence[Row], extent: MeasurementPlan) -> None:
        self._nodes, self._rows, self._extent = nodes, rows, extent
        self._random = random.Random(extent.seed)  # noqa: S311 (an order that can be repeated)
        self.missing: dict[tuple[str, str], str] = {}
        """Error message of a node for a row that it does not support, by row and node."""

    def compare(self) -> None:
        """Send every call of every row to every node once. Raise BenchError if results differ.

        A row of which a node does not implement the method, or has an error with another code, is not measured there.
        """
        for row in self._rows:
            answers = {}
            for filled in self._nodes:
                if row.websocket and (why := filled.node.without_websockets()):
                    self.missing[row.name, filled.node.name] = why
                    continue
                try:
                    answers[filled.node.name] = _answers(row, filled)
                except ErrorResponse as error:
                    # The codes of errors are not the same everywhere: hardhat has -32603 for a revert.
                    if not error.unknown_method and row.error_code is None:
                        raise
                    self.missing[row.name, filled.node.name] = str(error)
            _must_agree(row, answers)

    def closed(self, show: ProgressCallback, phase: str = READS) -> list[Cell]:
        """Run the closed loop. `phase` is its name in the progress."""
        plan = [(row, count) for row in self._rows for count in self._extent.connections]
        cells = {
            (row.name, count, filled.node.name): Cell(row.name, "closed", count, filled.node.name)
            for row, count in plan
            for filled in self._having(row)
        }
        done, of = 0, len(cells) * self._extent.repetitions
        for repetition in repetition_names(self._extent.repetitions):
            for row, count in self._random.sample(plan, len(plan)):
                for filled in self._shuffled(row):
                    activity = f"{row.name}, {connections(count)}, {filled.node.name}"
                    show(ProgressUpdate(phase, activity, done, of, repetition))
                    cells[row.name, count, filled.node.name].runs.append(self._run(row, filled, count))
                    done += 1
        show(ProgressUpdate(phase, "", of, of, repetition))
        return list(cells.values())

    def open(self, closed: Sequence[Cell], show: ProgressCallback) -> list[Cell]:
        """Run the open loop, at the same rate for every node."""
        count = max(self._extent.connections)
        reached: dict[str, float] = {}
        for cell in closed:
            if cell.connections == count:
                reached[cell.row] = min(reached.get(cell.row, cell.rate), cell.rate)
        rates = {name: max(1.0, rate * self._extent.open_share) for name, rate in reached.items()}
        rows = [row for row in self._rows if row.name in rates]
        cells = {
            (row.name, filled.node.name): Cell(row.name, "open", count, filled.node.name, [], rates[row.name])
            for row in rows
            for filled in self._having(row)
        }
        done, of = 0, len(cells) * self._extent.repetitions
        for repetition in repetition_names(self._extent.repetitions):
            for row in self._random.sample(rows, len(rows)):
                for filled in self._shuffled(row):
                    activity = f"{row.name} at {rates[row.name]:,.0f} a second, {filled.node.name}"
                    show(ProgressUpdate(OPEN_LOOP, activity, done, of, repetition))
                    run = self._run(row, filled, count, rates[row.name])
                    cells[row.name, filled.node.name].runs.append(run)
                    done += 1
        show(ProgressUpdate(OPEN_LOOP, "", of, of, repetition))
        return list(cells.values())

    def _run(self, row: Row, filled: FilledNode, count: int, rate: float | None = None) -> RunMetrics:
        metrics = filled.node.load(
            row.bodies(filled),
            count,
            self._extent.seconds,
            rate=rate,
            websocket=row.websocket,
            error_code=row.error_code,
        )
        if not metrics.answered:
            raise BenchError(f"{filled.node.name}: {row.name}: not one answer in {self._extent.seconds:g} s")
        return metrics

    def _having(self, row: Row) -> Iterator[FilledNode]:
        return (filled for filled in self._nodes if (row.name, filled.node.name) not in self.missing)

    def _shuffled(self, row: Row) -> list[FilledNode]:
        having = list(self._having(row))
        return self._random.sample(having, len(having))


def connections(count: int) -> str:
    """Return the number of connections in words."""
    return f"{count} connection{'' if count == 1 else 's'}"


def cells_reported(cells: Sequence[Cell], peer: str | None) -> list[dict[str, Any]]:
    """Return the figures of all cells, with their ratios to the peer."""
    peers = {(cell.row, cell.loop, cell.connections): cell for cell in cells if cell.node == peer}
    return [cell.report(peers.get((cell.row, cell.loop, cell.connections))) for cell in cells]


def _answers(row: Row, filled: FilledNode) -> list[Any]:
    calls = row.calls(filled)
    if row.error_code is not None:
        return [_error_code(filled.node, row.error_code, call) for call in calls]
    if row.batch:
        return [row.shown(answer) for answer in filled.node.call_batch(calls)]
    return [row.shown(filled.node.call(method, *params)) for method, params in calls]


def _error_code(node: BenchNode, expected: int, call: BenchCall) -> int:
    method, params = call
    try:
        result = node.call(method, *params)
    except ErrorResponse as error:
        if error.code == expected:
            return expected
        raise
    raise BenchError(f"{node.name}: {method}: {result!r:.300} in place of error {expected}")


def _must_agree(row: Row, answers: dict[str, list[Any]]) -> None:
    names = list(answers)
    for name in names[1:]:
        for ours, theirs in zip(answers[names[0]], answers[name], strict=True):
            if ours != theirs:
                raise BenchError(
                    f"{row.name}: {names[0]} and {name} answer differently: "
                    f"{ours!r:.{_LONGEST_SHOWN}} and {theirs!r:.{_LONGEST_SHOWN}}"
                )
