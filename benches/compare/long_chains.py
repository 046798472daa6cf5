"""The same queries over chains of increasing length: the cost of a response must not grow with unrelated blocks."""

from collections.abc import Sequence
from typing import Any

from foreseal.bench.call_matrix import ROWS
from foreseal.bench.chain_content import ContentShape
from foreseal.bench.content_writer import ContentWriter
from foreseal.bench.errors import BenchError, ErrorResponse
from foreseal.bench.measurement import Cell, MatrixRun, MeasurementPlan
from foreseal.bench.node import BenchNode
from foreseal.bench.plan import expected_filling, expected_run
from foreseal.bench.progress import ProgressCallback, ProgressUpdate

LENGTH_ROWS = (
    "storage",
    "receipts of 100",
    "one receipt",
    "logs: 100 blocks, all",
    "logs: 100 blocks filtered",
    "call",
)
CONTENT_SHAPE = ContentShape(blocks=125, dense=4, every=25)
"""Content on top of the empty blocks."""
MIN_LENGTH = 1_000
"""Blocks of the shortest chain of the command."""
_AT_ONCE = 1_000
_EMPTY_BLOCK = 0.0005
"""Typical seconds of an empty block, until the pace of a phase is measured."""


def measure_lengths(
    node: BenchNode, sizes: Sequence[int], extent: MeasurementPlan, show: ProgressCallback
) -> list[dict[str, Any]]:
    """Measure the queries over 125 blocks with content on top of each number of empty blocks."""
    filling = ContentWriter(node, CONTENT_SHAPE)
    rows = [row for row in ROWS if row.name in LENGTH_ROWS]
    results: list[dict[str, Any]] = []
    for size in sizes:
        phase = lengthening(node.name, size)
        _grow(node, size - CONTENT_SHAPE.blocks, _within(show, phase, 0, 30))
        filled = filling.fill(_within(show, phase, 30, 40))
        matrix = MatrixRun([filled], rows, extent)
        cells = matrix.closed(_within(show, phase, 40, 100))
        results += [{"blocks": filled.head, "resident_mb": node.resident_mb, **_reported(cell)} for cell in cells]
    return _compared(results)


def expected_lengths(nodes: Sequence[BenchNode], sizes: Sequence[int], extent: MeasurementPlan) -> dict[str, float]:
    """Return the expected duration of each phase, in order."""
    reads = len(LENGTH_ROWS) * extent.repetitions * len(extent.connections) * expected_run(extent)
    expected = {}
    for node in nodes:
        before = 0
        for size in sizes:
            filling = (size - before) * _EMPTY_BLOCK + expected_filling(CONTENT_SHAPE)
            expected[lengthening(node.name, size)] = filling + reads
            before = size
    return expected


def lengthening(node: str, blocks: int) -> str:
    """Return the name of the phase that measures a node at this chain length."""
    return f"{node} at {blocks:,} blocks"


def _within(show: ProgressCallback, phase: str, first: int, last: int) -> ProgressCallback:
    """Return a callback for one part of a phase: from `first` to `last` per cent of it."""

    def show_part(update: ProgressUpdate) -> None:
        done = first + (last - first) * update.done // update.total
        show(ProgressUpdate(phase, update.activity or update.phase, done, 100))

    return show_part


def _reported(cell: Cell) -> dict[str, Any]:
    report = cell.report(None)
    names = ("node", "row", "connections", "requests_per_second", "cpu_us_per_request")
    return {name: report[name] for name in names}


def _compared(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add to each figure the ratio of its processor time to that on the shortest chain; None if it is unavailable."""
    shortest: dict[tuple[str, int], float | None] = {}
    for result in results:
        cpu = result["cpu_us_per_request"]
        first = shortest.setdefault((result["row"], result["connections"]), cpu)
        result["cpu_to_shortest"] = round(cpu / first, 2) if cpu and first else None
    return results


def _grow(node: BenchNode, height: int, show: ProgressCallback) -> None:
    """Append empty blocks up to a height."""
    method = _method(node)
    first = head = int(node.call("eth_blockNumber"), 16)
    while head < height:
        node.call(method, hex(min(_AT_ONCE, height - head)))
        head = int(node.call("eth_blockNumber"), 16)
        show(ProgressUpdate("empty blocks", "", head - first, height - first))


def _method(node: BenchNode) -> str:
    for method in ("anvil_mine", "hardhat_mine"):
        try:
            node.call(method, "0x1")
        except ErrorResponse as error:
            if not error.unknown_method:
                raise
        else:
            return method
    raise BenchError(f"{node.name}: it has no method that makes many empty blocks: leave out --scale for it")
