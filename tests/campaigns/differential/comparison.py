"""Result of a comparison of two nodes."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Comparison:
    """Compared items, and the differences."""

    seed: int
    transactions: int = 0
    blocks: int = 0
    gas: int = 0
    types: Counter[str] = field(default_factory=Counter)
    """Transactions by type (EIP-2718)."""
    statuses: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    """Transactions by kind, see workload.py."""
    refused: Counter[str] = field(default_factory=Counter)
    """Transactions that the pool rejected."""
    compared: Counter[str] = field(default_factory=Counter)
    """Number of other compared items, by kind."""
    faults: list[str] = field(default_factory=list)
    """Unexpected differences."""

    def __str__(self) -> str:
        types = ", ".join(f"{count} of type {kind}" for kind, count in sorted(self.types.items()))
        others = "".join(f", {count} {name}" for name, count in sorted(self.compared.items()))
        return (
            f"seed {self.seed}: {self.transactions} transactions ({types}; {self.statuses['0x0']} failed) in "
            f"{self.blocks} blocks, {self.gas} gas{others}: {len(self.faults)} differences"
        )

    def count(self, block: dict[str, Any], receipts: list[dict[str, Any]]) -> None:
        """Count a block and its receipts."""
        self.blocks += 1
        self.transactions += len(receipts)
        self.gas += int(block["gasUsed"], 16)
        self.types.update(receipt["type"] for receipt in receipts)
        self.statuses.update(receipt["status"] for receipt in receipts)
        self.compared["logs"] += sum(len(receipt["logs"]) for receipt in receipts)
