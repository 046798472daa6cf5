"""A node over JSON-RPC, limited to methods that every Ethereum node has."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import orjson
from eth_abi.abi import decode
from eth_abi.exceptions import DecodingError
from eth_utils.address import to_checksum_address

from foreseal.client.errors import ConnectionLost, InvalidResponse, TimedOut
from foreseal.errors import RpcError
from foreseal.payments.chain.errors import (
    ChainError,
    Incomplete,
    NonceTooLow,
    NoResponse,
    RejectedByNode,
    Reverted,
    Underpriced,
)
from foreseal.payments.chain.node import BlockHead, BlockTag, ChainLog, ChainReceipt, LogFilter

_REVERTED = 3
_ERROR_STRING = bytes.fromhex("08c379a0")
# Messages of geth and reth, then of anvil, Hardhat and Erigon. These rejections have no error codes of their own.
_DUPLICATE_ERRORS = (
    "already known",
    "already imported",
    "known transaction",
    "existing tx with same hash",
    "existing txn with same",
)
_TOO_LOW = ("nonce too low", "nonce is too low")
_UNDERPRICED = (
    "replacement transaction underpriced",
    "replacement underpriced",
    "gas price too low to replace",
    "insufficient gas price to replace",
    "could not replace existing t",
)
# A node that lacks such a block, or does not support the tag, answers with an error.
_OPTIONAL = ("pending", "safe", "finalized")


class RequestClient(Protocol):
    """JSON-RPC client whose results are plain JSON values, such as `foreseal.client.Client`."""

    def request(self, method: str, *params: Any) -> Any:
        """Return the result of a request. Raises `RpcError` and `foreseal.client.ClientError`."""
        ...


class RpcNode:
    """A node behind a JSON-RPC client."""

    def __init__(self, client: RequestClient) -> None:
        self._client = client

    def chain_id(self) -> int:
        """Call eth_chainId."""
        return _number(self._call("eth_chainId"))

    def head(self, block: BlockTag) -> BlockHead | None:
        """Call eth_getBlockByNumber."""
        try:
            found = self._call("eth_getBlockByNumber", _block(block), False)
        except RejectedByNode:
            if block in _OPTIONAL:
                return None
            raise
        with _complete("eth_getBlockByNumber"):
            if found is None or found.get("number") is None:  # some nodes do not number the pending block
                return None
            hash = found.get("hash") or ""
            fee = _number(found.get("baseFeePerGas") or "0x0")
            head = BlockHead(_number(found["number"]), hash.lower(), _number(found["timestamp"]), fee)
        if isinstance(block, int) and head.number != block:
            raise Incomplete(f"eth_getBlockByNumber: requested block {block}, got {head.number}")
        return head

    def logs(self, log_filter: LogFilter) -> Sequence[ChainLog]:
        """Call eth_getLogs. A node without pre-confirmed logs rejects the query at `pending`; the result is then empty.

        Pre-confirmed logs without a block number are left out. They appear again once they have one.
        """
        topics = [
            None if alternatives is None else [_hex(topic) for topic in alternatives]
            for alternatives in log_filter.topics
        ]
        parameters = {
            "address": log_filter.address,
            "topics": topics,
            "fromBlock": _block(log_filter.first),
            "toBlock": _block(log_filter.last),
        }
        try:
            found = self._call("eth_getLogs", parameters)
        except RejectedByNode:
            if log_filter.first == "pending":
                return []
            raise
        with _complete("eth_getLogs"):
            if log_filter.first == "pending":
                found = [log for log in found if log["blockNumber"] is not None]
            return [_log(log) for log in found if not log.get("removed")]

    def receipt(self, hash: str) -> ChainReceipt | None:
        """Call eth_getTransactionReceipt."""
        found = self._call("eth_getTransactionReceipt", hash)
        with _complete("eth_getTransactionReceipt"):
            if found is None or found.get("blockNumber") is None:
                return None
            if found["transactionHash"].lower() != hash.lower():
                raise Incomplete(f"eth_getTransactionReceipt: requested {hash}, got {found['transactionHash']}")
            return ChainReceipt(
                hash.lower(),
                _number(found["blockNumber"]),
                (found.get("blockHash") or "").lower(),
                _number(found["status"]) == 1,
                tuple(map(_log, found["logs"])),
            )

    def transaction_count(self, address: str, block: BlockTag) -> int:
        """Call eth_getTransactionCount."""
        return _number(self._call("eth_getTransactionCount", address, _block(block)))

    def code(self, address: str, block: BlockTag) -> bytes:
        """Call eth_getCode."""
        return bytes(_bytes(self._call("eth_getCode", address, _block(block))))

    def call(self, to: str, data: bytes, block: BlockTag, sender: str | None = None) -> bytes:
        """Call eth_call. Raises `Reverted`."""
        made_by = {} if sender is None else {"from": sender}
        return _bytes(self._call("eth_call", {"to": to, "data": _hex(data)} | made_by, _block(block)))

    def estimate_gas(self, sender: str, to: str, data: bytes, block: BlockTag) -> int:
        """Call eth_estimateGas. Raises `Reverted`."""
        return _number(self._call("eth_estimateGas", {"from": sender, "to": to, "data": _hex(data)}, _block(block)))

    def priority_fee(self) -> int:
        """Call eth_maxPriorityFeePerGas."""
        return _number(self._call("eth_maxPriorityFeePerGas"))

    def send(self, raw: bytes) -> None:
        """Call eth_sendRawTransaction. Raises `NonceTooLow` and `Underpriced`; `already known` is success."""
        try:
            self._call("eth_sendRawTransaction", _hex(raw))
        except RejectedByNode as error:
            text = str(error).lower()
            if any(message in text for message in _DUPLICATE_ERRORS):
                return
            if any(low in text for low in _TOO_LOW):
                raise NonceTooLow(str(error)) from error
            if any(low in text for low in _UNDERPRICED):
                raise Underpriced(str(error)) from error
            raise

    def _call(self, method: str, *params: Any) -> Any:
        try:
            return self._client.request(method, *params)
        except (ConnectionLost, TimedOut) as error:
            raise NoResponse(f"{method}: {error}") from error
        except InvalidResponse as error:
            raise Incomplete(f"{method}: {error}") from error
        except RpcError as error:
            raise _rejection(method, error) from error


@contextlib.contextmanager
def _complete(method: str) -> Iterator[None]:
    """Raise `Incomplete` if the answer lacks a field or has one of the wrong type."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Incomplete(f"{method}: invalid response: {error!r}") from error


def _rejection(method: str, error: RpcError) -> ChainError:
    if method in ("eth_call", "eth_estimateGas") and (error.code == _REVERTED or "revert" in error.message.lower()):
        data = _revert_data(error.data)
        return Reverted(_reason(data) or error.message, data)
    return RejectedByNode(f"{method}: {error.message} ({error.code})")


def _revert_data(data: bytes | None) -> bytes:
    """Return the revert data; nodes send it as a string or inside an object."""
    found = None if data is None else orjson.loads(data)
    if isinstance(found, Mapping):
        found = found.get("data")
    try:
        return _bytes(found)
    except (Incomplete, ValueError):
        return b""


def _reason(data: bytes) -> str | None:
    if not data.startswith(_ERROR_STRING):
        return None
    try:
        return str(decode(["string"], data[len(_ERROR_STRING) :])[0])
    except (DecodingError, UnicodeDecodeError):
        return None


def _log(found: Mapping[str, Any]) -> ChainLog:
    return ChainLog(
        to_checksum_address(found["address"]),
        tuple(map(_bytes, found["topics"])),
        _bytes(found["data"]),
        _number(found["blockNumber"]),
        (found.get("blockHash") or "").lower(),
        found["transactionHash"].lower(),
        _number(found["logIndex"]),
    )


def _read(read: Callable[[str], Any]) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith("0x"):
            raise Incomplete(f"{value!r} is not a 0x string")
        try:
            return read(value)
        except ValueError:
            raise Incomplete(f"{value!r} is not hexadecimal") from None

    return checked


_number: Callable[[Any], int] = _read(lambda text: int(text, 16))
_bytes: Callable[[Any], bytes] = _read(lambda text: bytes.fromhex(text[2:]))


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _block(block: BlockTag) -> str:
    return hex(block) if isinstance(block, int) else block
