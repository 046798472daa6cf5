"""Gas per second of every opcode and precompiled contract, next to geth.

Each program loops one opcode or one call of a precompiled contract until its gas is used. `eth_call` of a node runs it,
then `evm run --bench` of geth, round by round. A probe compares the gas of one copy on both sides.
"""

import argparse
import shlex
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.load.launched_node import dev_node
from benches.opcodes.geth_evm import VERSION, EvmError, GethEvm
from benches.opcodes.measurement import MIN_MGAS_S, MIN_RATIO, Measurement, line
from benches.opcodes.node_calls import NODE_OPTIONS, NodeCalls
from benches.opcodes.rows import Row
from benches.opcodes.table import all_rows, select
from benches.result_file import save

from foreseal.bench.provenance import read_provenance

PACKAGES = ("orjson", "uvloop")
GAS, ROUNDS = 50_000_000, 3
_LISTED = 10
SHORT_GAS = 2_000_000
SHORT_ROWS = "ADD small,KECCAK256 1 KiB,SLOAD cold,CALL of a tiny contract,CREATE of 1 KiB,SHA256 1 KiB"


def summary(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the slowest rows, and the names of those that miss a target."""
    slowest = sorted(rows, key=lambda each: each["ours_mgas_s"])
    compared = [each for each in rows if each["ratio"] is not None]
    below = sorted((each for each in compared if each["ratio"] < MIN_RATIO), key=lambda each: each["ratio"])
    return {
        "slowest": [each["name"] for each in slowest[:_LISTED]],
        "below_min_mgas_s": [each["name"] for each in slowest if each["ours_mgas_s"] < MIN_MGAS_S],
        "below_geth": [each["name"] for each in below],
        "reached": {
            "mgas_s": slowest[0]["ours_mgas_s"] >= MIN_MGAS_S,
            "ratio": not below if compared else None,
        },
    }


def report(rows: Sequence[dict[str, Any]]) -> str:
    """Return all rows, then the slowest and those below geth."""
    figures = summary(rows)
    by_name = {each["name"]: each for each in rows}
    parts = [*map(line, rows)]
    for title, names in (
        ("Slowest rows:", figures["slowest"]),
        (f"Below {MIN_MGAS_S:g} M gas/s: {len(figures['below_min_mgas_s'])}", figures["below_min_mgas_s"]),
        (f"Below geth: {len(figures['below_geth'])}", figures["below_geth"]),
    ):
        parts += ["", title, *(f"  {line(by_name[name])}" for name in names)]
    return "\n".join(parts)


def run(rows: Sequence[Row], given: argparse.Namespace) -> dict[str, Any]:
    """Start a node and measure the rows; without `evm`, or with `no_geth`, only the node."""
    with tempfile.TemporaryDirectory(prefix="foreseal-opcodes-") as name:
        folder = Path(name)
        geth = None
        try:
            geth = None if given.no_geth else GethEvm(folder)
        except EvmError as error:
            print(f"skipped: figures of geth: {error}", file=sys.stderr)
        with dev_node(folder / "chain", *NODE_OPTIONS) as node:
            calls = NodeCalls(node.port, node.usage.cpu if given.processor_time else time.perf_counter)
            try:
                measurements = Measurement(calls, geth, given.rounds, given.gas, given.processor_time).measure(rows)
            finally:
                calls.close()
    figures = {"geth": VERSION if geth else None, "gas": given.gas, "rounds": given.rounds, "rows": measurements}
    return figures | summary(measurements)


def main() -> int:
    """Measure, print and save; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benches.opcodes", description=__doc__)
    parser.add_argument("--rows", metavar="NAMES", help="names of rows or opcodes, separated by commas; default: all")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="measurements of a row, whose median counts; one if it is clear"
    )
    parser.add_argument("--gas", type=int, default=GAS, help="gas of one run")
    parser.add_argument("--no-geth", action="store_true", help="measure only the node")
    parser.add_argument(
        "--processor-time", action="store_true", help="rough figures for a busy machine, which are not saved"
    )
    parser.add_argument("--short", action="store_true", help="six rows, one round, 2,000,000 gas; saves nothing")
    parser.add_argument("--save", type=Path, help="result file")
    given = parser.parse_args()
    if given.short:
        given.rows, given.rounds, given.gas = given.rows or SHORT_ROWS, 1, SHORT_GAS
    try:
        rows = select(all_rows(), given.rows) if given.rows else all_rows()
    except ValueError as error:
        parser.error(str(error))
    command = f"python -m benches.opcodes --rounds {given.rounds} --gas {given.gas}"
    if given.rows:
        command += f" --rows {shlex.quote(given.rows)}"
    origin = read_provenance(command, PACKAGES)
    figures = run(rows, given)
    print(report(figures["rows"]))
    if given.save and not given.short and not given.processor_time:
        save(origin | figures, given.save)
    return int(not all(reached in (True, None) for reached in figures["reached"].values()))


if __name__ == "__main__":
    sys.exit(main())
