"""Requests to a node, as values: method, parameters, and the conversion of the answer.

`RpcNode` executes one of them, or many as one JSON-RPC batch, which a Foreseal node answers from one view.
"""

from collections.abc import Mapping
from typing import Any

from foreseal.codec import checksum_address
from foreseal.payments.chain.answers import hex_bytes, hex_number, read_object
from foreseal.payments.chain.errors import (
    ChainError,
    ChainReorganized,
    Incomplete,
    InvalidTransaction,
    NonceTooLow,
    RejectedByNode,
    TemporaryRejection,
    Underpriced,
)
from foreseal.payments.chain.node import (
    BlockHead,
    BlockTag,
    ChainLog,
    ChainLogPage,
    ChainReceipt,
    ChainTransaction,
    LogFilter,
    NodeRequest,
    SimulatedTransaction,
)

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
# Rejections by the rules for gas, size and type: geth, reth, anvil, Nethermind, Besu, Erigon and Foreseal.
_INVALID = (
    "exceeds block gas limit",
    "gas limit exceeds the block",
    "intrinsic gas too high",
    "gas limit too high",
    "gas limit is too high",
    "gas limit must be at most",
    "txgaslimitcapexceeded",
    "intrinsic gas too low",
    "floor data gas",
    "calldata floor",
    "oversized data",
    "transaction is too large",
    "max initcode size exceeded",
    "type not supported",
    "is not active on this chain",
)
# Rejections that end with more ether, other fees, room, or another node: a wrong one has another chain id.
_TEMPORARY = (
    "insufficient funds",
    "underpriced",
    "less than block base fee",
    "configured cap",
    "pool is full",
    "too many pooled transactions",
    "account limit exceeded",
    "in-flight transaction limit",
    "already reserved",
    "nonce too high",
    "rate limit",
    "too many requests",
    "syncing",
    "starting",
    "invalid chain id",
    "invalid sender",
)
# A node that lacks such a block, or does not support the tag, answers with an error.
_OPTIONAL = ("pending", "safe", "finalized")


def chain_id() -> NodeRequest[int]:
    """Request the chain id (EIP-155)."""
    return NodeRequest("eth_chainId", (), hex_number)


def head(block: BlockTag) -> NodeRequest[BlockHead | None]:
    """Request a block's head: None if the block does not exist, or if the node lacks a tag such as `finalized`."""

    def read(answer: Any) -> BlockHead | None:
        with read_object("eth_getBlockByNumber"):
            if answer is None or answer.get("number") is None:  # some nodes do not number the pending block
                return None
            hash = answer.get("hash") or ""
            fee = hex_number(answer.get("baseFeePerGas") or "0x0")
            gas_limit = None if answer.get("gasLimit") is None else hex_number(answer["gasLimit"])
            read = BlockHead(
                hex_number(answer["number"]), hash.lower(), hex_number(answer["timestamp"]), fee, gas_limit
            )
        if isinstance(block, int) and read.number != block:
            raise Incomplete(f"eth_getBlockByNumber: requested block {block}, got {read.number}")
        return read

    def recover(error: ChainError) -> None:
        if not isinstance(error, RejectedByNode) or block not in _OPTIONAL:
            raise error

    return NodeRequest("eth_getBlockByNumber", (_block(block), False), read, recover)


def logs(log_filter: LogFilter) -> NodeRequest[list[ChainLog]]:
    """Request logs. A node without pre-confirmed logs rejects the query at `pending`; the result is then empty.

    Pre-confirmed logs without a block number are left out. They appear again once they have one.
    """
    pending = log_filter.first == "pending"

    def read(entries: Any) -> list[ChainLog]:
        with read_object("eth_getLogs"):
            if pending:
                entries = [log for log in entries if log["blockNumber"] is not None]
            return [read_log(log) for log in entries if not log.get("removed")]

    def recover(error: ChainError) -> list[ChainLog]:
        if not isinstance(error, RejectedByNode) or not pending:
            raise error
        return []

    return NodeRequest("eth_getLogs", (_parameters(log_filter),), read, recover)


def log_page(log_filter: LogFilter, cursor: str | None) -> NodeRequest[ChainLogPage]:
    """Request logs of numbered blocks in pages, a method of Foreseal nodes. `cursor` is that of the page before."""
    query: dict[str, object] = {"filter": _parameters(log_filter)}
    if cursor is not None:
        query["cursor"] = cursor

    def read(page: Any) -> ChainLogPage:
        with read_object("foreseal_getLogs"):
            if any(log.get("removed") for log in page["logs"]):
                raise ChainReorganized("the chain was reorganized between two pages of logs")
            return ChainLogPage([read_log(log) for log in page["logs"]], page["cursor"])

    return NodeRequest("foreseal_getLogs", (query,), read)


def _parameters(log_filter: LogFilter) -> dict[str, object]:
    return {
        "address": log_filter.address,
        "topics": [
            None if alternatives is None else ["0x" + topic.hex() for topic in alternatives]
            for alternatives in log_filter.topics
        ],
        "fromBlock": _block(log_filter.first),
        "toBlock": _block(log_filter.last),
    }


def raw_logs(log_filter: LogFilter) -> NodeRequest[list[Mapping[str, object]]]:
    """Request logs like `logs`, as JSON: most of them may be known, and converting costs more than comparing."""
    converted = logs(log_filter)

    def read(entries: Any) -> list[Mapping[str, Any]]:
        with read_object("eth_getLogs"):
            return [log for log in entries if log["blockNumber"] is not None and not log.get("removed")]

    def recover(error: ChainError) -> list[Mapping[str, object]]:
        converted.recover(error)
        return []

    return NodeRequest(converted.method, converted.params, read, recover)


def receipt(hash: str) -> NodeRequest[ChainReceipt | None]:
    """Request the receipt of a transaction that is on the chain or pre-confirmed."""

    def read(answer: Any) -> ChainReceipt | None:
        with read_object("eth_getTransactionReceipt"):
            if answer is None or answer.get("blockNumber") is None:
                return None
            if answer["transactionHash"].lower() != hash.lower():
                raise Incomplete(f"eth_getTransactionReceipt: requested {hash}, got {answer['transactionHash']}")
            return ChainReceipt(
                hash.lower(),
                hex_number(answer["blockNumber"]),
                (answer.get("blockHash") or "").lower(),
                hex_number(answer["status"]) == 1,
                hex_number(answer["gasUsed"]),
                tuple(map(read_log, answer["logs"])),
            )

    return NodeRequest("eth_getTransactionReceipt", (hash,), read)


def transaction(hash: str) -> NodeRequest[ChainTransaction | None]:
    """Request the call of a transaction."""

    def read(answer: Any) -> ChainTransaction | None:
        with read_object("eth_getTransactionByHash"):
            if answer is None:
                return None
            if answer["hash"].lower() != hash.lower():
                raise Incomplete(f"eth_getTransactionByHash: requested {hash}, got {answer['hash']}")
            target = None if answer["to"] is None else checksum_address(hex_bytes(answer["to"]))
            return ChainTransaction(target, hex_bytes(answer["input"]))

    return NodeRequest("eth_getTransactionByHash", (hash,), read)


def transaction_count(address: str, block: BlockTag) -> NodeRequest[int]:
    """Request the next account nonce as of a block."""
    return NodeRequest("eth_getTransactionCount", (address, _block(block)), hex_number)


def balance(address: str, block: BlockTag) -> NodeRequest[int]:
    """Request the ether of an account in wei."""
    return NodeRequest("eth_getBalance", (address, _block(block)), hex_number)


def code(address: str, block: BlockTag) -> NodeRequest[bytes]:
    """Request the code of a contract; empty if the address has none."""
    return NodeRequest("eth_getCode", (address, _block(block)), hex_bytes)


def call(to: str, data: bytes, block: BlockTag, sender: str | None = None) -> NodeRequest[bytes]:
    """Request the output of a call."""
    made_by = {} if sender is None else {"from": sender}
    return NodeRequest("eth_call", ({"to": to, "data": "0x" + data.hex()} | made_by, _block(block)), hex_bytes)


def estimate_gas(sender: str, to: str, data: bytes, block: BlockTag, gas: int | None = None) -> NodeRequest[int]:
    """Request a sufficient gas limit, at most `gas` if given."""
    fields = {"from": sender, "to": to, "data": "0x" + data.hex()}
    if gas is not None:
        fields["gas"] = hex(gas)
    return NodeRequest("eth_estimateGas", (fields, _block(block)), hex_number)


def simulate(transaction: SimulatedTransaction, block: BlockTag) -> NodeRequest[bytes]:
    """Request the output of a transaction, which is executed with its gas limit and fees.

    Fails with `TemporaryRejection` if its sender cannot pay them.
    """
    fields = {
        "from": transaction.sender,
        "to": transaction.target,
        "data": "0x" + transaction.data.hex(),
        "gas": hex(transaction.gas),
        "maxFeePerGas": hex(transaction.fee),
        "maxPriorityFeePerGas": hex(transaction.priority_fee),
    }
    code = transaction.code
    overrides = () if code is None else ({transaction.target: {"code": "0x" + code.hex()}},)

    def recover(error: ChainError) -> bytes:
        if isinstance(error, RejectedByNode) and "insufficient" in str(error).lower():
            raise TemporaryRejection(f"{transaction.sender} cannot pay the gas: {error}") from error
        raise error

    return NodeRequest("eth_call", (fields, _block(block), *overrides), hex_bytes, recover)


def priority_fee() -> NodeRequest[int]:
    """Request a priority fee, in wei per gas, that gets a transaction included."""
    return NodeRequest("eth_maxPriorityFeePerGas", (), hex_number)


def send(raw: bytes) -> NodeRequest[None]:
    """Send a signed transaction. A transaction that the node already has counts as success."""

    def recover(error: ChainError) -> None:
        if not isinstance(error, RejectedByNode):
            raise error
        text = str(error).lower()
        if any(message in text for message in _DUPLICATE_ERRORS):
            return
        if any(low in text for low in _TOO_LOW):
            raise NonceTooLow(str(error)) from error
        if any(low in text for low in _UNDERPRICED):
            raise Underpriced(str(error)) from error
        if any(message in text for message in _TEMPORARY):
            raise TemporaryRejection(str(error)) from error
        if any(message in text for message in _INVALID):
            raise InvalidTransaction(str(error)) from error
        raise error

    return NodeRequest("eth_sendRawTransaction", ("0x" + raw.hex(),), lambda _: None, recover)


def read_log(log: Mapping[str, Any]) -> ChainLog:
    """Convert a log of eth_getLogs or of a receipt."""
    return ChainLog(
        checksum_address(hex_bytes(log["address"])),
        tuple(map(hex_bytes, log["topics"])),
        hex_bytes(log["data"]),
        hex_number(log["blockNumber"]),
        (log.get("blockHash") or "").lower(),
        log["transactionHash"].lower(),
        hex_number(log["logIndex"]),
    )


def _block(block: BlockTag) -> str:
    return hex(block) if isinstance(block, int) else block
