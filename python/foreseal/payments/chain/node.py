"""Node interface that the payment code needs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import orjson

from foreseal.payments.chain.errors import ChainError

T = TypeVar("T")
U = TypeVar("U")

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
    gas_limit: int | None = None
    """Gas limit of the block; None if the node omits it."""


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
    gas_used: int
    logs: tuple[ChainLog, ...]


@dataclass(frozen=True, slots=True)
class ChainTransaction:
    """Call of a transaction that is on the chain or pre-confirmed."""

    target: str | None
    """Called account, with its EIP-55 checksum; None for the creation of a contract."""
    data: bytes


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Filter for logs of one contract, by topics and an inclusive range of blocks.

    At each topic position, None matches any topic and several topics match any one of them.
    """

    address: str
    topics: tuple[tuple[bytes, ...] | None, ...]
    first: BlockTag
    last: BlockTag


@dataclass(frozen=True, slots=True)
class ChainLogPage:
    """Part of the logs of a filter."""

    logs: Sequence[ChainLog]
    cursor: str | None
    """Cursor of the next part; None after the last."""


def _no_recovery(error: ChainError) -> Any:
    raise error


@dataclass(frozen=True, slots=True)
class NodeRequest(Generic[T]):
    """One request."""

    method: str
    params: tuple[object, ...]
    read: Callable[[object], T]
    """Converts the JSON result. Raises `Incomplete` if it lacks a field or has one of the wrong type."""
    recover: Callable[[ChainError], T] = _no_recovery
    """Converts an error of the node to a result, or raises it."""

    def key(self) -> bytes:
        """Return bytes that are equal for equal requests."""
        return self.method.encode() + orjson.dumps(self.params, option=orjson.OPT_SORT_KEYS)

    def map(self, convert: Callable[[T], U]) -> "NodeRequest[U]":
        """Return the request whose result is converted further."""
        read, recover = self.read, self.recover
        return NodeRequest(
            self.method, self.params, lambda answer: convert(read(answer)), lambda error: convert(recover(error))
        )


@dataclass(frozen=True, slots=True)
class SimulatedTransaction:
    """A transaction that is executed without being sent. Fees are in wei per gas."""

    sender: str
    target: str
    data: bytes
    gas: int
    """Gas limit."""
    fee: int
    """maxFeePerGas."""
    priority_fee: int
    """maxPriorityFeePerGas."""
    code: bytes | None = None
    """Code that the target has in the simulation, in place of its own."""


class ChainNode(Protocol):
    """An Ethereum node. Every method may raise `NoResponse`, `RejectedByNode` and `Incomplete`."""

    def execute(self, request: NodeRequest[T]) -> T:
        """Return the result of a request (`chain.node_requests`)."""
        ...

    def batch(self, requests: Sequence[NodeRequest[Any]]) -> list[Any]:
        """Return the result of each request, or the `ChainError` that it failed with; a batch raises nothing."""
        ...

    def for_party(self, party: str) -> "ChainNode":
        """Return the node for calls whose cost the code of a stranger's account decides (`chain.stranger_calls`)."""
        ...

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
