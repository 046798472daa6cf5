"""Figures of rows: the node and geth in turn, after a probe of one copy."""

import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benches.opcodes.geth_evm import GethEvm
from benches.opcodes.node_calls import NodeCalls
from benches.opcodes.rows import Row

MIN_MGAS_S, MIN_RATIO = 60.0, 1.0
"""Targets of every row."""
# A row that exceeds both targets by this factor in its first round is not measured again.
_CLEAR = 1.5


class ProbeError(Exception):
    """One copy of a program does not do the same on both sides, or a precompiled contract rejects its input."""


@dataclass(frozen=True)
class Measurement:
    """A node and geth, with the gas of one run and the maximum number of runs whose median counts."""

    node: NodeCalls
    geth: GethEvm | None
    rounds: int
    gas: int
    is_processor_time: bool = False
    """`True` if the figures of geth are of processor time; the clock of the node's calls is its own."""

    def measure(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Return the figures of the rows, measured in turn."""
        measurements = []
        began = time.monotonic()
        for at, row in enumerate(rows, 1):
            figures = self.measure_row(row)
            measurements.append(figures)
            elapsed = time.monotonic() - began
            remaining = elapsed / at * (len(rows) - at)
            progress = f"{at}/{len(rows)}, {elapsed:,.0f} s, about {remaining:,.0f} s left"
            print(f"[{progress}] {line(figures)}", file=sys.stderr, flush=True)
        return measurements

    def measure_row(self, row: Row) -> dict[str, Any]:
        """Return the figures of a row; those of geth are None without it."""
        copy_gas = self.check_probe(row)
        ours: list[float] = []
        theirs: list[float] = []
        for _ in range(self.rounds):
            ours.append(self.node.time(row, self.gas))
            if self.geth is not None:
                run = self.geth.processor_time if self.is_processor_time else self.geth.time
                theirs.append(run(row, self.gas))
            if len(ours) == 1 and self._is_clear(ours[0], theirs):
                break
        ours_mgas_s = self.gas / statistics.median(ours) / 1e6
        geth_mgas_s = self.gas / statistics.median(theirs) / 1e6 if theirs else None
        return {
            "name": row.name,
            "subject": row.subject,
            "gas": self.gas,
            "rounds": len(ours),
            "copy_gas": copy_gas,
            "ours_mgas_s": round(ours_mgas_s, 1),
            "geth_mgas_s": None if geth_mgas_s is None else round(geth_mgas_s, 1),
            "ratio": None if geth_mgas_s is None else round(ours_mgas_s / geth_mgas_s, 3),
        }

    def _is_clear(self, ours: float, theirs: Sequence[float]) -> bool:
        """Return True if a first round, in seconds, is far beyond both targets."""
        is_fast = self.gas / ours / 1e6 >= _CLEAR * MIN_MGAS_S
        return is_fast and (not theirs or theirs[0] / ours >= _CLEAR * MIN_RATIO)

    def check_probe(self, row: Row) -> int:
        """Return the gas of one copy. Raise ProbeError if the sides differ or the body fails."""
        output = self.node.probe(row, self.gas)
        copy_gas, returned = int.from_bytes(output[:32]), int.from_bytes(output[32:])
        if self.geth is not None and (other := self.geth.probe(row, self.gas)) != output:
            raise ProbeError(f"{row.name}: one copy returns {output.hex()}, that of geth {other.hex()}")
        if row.returns_data and not returned:
            raise ProbeError(f"{row.name}: the contract rejects its input")
        if copy_gas > self.gas // 2:
            raise ProbeError(f"{row.name}: one copy uses {copy_gas:,} of {self.gas:,} gas")
        return copy_gas


def line(figures: dict[str, Any]) -> str:
    """Return the figures of a row as text."""
    text = f"{figures['name']}: {figures['ours_mgas_s']:,.1f} M gas/s"
    if figures["ratio"] is None:
        return text
    return f"{text}, geth {figures['geth_mgas_s']:,.1f}, ratio {figures['ratio']:.2f}"
