"""What payments ask of a node, whichever it is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

Block = int | str
"""A block's number, or pending, latest, safe or finalized."""


@dataclass(frozen=True, slots=True)
class Head:
    """A block, or the one being built."""

    number: int
    hash: str
    """Of a block being built it says nothing."""
    timestamp: int
    """Seconds since 1970."""
    base_fee: int
    """Wei per gas; 0 on chains without EIP-1559."""


@dataclass(frozen=True, slots=True)
class Log:
    """An event of a contract. The address has its checksum."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block_number: int
    block_hash: str
    transaction_hash: str
    log_index: int
    """Position in the block."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a transaction did."""

    transaction_hash: str
    block_number: int
    block_hash: str
    succeeded: bool
    logs: tuple[Log, ...]


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which logs: of a contract, by topics; None is any, several are any of them. Blocks are included."""

    address: str
    topics: tuple[tuple[bytes, ...] | None, ...]
    first: Block
    last: Block


class Node(Protocol):
    """A node. Every method may raise `Unanswered`, `Refused` and `Incomplete`."""

    def chain_id(self) -> int:
        """The chain's number (EIP-155)."""
        ...

    def head(self, block: Block) -> Head | None:
        """A block; None if there is none, also where the node does not know a name like finalized."""
        ...

    def logs(self, wanted: LogFilter) -> Sequence[Log]:
        """Logs on the chain, those of a reorganised block not among them."""
        ...

    def receipt(self, hash: str) -> Receipt | None:
        """Receipt of a transaction that is on the chain, or pre-confirmed."""
        ...

    def transaction_count(self, address: str, block: Block) -> int:
        """The next account nonce as of a block."""
        ...

    def code(self, address: str, block: Block) -> bytes:
        """The code of a contract; empty where there is none."""
        ...

    def call(self, to: str, data: bytes, block: Block, sender: str | None = None) -> bytes:
        """What a call returns, made by `sender` or by nobody. Raises `Reverted`."""
        ...

    def estimate_gas(self, sender: str, to: str, data: bytes, block: Block) -> int:
        """Gas that suffices. Raises `Reverted`."""
        ...

    def priority_fee(self) -> int:
        """Wei per gas that get a transaction in."""
        ...

    def send(self, raw: bytes) -> None:
        """Hand a signed transaction over; one that the node has already is success. Raises also `NonceTooLow` and
        `Underpriced`."""
        ...
