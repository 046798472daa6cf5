"""Gain of each cache of the core: reads of a node with all caches beside nodes that each lack one.

python -m benches.load.caches [--repetitions N] [--seconds S]
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from benches.load.workers import served

from foreseal.bench.call_matrix import ROWS, BenchCall, Row
from foreseal.bench.chain_content import ContentShape
from foreseal.bench.content_writer import ContentWriter, FilledNode
from foreseal.bench.measurement import MatrixRun, MeasurementPlan, cells_reported
from foreseal.bench.node import BenchNode
from foreseal.bench.progress import ProgressUpdate
from foreseal.bench.provenance import read_provenance, save

RESULT = Path(__file__).parents[1] / "results" / "caches.json"
PACKAGES = ("granian", "orjson", "uvloop")
ALL = "all caches"
OPTIONS = {
    "accounts": "--cache-accounts",
    "slots": "--cache-slots",
    "code": "--cache-code",
    "blocks": "--cache-blocks",
    "step_states": "--cache-step-states",
    "log_json": "--cache-log-json",
    "block_json": "--cache-block-json",
}
SERVED = {
    "accounts": ("nonce latest", "balance", "call", "estimate", "trace"),
    "slots": ("storage", "call", "estimate", "batch of 100 storage reads", "trace"),
    "code": ("call", "estimate", "trace"),
    "blocks": ("block", "receipt", "one receipt", "old block", "trace"),
    "step_states": ("balance at a step", "trace"),
    "log_json": ("logs",),
    "block_json": ("block", "receipts", "old block"),
}
"""Beginnings of the names of the rows that a cache serves: in other rows a ratio is the noise of the measurement."""
NEEDED_GAIN = 1.05
"""A cache whose best row gains less is deleted."""
_SHAPE = ContentShape(blocks=600, dense=20)
_VARIANTS = 16


def _old_blocks(full: bool) -> Row:
    """Return reads of blocks that left memory, in turn."""

    def calls(filled: FilledNode) -> list[BenchCall]:
        return [("eth_getBlockByNumber", [hex(number), full]) for number in range(1, _VARIANTS + 1)]

    return Row(f"old block, {'full' if full else 'hashes'}", calls, lambda block: len(block["transactions"]))


def _steps(filled: FilledNode) -> list[BenchCall]:
    account = "0x" + filled.contents.senders[0].address.hex()
    numbers = range(filled.head - 2 * _VARIANTS, filled.head - _VARIANTS)
    return [("eth_getBalance", [account, {"blockNumber": hex(at), "flashblockIndex": "0x0"}]) for at in numbers]


def _old_transactions(filled: FilledNode) -> list[BenchCall]:
    """Return traces of old transactions, whose blocks and states come from the store."""
    return [("debug_traceTransaction", ["0x" + digest.removeprefix("0x")]) for digest in filled.tokens[:_VARIANTS]]


OWN_ROWS = (
    _old_blocks(full=False),
    _old_blocks(full=True),
    Row("balance at a step", _steps),
    Row("trace", _old_transactions, bool),
)
_READ = ("block", "receipt", "logs", "storage", "nonce latest", "balance", "call", "estimate")


def rows() -> list[Row]:
    """Return the rows of the comparison that read state, blocks or logs, and those of this suite."""
    return [row for row in ROWS if row.name.startswith(_READ) and row.name != "blockNumber"] + list(OWN_ROWS)


def gains(cells: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return, for each cache, its gain in each row that it serves (rate with it / rate without it) and the best row."""
    found: dict[str, dict[str, Any]] = {}
    for name in OPTIONS:
        own = [
            cell for cell in cells if cell["node"] == name and cell["row"].startswith(SERVED[name]) and cell["ratio"]
        ]
        by_row = {cell["row"]: round(1 / cell["ratio"], 3) for cell in own}
        best = max(by_row, key=by_row.__getitem__)
        found[name] = {"best_row": best, "gain": by_row[best], "rows": by_row}
    return found


def main() -> None:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--json", type=Path, default=RESULT)
    given = parser.parse_args()
    extent = MeasurementPlan((16,), given.seconds, given.repetitions)

    def show(update: ProgressUpdate) -> None:
        print(f"\r{update.done}/{update.total} {update.activity:70}", end="", file=sys.stderr, flush=True)

    with ExitStack() as stack:
        filled = []
        for name, options in {ALL: (), **{name: (option, "0") for name, option in OPTIONS.items()}}.items():
            port = stack.enter_context(served("dev", *options))
            filled.append(ContentWriter(BenchNode(name, f"http://127.0.0.1:{port}"), _SHAPE).fill(show))
        matrix = MatrixRun(filled, rows(), extent)
        matrix.compare()
        cells = cells_reported(matrix.closed(show), ALL)
    found = gains(cells)
    print()
    for name, each in found.items():
        verdict = "" if each["gain"] >= NEEDED_GAIN else "  <- under 5 %"
        print(f"{name:12} {each['gain']:6.2f} x in {each['best_row']}{verdict}")
    save({**read_provenance("python -m benches.load.caches", PACKAGES), "gains": found, "reads": cells}, given.json)


if __name__ == "__main__":
    main()
