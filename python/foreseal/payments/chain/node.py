"""Node interface that the payment code needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

BlockTag = int | str
"""A block number, or `pending`, `latest`, `safe` or `finalized`."""


@dataclass(frozen=True, slots=True)
class BlockHead:
    """Header fields of a block, or of the pending block."""

    number: int
    hash: str
    """Block hash. Meaningless for the pending block."""
    timestamp: int
    """Unix time in seconds."""
    base_fee: int
    """Wei per gas; 0 on chains without EIP-1559."""


@dataclass(frozen=True, slots=True)
class ChainLog:
    """An event log. The address has its EIP-55 checksum."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes
    block_number: int
    block_hash: str
    transaction_hash: str
    log_index: int
    """Position in the block."""


@dataclass(frozen=True, slots=True)
class ChainReceipt:
    """Result of a transaction."""

    transaction_hash: str
    block_number: int
    block_hash: str
    succeeded: bool
    logs: tuple[ChainLog, ...]


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Filter for logs of one contract, by topics and an inclusive range of blocks.

    At each topic position, None matches any topic and several topics match any one of them.
    """

    address: str
    topics: tuple[tuple[bytes, ...] | None, ...]
    first: BlockTag
    last: BlockTag


class ChainNode(Protocol):
    """An Ethereum node. Every method may raise `NoResponse`, `RejectedByNode` and `Incomplete`."""

    def chain_id(self) -> int:
        """Return the chain id (EIP-155)."""
        ...

    def head(self, block: BlockTag) -> BlockHead | None:
        """Return a block's head. None if the block does not exist, or if the node lacks a tag such as `finalized`."""
        ...

    def logs(self, log_filter: LogFilter) -> Sequence[ChainLog]:
        """Return logs on the canonical chain, without those of reorganized blocks."""
        ...

    def receipt(self, hash: str) -> ChainReceipt | None:
        """Return the receipt of a transaction that is on the chain or pre-confirmed, else None."""
        ...

    def transaction_count(self, address: str, block: BlockTag) -> int:
        """Return the next account nonce as of a block."""
        ...

    def code(self, address: str, block: BlockTag) -> bytes:
        """Return the code of a contract; empty if the address has none."""
        ...

    def call(self, to: str, data: bytes, block: BlockTag, sender: str | None = None) -> bytes:
        """Return the output of a call, sent by `sender` if given. Raises `Reverted`."""
        ...

    def estimate_gas(self, sender: str, to: str, data: bytes, block: BlockTag) -> int:
        """Return a sufficient gas limit. Raises `Reverted`."""
        ...

    def priority_fee(self) -> int:
        """Return a priority fee, in wei per gas, that gets a transaction included."""
        ...

    def send(self, raw: bytes) -> None:
        """Send a signed transaction. A transaction that the node already has counts as success.

        Also raises `NonceTooLow` and `Underpriced`.
        """
        ...
