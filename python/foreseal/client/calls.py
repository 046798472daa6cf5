"""Requests by method; a client executes them alone or in a batch.

Amounts are in wei. A block is a number, a tag, a hash, a `Cursor` or a `Position`. Each function raises TypeError or
ValueError for invalid input and names the argument.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from foreseal._core import keccak, rlp_decode, rlp_encode
from foreseal.client import pagination
from foreseal.client.blocks import Block
from foreseal.client.json_model import many, nullable, quantity, text
from foreseal.client.pagination import LogPage
from foreseal.client.requests import BlockId, Hex, Request, argument, block_hash, block_id, call_object, data
from foreseal.client.status import Status
from foreseal.client.transactions import Receipt, Transaction, TransactionStatus
from foreseal.errors import RpcError

# Error messages of a node for a transaction that it already has.
_HAD_BEFORE = frozenset({"already known", "nonce too low"})
# Type byte of a blob transaction (EIP-4844).
_BLOB = b"\x03"


def request(method: str, *params: Any) -> Request[Any]:
    """Call any method and return its result as plain JSON. It is never retried.

    Parameters are JSON as well; bytes become 0x text.
    """
    return Request(method, tuple(map(_plain, params)), lambda value: value, repeatable=False)


def _plain(value: Any) -> Any:
    return data(value) if isinstance(value, bytes | bytearray) else value


def chain_id() -> Request[int]:
    """Return the chain ID (EIP-155)."""
    return Request("eth_chainId", (), quantity)


def block_number() -> Request[int]:
    """Return the number of the newest sealed block."""
    return Request("eth_blockNumber", (), quantity)


def status() -> Request[Status]:
    """Return the node's progress and freshness."""
    return Request("foreseal_status", (), Status.read)


def get_block(block: BlockId = "latest", full: bool = False) -> Request[Block | None]:
    """Return a block, with its transactions if `full`; None if it does not exist."""
    named = block_hash(block)
    if named is not None:
        return Request("eth_getBlockByHash", (named, full), nullable(Block.read))
    return Request("eth_getBlockByNumber", (block_id(block), full), nullable(Block.read))


def get_block_receipts(block: BlockId = "latest") -> Request[tuple[Receipt, ...] | None]:
    """Return the receipts of all transactions of a block; None if the block does not exist."""
    return Request("eth_getBlockReceipts", (block_id(block),), nullable(many(Receipt.read)))


def get_transaction(hash: Hex) -> Request[Transaction | None]:
    """Return a transaction from the pool or a block; None if it is in neither."""
    return Request("eth_getTransactionByHash", (data(hash),), nullable(Transaction.read))


def get_receipt(hash: Hex) -> Request[Receipt | None]:
    """Return the receipt of a transaction, available once it is pre-confirmed; None before."""
    return Request("eth_getTransactionReceipt", (data(hash),), nullable(Receipt.read))


def transaction_status(hash: Hex) -> Request[TransactionStatus]:
    """Return the status of a submitted transaction, from the pool to a sealed block."""
    return Request("foreseal_transactionStatus", (data(hash),), TransactionStatus.read)


def get_preconfirmation(hash: Hex) -> Request[dict[str, Any] | None]:
    """Return the signed receipt of a pre-confirmation as plain JSON; None while there is none.

    Store it as evidence; `foreseal.preconfirmation` verifies it without a node.
    """
    return Request("foreseal_preconfirmation", (data(hash),), nullable(dict))


def get_balance(address: Hex, block: BlockId = "latest") -> Request[int]:
    """Return the balance of an account in wei."""
    return Request("eth_getBalance", (data(address), block_id(block)), quantity)


def get_transaction_count(address: Hex, block: BlockId = "latest") -> Request[int]:
    """Return the next nonce of an account; `pending` counts pre-confirmed and pooled transactions."""
    return Request("eth_getTransactionCount", (data(address), block_id(block)), quantity)


def get_code(address: Hex, block: BlockId = "latest") -> Request[str]:
    """Return the code of a contract, 0x if there is none."""
    return Request("eth_getCode", (data(address), block_id(block)), text)


def get_storage_at(address: Hex, position: int, block: BlockId = "latest") -> Request[str]:
    """Return a 32-byte word of a contract's storage."""
    return Request("eth_getStorageAt", (data(address), hex(position), block_id(block)), text)


def call(
    transaction: Mapping[str, Any], block: BlockId = "latest", overrides: Mapping[str, Any] | None = None
) -> Request[str]:
    """Execute a call and return its output.

    Fields are those of JSON-RPC (`to`, `data`, `from` ...), with plain numbers.

    `overrides` are state overrides by address. A revert raises an `RpcError` of code 3, with the returned bytes as
    data.
    """
    return Request("eth_call", _on_state(transaction, block, overrides), text)


def estimate_gas(
    transaction: Mapping[str, Any], block: BlockId = "latest", overrides: Mapping[str, Any] | None = None
) -> Request[int]:
    """Return sufficient gas for a transaction; fields as for `call`."""
    return Request("eth_estimateGas", _on_state(transaction, block, overrides), quantity)


def _on_state(transaction: Mapping[str, Any], block: BlockId, overrides: Mapping[str, Any] | None) -> tuple[Any, ...]:
    params: tuple[Any, ...] = (call_object(transaction), block_id(block))
    return params if overrides is None else (*params, argument(overrides))


def gas_price() -> Request[int]:
    """Return the gas price for the next block, in wei per gas."""
    return Request("eth_gasPrice", (), quantity)


def max_priority_fee_per_gas() -> Request[int]:
    """Return a priority fee that is likely to suffice, in wei per gas."""
    return Request("eth_maxPriorityFeePerGas", (), quantity)


def blob_base_fee() -> Request[int]:
    """Return the blob base fee of the block being built, in wei per blob gas."""
    return Request("eth_blobBaseFee", (), quantity)


def send_raw_transaction(raw: Hex) -> Request[str]:
    """Submit a signed transaction and return its hash.

    The submission is safe to retry: if the response to an attempt is lost and the node reports the transaction as
    already known on the next attempt, the call succeeds.
    """
    hash = transaction_hash(raw)
    return Request("eth_sendRawTransaction", (data(raw),), text, after_loss=_submitted_before(hash))


def send_raw_transaction_sync(raw: Hex, timeout: float | None = None) -> Request[Receipt]:
    """Submit a signed transaction and return its receipt (EIP-7966), within 2 seconds by default. Safe to retry.

    `RpcError` of code 4: it is in the pool, but was not executed in time; 5: it cannot be executed; 6: nonce gap.
    """
    milliseconds = None if timeout is None else round(timeout * 1000)
    params = (data(raw),) if milliseconds is None else (data(raw), milliseconds)
    return Request("eth_sendRawTransactionSync", params, Receipt.read, extra=timeout or 2.0)


def transaction_hash(raw: Hex) -> str:
    """Return the hash of a signed transaction, computed without its blob sidecar (EIP-4844)."""
    encoded = bytes.fromhex(raw.removeprefix("0x")) if isinstance(raw, str) else bytes(raw)
    if encoded[:1] == _BLOB:
        try:
            wrapped = rlp_decode(encoded[1:])
        except ValueError:
            wrapped = []
        if wrapped and isinstance(wrapped[0], list):
            inner: Any = wrapped[0]
            encoded = _BLOB + rlp_encode(inner)
    return "0x" + keccak(encoded).hex()


def _submitted_before(hash: str) -> Callable[[RpcError], Request[str | None] | None]:
    """Return a check whether a submission failed because an earlier attempt succeeded but its response was lost."""
    looking = Request("eth_getTransactionByHash", (hash,), lambda transaction: None if transaction is None else hash)
    return lambda error: looking if error.message in _HAD_BEFORE else None


def get_logs_page(
    from_block: BlockId | None = None,
    to_block: BlockId | None = None,
    address: Hex | Sequence[Hex] | None = None,
    topics: Sequence[Hex | Sequence[Hex] | None] | None = None,
    *,
    cursor: str | None = None,
    limit: int | None = None,
) -> Request[LogPage]:
    """Return a page of logs, with `removed` ones first, and the cursor of the next page (docs/build/logs.md)."""
    return pagination.logs_request(pagination.log_filter(from_block, to_block, address, topics, None), cursor, limit)
