"""Fate of an authorization, from its logs: authorizationState cannot distinguish captured from canceled."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Row

from foreseal.payments.chain import Block, Checkout, Incomplete, Log, LogFilter, Node, Receipt, Token
from foreseal.payments.chain.token import CANCELED, PAYMENT_CAPTURED, USED, address_topic

Topics = tuple[tuple[bytes, ...] | None, ...]

WIDEST = 1_999
"""Maximum block range of one eth_getLogs: under 2,000 from first to last (spec, Limits)."""


def windows(first: int, last: int, widest: int = WIDEST) -> Iterator[tuple[int, int]]:
    """Split the inclusive range `first` to `last` into ranges of at most `widest` blocks."""
    for begin in range(first, last + 1, widest):
        yield begin, min(begin + widest - 1, last)


def consumption(node: Node, token: str, payer: str, nonce: bytes, since: int) -> Receipt | None:
    """Return the receipt of the transaction that used or canceled an authorization, from block `since` on.

    None if there is none. Raises the node's errors, and `Incomplete` if the node has a log without its receipt.
    """
    return _receipt(node, token, ((USED, CANCELED), (address_topic(payer),), (nonce,)), since)


def _receipt(node: Node, contract: str, topics: Topics, since: int) -> Receipt | None:
    for log in newest_logs(node, contract, topics, since):
        receipt = node.receipt(log.transaction_hash)
        if receipt is None:
            raise Incomplete(f"the node has a log of {log.transaction_hash}, and not its receipt")
        return receipt
    return None


def consumed(node: Node, order: Row[Any]) -> Receipt | None:
    """Return the receipt of the transaction that captured an order or canceled its authorization.

    Raises the same errors as `consumption`.
    """
    if order.checkout is None:
        return consumption(node, order.token, order.payer, order.nonce, order.since_block)
    topics: Topics = ((PAYMENT_CAPTURED,), (order.nonce,), (address_topic(order.payer),))
    return _receipt(node, order.checkout, topics, order.since_block)


def is_used(node: Node, order: Row[Any], block: Block) -> bool:
    """Return True if an order is already captured or canceled. Raises the node's errors."""
    if order.checkout is None:
        return Token(node, order.token).authorization_used(order.payer, order.nonce, block)
    return Checkout(node, order.checkout).captured(order.nonce, block)


def newest_logs(node: Node, address: str, topics: Topics, since: int) -> Iterator[Log]:
    """Yield logs of a contract from block `since` on, including pre-confirmed ones, newest first."""
    latest = node.head("latest")
    pieces: list[tuple[int | str, int | str]] = list(windows(since, latest.number)) if latest is not None else []
    for first, last in [("pending", "pending"), *reversed(pieces)]:
        yield from reversed(node.logs(LogFilter(address, topics, first, last)))
