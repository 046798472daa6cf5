"""The measured calls, and the parts of a response that must agree between nodes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foreseal.bench import token
from foreseal.bench.chain_content import OWNERS, owner
from foreseal.bench.content_writer import FilledNode
from foreseal.bench.node import batch_body, body

BenchCall = tuple[str, list[Any]]
_VARIANTS = 32
"""Number of different calls in a row that has several; it prevents a node from serving all from one cached response."""
_ENDS = 8
_TRANSACTION = ("from", "to", "value", "input")


def _same(answer: Any) -> Any:
    return answer


def _number(answer: Any) -> Any:
    return int(answer, 16)


def _height(answer: Any) -> Any:
    # A node may have put empty blocks between those of the content.
    return int(answer, 16) > 1


def _sparse(block: Any) -> Any:
    return len(block["transactions"]) <= 1


def _transactions(block: Any) -> Any:
    # Hashes and nonces depend on chain ID and earlier transactions; the number of transactions does not.
    return [
        {name: transaction[name] for name in _TRANSACTION} if isinstance(transaction, dict) else ""
        for transaction in block["transactions"]
    ]


def _receipts(receipts: Any) -> Any:
    return [_receipt(receipt) for receipt in receipts]


def _receipt(receipt: Any) -> Any:
    return receipt["status"], int(receipt["gasUsed"], 16), _logs(receipt["logs"])


def _logs(logs: Any) -> Any:
    return [(log["address"].lower(), log["topics"], log["data"]) for log in logs]


def _nearly(answer: Any) -> Any:
    # Nodes estimate the minimum gas by different searches and differ by a few per cent.
    return 20_000 < int(answer, 16) < 80_000


@dataclass(frozen=True)
class Row:
    """One kind of call."""

    name: str
    calls: Callable[[FilledNode], list[BenchCall]]
    shown: Callable[[Any], Any] = _same
    """Extracts the part of a result that must be the same on every node."""
    batch: int = 0
    """Calls per batch; 0 for single calls."""
    websocket: bool = False
    error_code: int | None = None
    """Error code with which every call fails; None if calls succeed."""

    def bodies(self, filled: FilledNode) -> list[bytes]:
        """Return the request bodies, which are sent in rotation."""
        calls = self.calls(filled)
        if self.batch:
            return [batch_body([calls[(start + at) % len(calls)] for at in range(self.batch)]) for start in range(4)]
        return [body(method, *params) for method, params in calls]


def _owners() -> list[bytes]:
    return [owner(number) for number in range(min(_VARIANTS, OWNERS))]


def _hex(data: bytes) -> str:
    return "0x" + data.hex()


def _token(filled: FilledNode) -> str:
    return _hex(filled.contents.token)


def _storage(filled: FilledNode) -> list[BenchCall]:
    return [("eth_getStorageAt", [_token(filled), token.balance_slot(account), "latest"]) for account in _owners()]


def _nonce(tag: str) -> Callable[[FilledNode], list[BenchCall]]:
    def calls(filled: FilledNode) -> list[BenchCall]:
        senders = filled.contents.senders[:_VARIANTS]
        return [("eth_getTransactionCount", [_hex(sender.address), tag]) for sender in senders]

    return calls


def _newest(filled: FilledNode) -> list[str]:
    return [hex(number) for number in filled.dense[-_VARIANTS:]]


def _log_queries(filled: FilledNode, blocks: int, *topics: Any) -> list[BenchCall]:
    """Return queries for the token's logs over this many blocks, with a few different last blocks.

    They cover fewer blocks if the content has fewer.
    """
    heights = filled.heights
    blocks = max(1, min(blocks, len(heights) - _ENDS))
    topics = (token.TRANSFER_TOPIC, *topics)
    log_filter = {"address": _token(filled), "topics": topics}
    ranges = [
        (heights[end - blocks + 1], heights[end]) for end in range(len(heights) - 1, len(heights) - 1 - _ENDS, -1)
    ]
    return [("eth_getLogs", [log_filter | {"fromBlock": hex(first), "toBlock": hex(last)}]) for first, last in ranges]


def _topic(number: int) -> str:
    return "0x" + (bytes(12) + owner(number)).hex()


def _calls(filled: FilledNode) -> list[BenchCall]:
    return [
        ("eth_call", [{"to": _token(filled), "data": _hex(token.encode_balance_query(account))}, "latest"])
        for account in _owners()
    ]


def _reverting(filled: FilledNode) -> list[BenchCall]:
    # The content sends tokens to the owners below this number only.
    sender = _hex(owner(OWNERS))
    call = {"from": sender, "to": _token(filled)}
    return [("eth_call", [call | {"data": _hex(token.transfer(account, 1))}, "latest"]) for account in _owners()]


def _estimates(filled: FilledNode) -> list[BenchCall]:
    sender = _hex(filled.contents.senders[0].address)
    call = {"from": sender, "to": _token(filled)}
    return [("eth_estimateGas", [call | {"data": _hex(token.transfer(account, 1))}, "latest"]) for account in _owners()]


ROWS: Sequence[Row] = (
    Row("blockNumber", lambda filled: [("eth_blockNumber", [])], _height),
    Row("storage", _storage),
    Row("nonce latest", _nonce("latest"), _number),
    Row("nonce pending", _nonce("pending"), _number),
    Row("balance", lambda filled: [("eth_getBalance", [_hex(account), "latest"]) for account in _owners()], _number),
    Row("block latest", lambda filled: [("eth_getBlockByNumber", ["latest", False])], _sparse),
    Row(
        "block of 100, hashes",
        lambda filled: [("eth_getBlockByNumber", [number, False]) for number in _newest(filled)],
        _transactions,
    ),
    Row(
        "block of 100, full",
        lambda filled: [("eth_getBlockByNumber", [number, True]) for number in _newest(filled)],
        _transactions,
    ),
    Row(
        "receipts of 100",
        lambda filled: [("eth_getBlockReceipts", [number]) for number in _newest(filled)],
        _receipts,
    ),
    Row(
        "one receipt",
        lambda filled: [("eth_getTransactionReceipt", [digest]) for digest in filled.tokens[:_VARIANTS]],
        _receipt,
    ),
    Row(
        "logs: one block of 100",
        lambda filled: [("eth_getLogs", [{"fromBlock": number, "toBlock": number}]) for number in _newest(filled)],
        _logs,
    ),
    Row(
        "logs: 100 blocks filtered",
        lambda filled: _log_queries(filled, 100, None, _topic(7)),
        _logs,
    ),
    Row("logs: 100 blocks, all", lambda filled: _log_queries(filled, 100), _logs),
    Row(
        "logs: 2,000 blocks filtered",
        lambda filled: _log_queries(filled, 2000, None, _topic(7)),
        _logs,
    ),
    Row("call", _calls),
    Row("call that reverts", _reverting, error_code=3),
    Row("bad parameters", lambda filled: [("eth_getBalance", ["0x12", "latest"])], error_code=-32602),
    Row("unknown method", lambda filled: [("eth_unknown", [])], error_code=-32601),
    Row("estimate", _estimates, _nearly),
    Row("batch of 100 storage reads", _storage, batch=100),
    Row("WebSocket request", lambda filled: [("eth_blockNumber", [])], _height, websocket=True),
)
"""All rows in the order of a report."""
