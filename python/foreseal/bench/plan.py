"""Parameters of a benchmark, their form in the report, and the expected durations of the phases."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from foreseal.bench import progress
from foreseal.bench.call_matrix import ROWS, Row
from foreseal.bench.chain_content import ContentShape
from foreseal.bench.measurement import MeasurementPlan
from foreseal.bench.throughput import KINDS

PHASES = ("reads", "open", "send", "visible", "fanout", "restart")
# Typical seconds of a development node, until the pace of a phase is measured.
_BLOCK, _TRANSACTION, _TRANSFER = 0.004, 0.0002, 0.05
_VISIBLE, _RUN, _FANOUT = 0.15, 0.1, 6.0


@dataclass(frozen=True)
class BenchmarkPlan:
    """Parameters of a benchmark."""

    shape: ContentShape = field(default_factory=ContentShape)
    extent: MeasurementPlan = field(default_factory=MeasurementPlan)
    rows: tuple[Row, ...] = tuple(ROWS)
    phases: frozenset[str] = frozenset(PHASES)
    transactions: int = 20_000
    """Transactions per kind of submission."""
    samples: int = 100
    """Transactions whose visibility is measured."""
    subscribers: int = 500
    notifications: int = 60
    """Blocks with one log each; every subscriber gets a notification of each."""
    peer: str | None = None

    @property
    def has_reads(self) -> bool:
        """Return True if the closed loop runs; the rates of the open loop follow from it."""
        return bool(self.phases & {"reads", "open"})


def describe_plan(plan: BenchmarkPlan) -> dict[str, Any]:
    """Return the parameters in the form of the report."""
    shape, extent = asdict(plan.shape), asdict(plan.extent)
    more = {name: getattr(plan, name) for name in ("transactions", "samples", "subscribers", "notifications")}
    return {"shape": shape, "extent": extent | more, "phases": sorted(plan.phases), "peer": plan.peer}


def expected_filling(shape: ContentShape) -> float:
    """Return the expected seconds until a node has this content."""
    return shape.blocks * _BLOCK


def expected_run(extent: MeasurementPlan) -> float:
    """Return the expected seconds of one run."""
    return extent.seconds + _RUN


def expected_seconds(plan: BenchmarkPlan, nodes: Sequence[str], restarted: Sequence[str]) -> dict[str, float]:
    """Return the expected duration of each phase, in order. `restarted` are the nodes that persist their chain."""
    extent = plan.extent
    run, loads = expected_run(extent), len(extent.connections)
    expected = {progress.GENERATOR: 2 * loads * run}
    expected |= {progress.filling(node): expected_filling(plan.shape) for node in nodes}
    reads = len(plan.rows) * extent.repetitions * run
    if plan.has_reads:
        expected[progress.READS] = reads * loads * len(nodes)
    if "open" in plan.phases:
        expected[progress.OPEN_LOOP] = reads * len(nodes)
    if "restart" in plan.phases and plan.has_reads and restarted:
        expected[progress.RESTARTED] = reads * loads * len(restarted)
    if "send" in plan.phases:
        expected[progress.SENDS] = len(KINDS) * len(nodes) * extent.repetitions * (plan.transactions * _TRANSACTION + 1)
    for node in nodes:
        if "visible" in plan.phases:
            expected[progress.visible_on(node)] = plan.samples * _VISIBLE
        if "fanout" in plan.phases:
            expected[progress.fanout_of(node)] = 2 * plan.notifications * _TRANSFER + _FANOUT
    return expected
