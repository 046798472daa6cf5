"""Requests by method: what a client executes, alone or several in a batch.

Amounts are wei, blocks a number, a name, a hash, a place or a position. Each function raises TypeError or ValueError,
naming the argument, for what cannot be sent.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foreseal._core import keccak, rlp_decode, rlp_encode
from foreseal.client import pages
from foreseal.client.blocks import Block
from foreseal.client.flashblocks import FlashblockPage
from foreseal.client.pages import LogPage
from foreseal.client.place import Place
from foreseal.client.requests import BlockId, Hex, Request, argument, block_hash, block_id, call_object, data
from foreseal.client.shapes import many, nullable, quantity, text
from foreseal.client.status import Status
from foreseal.client.transactions import Receipt, Transaction, TransactionStatus
from foreseal.errors import RpcError

# What a node says of a transaction that it had before.
_HAD_BEFORE = frozenset({"already known", "nonce too low"})
# The type byte of a transaction with blobs.
_BLOB = b"\x03"


def request(method: str, *params: Any) -> Request[Any]:
    """Any method: its result as JSON has it. Parameters are JSON too, bytes become 0x text. It is never repeated."""
    return Request(method, tuple(map(_plain, params)), lambda value: value, repeatable=False)


def _plain(value: Any) -> Any:
    return data(value) if isinstance(value, bytes | bytearray) else value


def chain_id() -> Request[int]:
    """The chain's number (EIP-155)."""
    return Request("eth_chainId", (), quantity)


def block_number() -> Request[int]:
    """Number of the newest sealed block."""
    return Request("eth_blockNumber", (), quantity)


def status() -> Request[Status]:
    """How far the node is, and how fresh."""
    return Request("foreseal_status", (), Status.read)


def get_block(block: BlockId = "latest", full: bool = False) -> Request[Block | None]:
    """A block, with its transactions if `full`; None if there is none."""
    named = block_hash(block)
    if named is not None:
        return Request("eth_getBlockByHash", (named, full), nullable(Block.read))
    return Request("eth_getBlockByNumber", (block_id(block), full), nullable(Block.read))


def get_block_receipts(block: BlockId = "latest") -> Request[tuple[Receipt, ...] | None]:
    """Receipts of all transactions of a block; None if there is none."""
    return Request("eth_getBlockReceipts", (block_id(block),), nullable(many(Receipt.read)))


def get_transaction(hash: Hex) -> Request[Transaction | None]:
    """A transaction in the pool or in a block; None if it is in neither."""
    return Request("eth_getTransactionByHash", (data(hash),), nullable(Transaction.read))


def get_receipt(hash: Hex) -> Request[Receipt | None]:
    """The receipt of a transaction, as soon as it is pre-confirmed; None before."""
    return Request("eth_getTransactionReceipt", (data(hash),), nullable(Receipt.read))


def transaction_status(hash: Hex) -> Request[TransactionStatus]:
    """Where a submitted transaction stands, from the pool to a sealed block."""
    return Request("foreseal_transactionStatus", (data(hash),), TransactionStatus.read)


def get_preconfirmation(hash: Hex) -> Request[dict[str, Any] | None]:
    """The signed receipt of a pre-confirmation, as JSON has it; None while there is none.

    It is for `foreseal.preconfirmation`, which checks it without a node, and to be kept.
    """
    return Request("foreseal_preconfirmation", (data(hash),), nullable(dict))


def get_balance(address: Hex, block: BlockId = "latest") -> Request[int]:
    """Wei of an account."""
    return Request("eth_getBalance", (data(address), block_id(block)), quantity)


def get_transaction_count(address: Hex, block: BlockId = "latest") -> Request[int]:
    """The next nonce of an account; on `pending` what is pre-confirmed or waits in the pool counts."""
    return Request("eth_getTransactionCount", (data(address), block_id(block)), quantity)


def get_code(address: Hex, block: BlockId = "latest") -> Request[str]:
    """Code of a contract, 0x for none."""
    return Request("eth_getCode", (data(address), block_id(block)), text)


def get_storage_at(address: Hex, position: int, block: BlockId = "latest") -> Request[str]:
    """A word of a contract's storage."""
    return Request("eth_getStorageAt", (data(address), hex(position), block_id(block)), text)


def call(
    transaction: Mapping[str, Any], block: BlockId = "latest", overrides: Mapping[str, Any] | None = None
) -> Request[str]:
    """What a call would return. The fields are JSON-RPC's (`to`, `data`, `from`, `value` ...), numbers as numbers.

    `overrides` are state overrides by address. A revert is an `RpcError` of code 3 with the returned bytes as data.
    """
    return Request("eth_call", _on_state(transaction, block, overrides), text)


def estimate_gas(
    transaction: Mapping[str, Any], block: BlockId = "latest", overrides: Mapping[str, Any] | None = None
) -> Request[int]:
    """Gas that suffices for a transaction; fields as for `call`."""
    return Request("eth_estimateGas", _on_state(transaction, block, overrides), quantity)


def _on_state(transaction: Mapping[str, Any], block: BlockId, overrides: Mapping[str, Any] | None) -> tuple[Any, ...]:
    params: tuple[Any, ...] = (call_object(transaction), block_id(block))
    return params if overrides is None else (*params, argument(overrides))


def gas_price() -> Request[int]:
    """Wei per gas that the next block takes."""
    return Request("eth_gasPrice", (), quantity)


def max_priority_fee_per_gas() -> Request[int]:
    """A tip that is likely to do, wei per gas."""
    return Request("eth_maxPriorityFeePerGas", (), quantity)


def blob_base_fee() -> Request[int]:
    """Wei per blob gas of the block being built."""
    return Request("eth_blobBaseFee", (), quantity)


def send_raw_transaction(raw: Hex) -> Request[str]:
    """Submit a signed transaction; its hash.

    It may be repeated: where the answer to an attempt was lost, and the next one is told that the node had the
    transaction before, that is success.
    """
    hash = transaction_hash(raw)
    return Request("eth_sendRawTransaction", (data(raw),), text, after_loss=_taken_before(hash))


def send_raw_transaction_sync(raw: Hex, timeout: float | None = None) -> Request[Receipt]:
    """Submit a signed transaction and wait for its receipt (EIP-7966), by default 2 seconds; it may be repeated.

    `RpcError` of code 4: it is in the pool, but was not executed in time; 5: it cannot be executed; 6: nonce gap.
    """
    milliseconds = None if timeout is None else round(timeout * 1000)
    params = (data(raw),) if milliseconds is None else (data(raw), milliseconds)
    return Request("eth_sendRawTransactionSync", params, Receipt.read, extra=timeout or 2.0)


def transaction_hash(raw: Hex) -> str:
    """The hash of a signed transaction: of its bytes, without the blobs that travel beside it (EIP-4844)."""
    given = bytes.fromhex(raw.removeprefix("0x")) if isinstance(raw, str) else bytes(raw)
    if given[:1] == _BLOB:
        try:
            wrapped = rlp_decode(given[1:])
        except ValueError:
            wrapped = []
        if wrapped and isinstance(wrapped[0], list):
            inner: Any = wrapped[0]
            given = _BLOB + rlp_encode(inner)
    return "0x" + keccak(given).hex()


def _taken_before(hash: str) -> Callable[[RpcError], Request[str | None] | None]:
    """Whether a submission that failed after a lost one failed because that one had worked."""
    looking = Request("eth_getTransactionByHash", (hash,), lambda found: None if found is None else hash)
    return lambda error: looking if error.message in _HAD_BEFORE else None


def get_flashblocks(cursor: Place | None = None, limit: int = 100) -> Request[FlashblockPage]:
    """The steps after a place, undone ones first; None: an empty page whose cursor is the newest step."""
    return pages.flashblocks_request(cursor, limit, FlashblockPage.read)


def get_logs_page(
    from_block: BlockId | None = None,
    to_block: BlockId | None = None,
    address: Hex | Sequence[Hex] | None = None,
    topics: Sequence[Hex | Sequence[Hex] | None] | None = None,
    *,
    cursor: str | None = None,
    limit: int | None = None,
) -> Request[LogPage]:
    """A page of logs, those with `removed` first, and the cursor of the next one (docs/logs.md)."""
    return pages.logs_request(pages.log_filter(from_block, to_block, address, topics, None), cursor, limit)
