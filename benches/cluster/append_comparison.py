"""Compares the appends that many readers of a feed received."""

from dataclasses import dataclass, field

from benches.cluster.feed_wire import Append


@dataclass
class AppendComparison:
    """Hash of each append, as the first reader had it."""

    hashes: dict[int, bytes] = field(default_factory=dict)
    records: dict[int, bytes] = field(default_factory=dict)
    """Records of each append, to find the transactions in it."""
    compared: int = 0
    different: list[int] = field(default_factory=list)
    """Sequence numbers of appends that two readers have with different hashes."""

    def add(self, append: Append) -> None:
        """Compare an append with that of the first reader."""
        first = self.hashes.setdefault(append.sequence, append.hash)
        self.records.setdefault(append.sequence, append.records)
        self.compared += 1
        if first != append.hash:
            self.different.append(append.sequence)

    def sequence_with(self, raw: bytes, first: int) -> int | None:
        """Return the append from `first` on that has a raw transaction; None if none has it."""
        numbers = (number for number in range(first, max(self.records, default=-1) + 1))
        return next((number for number in numbers if raw in self.records.get(number, b"")), None)
