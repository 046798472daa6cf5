"""Gas per second of every opcode and precompiled contract, next to geth.

Each program loops one opcode or one call of a precompiled contract until its gas is used. `eth_call` of a node runs it,
then `evm run --bench` of geth, round by round. A probe compares the gas of one copy on both sides.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benches.load.launched_node import dev_node
from benches.opcodes.geth_evm import VERSION, EvmError, GethEvm
from benches.opcodes.node_calls import NODE_OPTIONS, NodeCalls
from benches.opcodes.rows import Row
from benches.opcodes.table import all_rows, select

from foreseal.bench.provenance import read_provenance, save

PACKAGES = ("orjson", "uvloop")
GAS, ROUNDS = 50_000_000, 3
MIN_MGAS_S, MIN_RATIO = 60.0, 1.0
_LISTED = 10
SHORT_GAS = 2_000_000
SHORT_ROWS = "ADD small,KECCAK256 1 KiB,SLOAD cold,CALL of a tiny contract,CREATE of 1 KiB,SHA256 1 KiB"


class ProbeError(Exception):
    """One copy of a program does not do the same on both sides, or a precompiled contract rejects its input."""


def measure(rows: Sequence[Row], rounds: int, gas: int, node: NodeCalls, geth: GethEvm | None) -> list[dict[str, Any]]:
    """Return the figures of the rows, measured in turn."""
    found = []
    began = time.monotonic()
    for at, row in enumerate(rows, 1):
        figures = measure_row(row, rounds, gas, node, geth)
        found.append(figures)
        elapsed = time.monotonic() - began
        remaining = elapsed / at * (len(rows) - at)
        progress = f"{at}/{len(rows)}, {elapsed:,.0f} s, about {remaining:,.0f} s left"
        print(f"[{progress}] {line(figures)}", file=sys.stderr, flush=True)
    return found


def measure_row(row: Row, rounds: int, gas: int, node: NodeCalls, geth: GethEvm | None) -> dict[str, Any]:
    """Return the figures of a row; those of geth are None without it."""
    copy_gas = check_probe(row, gas, node, geth)
    ours: list[float] = []
    theirs: list[float] = []
    for _ in range(rounds):
        ours.append(node.time(row, gas))
        if geth is not None:
            theirs.append(geth.time(row, gas))
    ours_mgas_s = gas / statistics.median(ours) / 1e6
    geth_mgas_s = gas / statistics.median(theirs) / 1e6 if theirs else None
    return {
        "name": row.name,
        "subject": row.subject,
        "gas": gas,
        "copy_gas": copy_gas,
        "ours_mgas_s": round(ours_mgas_s, 1),
        "geth_mgas_s": None if geth_mgas_s is None else round(geth_mgas_s, 1),
        "ratio": None if geth_mgas_s is None else round(ours_mgas_s / geth_mgas_s, 3),
    }


def check_probe(row: Row, gas: int, node: NodeCalls, geth: GethEvm | None) -> int:
    """Return the gas of one copy. Raise ProbeError if the sides differ or the body fails."""
    output = node.probe(row, gas)
    copy_gas, returned = int.from_bytes(output[:32]), int.from_bytes(output[32:])
    if geth is not None and (other := geth.probe(row, gas)) != output:
        raise ProbeError(f"{row.name}: one copy returns {output.hex()}, that of geth {other.hex()}")
    if row.returns_data and not returned:
        raise ProbeError(f"{row.name}: the contract rejects its input")
    if copy_gas > gas // 2:
        raise ProbeError(f"{row.name}: one copy uses {copy_gas:,} of {gas:,} gas")
    return copy_gas


def line(figures: dict[str, Any]) -> str:
    """Return the figures of a row as text."""
    text = f"{figures['name']}: {figures['ours_mgas_s']:,.1f} M gas/s"
    if figures["ratio"] is None:
        return text
    return f"{text}, geth {figures['geth_mgas_s']:,.1f}, ratio {figures['ratio']:.2f}"


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
    found = summary(rows)
    by_name = {each["name"]: each for each in rows}
    parts = [*map(line, rows)]
    for title, names in (
        (f"The {len(found['slowest'])} slowest rows:", found["slowest"]),
        (f"Below {MIN_MGAS_S:g} M gas/s: {len(found['below_min_mgas_s'])}", found["below_min_mgas_s"]),
        (f"Below geth: {len(found['below_geth'])}", found["below_geth"]),
    ):
        parts += ["", title, *(f"  {line(by_name[name])}" for name in names)]
    return "\n".join(parts)


def run(rows: Sequence[Row], rounds: int, gas: int, *, use_geth: bool) -> dict[str, Any]:
    """Start a node and measure the rows; without `evm`, or without `use_geth`, only the node."""
    with tempfile.TemporaryDirectory(prefix="foreseal-opcodes-") as name:
        folder = Path(name)
        geth = None
        try:
            geth = GethEvm(folder) if use_geth else None
        except EvmError as error:
            print(f"skipped: figures of geth: {error}", file=sys.stderr)
        with dev_node(folder / "chain", *NODE_OPTIONS) as node:
            calls = NodeCalls(node.port)
            try:
                found = measure(rows, rounds, gas, calls, geth)
            finally:
                calls.close()
    return {"geth": VERSION if geth else None, "gas": gas, "rounds": rounds, "rows": found, **summary(found)}


def main() -> int:
    """Measure, print and save; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(prog="python -m benches.opcodes", description=__doc__)
    parser.add_argument("--rows", metavar="NAMES", help="names of rows or opcodes, separated by commas; default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="measurements of each side; their median counts")
    parser.add_argument("--gas", type=int, default=GAS, help="gas of one run")
    parser.add_argument("--no-geth", action="store_true", help="measure only the node")
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
    origin = read_provenance(command, PACKAGES)
    found = run(rows, given.rounds, given.gas, use_geth=not given.no_geth)
    print(report(found["rows"]))
    if given.save and not given.short:
        save(origin | found, given.save)
    return int(not all(reached in (True, None) for reached in found["reached"].values()))


if __name__ == "__main__":
    sys.exit(main())
