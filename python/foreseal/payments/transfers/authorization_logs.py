"""Fate of an authorization, from its logs: authorizationState cannot distinguish captured from canceled."""

from collections.abc import Iterator

from foreseal.payments.chain import BlockTag, ChainLog, ChainNode, ChainReceipt, Checkout, Incomplete, LogFilter, Token
from foreseal.payments.chain.token import AUTHORIZATION_USED, CANCELED, PAYMENT_CAPTURED, address_topic
from foreseal.payments.ledger.models import OrderRecord

Topics = tuple[tuple[bytes, ...] | None, ...]

MAX_LOG_RANGE = 1_999
"""Maximum block range of one eth_getLogs: under 2,000 from first to last (spec, Limits)."""


def windows(first: int, last: int, widest: int = MAX_LOG_RANGE) -> Iterator[tuple[int, int]]:
    """Split the inclusive range `first` to `last` into ranges of at most `widest` blocks."""
    for begin in range(first, last + 1, widest):
        yield begin, min(begin + widest - 1, last)


def find_consumption(node: ChainNode, token: str, payer: str, nonce: bytes, since: int) -> ChainReceipt | None:
    """Return the receipt of the transaction that used or canceled an authorization, from block `since` on.

    None if there is none. Raises the node's errors, and `Incomplete` if the node has a log without its receipt.
    """
    return _receipt(node, token, ((AUTHORIZATION_USED, CANCELED), (address_topic(payer),), (nonce,)), since)


def _receipt(node: ChainNode, contract: str, topics: Topics, since: int) -> ChainReceipt | None:
    for log in newest_logs(node, contract, topics, since):
        receipt = node.receipt(log.transaction_hash)
        if receipt is None:
            raise Incomplete(f"the node has a log of {log.transaction_hash}, but not its receipt")
        return receipt
    return None


def find_order_consumption(node: ChainNode, order: OrderRecord) -> ChainReceipt | None:
    """Return the receipt of the transaction that captured an order or canceled its authorization.

    An order without a payer has no authorization. Raises the same errors as `find_consumption`.
    """
    if order.payer is None:
        return None
    if order.checkout is None:
        return find_consumption(node, order.token, order.payer, order.nonce, order.since_block)
    topics: Topics = ((PAYMENT_CAPTURED,), (order.nonce,), (address_topic(order.payer),))
    return _receipt(node, order.checkout, topics, order.since_block)


def is_used(node: ChainNode, order: OrderRecord, block: BlockTag) -> bool:
    """Return True if an order is already captured or canceled. Raises the node's errors."""
    if order.payer is None:
        return False
    if order.checkout is None:
        return Token(node, order.token).authorization_used(order.payer, order.nonce, block)
    return Checkout(node, order.checkout).captured(order.nonce, block)


def newest_logs(node: ChainNode, address: str, topics: Topics, since: int) -> Iterator[ChainLog]:
    """Yield logs of a contract from block `since` on, including pre-confirmed ones, newest first."""
    latest = node.head("latest")
    ranges: list[tuple[int | str, int | str]] = list(windows(since, latest.number)) if latest is not None else []
    for first, last in [("pending", "pending"), *reversed(ranges)]:
        yield from reversed(node.logs(LogFilter(address, topics, first, last)))
