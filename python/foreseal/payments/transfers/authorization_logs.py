"""Fate of an authorization, from its logs: authorizationState cannot distinguish captured from canceled."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from foreseal.payments.chain import BlockTag, ChainLog, ChainNode, ChainReceipt, Checkout, Incomplete, LogFilter, Token
from foreseal.payments.chain.token import (
    AUTHORIZATION_USED,
    CANCELED,
    PAYMENT_CAPTURED,
    TRANSFERRED,
    address_topic,
    log_amount,
    topic_address,
)
from foreseal.payments.ledger.models import OrderRecord

Topics = tuple[tuple[bytes, ...] | None, ...]

MAX_LOG_RANGE = 1_999
"""Maximum block range of one eth_getLogs: under 2,000 from first to last (spec, Limits)."""


def windows(first: int, last: int, widest: int = MAX_LOG_RANGE) -> Iterator[tuple[int, int]]:
    """Split the inclusive range `first` to `last` into ranges of at most `widest` blocks."""
    for begin in range(first, last + 1, widest):
        yield begin, min(begin + widest - 1, last)


@dataclass(frozen=True, slots=True)
class AuthorizationUse:
    """Use or cancellation of an authorization, from the logs of its token alone."""

    transaction_hash: str
    block_number: int
    block_hash: str
    is_canceled: bool
    recipient: str | None
    """Recipient of the transfer; None without one."""
    amount: int
    """Transferred amount in smallest units."""


def find_use(node: ChainNode, token: str, payer: str, nonce: bytes, since: int) -> AuthorizationUse | None:
    """Return the use or cancellation of an authorization, from block `since` on. Raises the node's errors.

    Any account may submit an authorization, in a transaction whose receipt has any number of other logs, so no receipt
    is read. The transfer is the log directly after the one of the use.
    """
    topics: Topics = ((AUTHORIZATION_USED, CANCELED), (address_topic(payer),), (nonce,))
    for used in newest_logs(node, token, topics, since):
        use = AuthorizationUse(
            used.transaction_hash, used.block_number, used.block_hash, used.topics[0] == CANCELED, None, 0
        )
        if use.is_canceled:
            return use
        sent: Topics = ((TRANSFERRED,), (address_topic(payer),))
        for log in _logs_of_block(node, token, sent, used.block_number):
            if (log.transaction_hash, log.log_index) == (used.transaction_hash, used.log_index + 1):
                return replace(use, recipient=topic_address(log.topics[2]), amount=log_amount(log))
        return use
    return None


def _logs_of_block(node: ChainNode, address: str, topics: Topics, number: int) -> Iterator[ChainLog]:
    """Yield logs of a block that is sealed or pre-confirmed, also if it is sealed meanwhile."""
    yield from node.logs(LogFilter(address, topics, "pending", "pending"))
    latest = node.head("latest")
    if latest is not None and latest.number >= number:
        yield from node.logs(LogFilter(address, topics, number, number))


def _receipt(node: ChainNode, contract: str, topics: Topics, since: int) -> ChainReceipt | None:
    for log in newest_logs(node, contract, topics, since):
        receipt = node.receipt(log.transaction_hash)
        if receipt is None:
            raise Incomplete(f"the node has a log of {log.transaction_hash}, but not its receipt")
        return receipt
    return None


def find_order_consumption(node: ChainNode, order: OrderRecord) -> ChainReceipt | None:
    """Return the receipt of the transaction that captured an order or canceled its authorization.

    An order without a payer has no authorization. None if there is none. Raises the node's errors, and `Incomplete` if
    the node has a log without its receipt.
    """
    if order.payer is None:
        return None
    payer, nonce = (address_topic(order.payer),), (order.nonce,)
    if order.checkout is None:
        return _receipt(node, order.token, ((AUTHORIZATION_USED, CANCELED), payer, nonce), order.since_block)
    return _receipt(node, order.checkout, ((PAYMENT_CAPTURED,), nonce, payer), order.since_block)


def is_used(node: ChainNode, order: OrderRecord, block: BlockTag) -> bool:
    """Return True if an order is already captured or canceled. Raises the node's errors."""
    if order.payer is None:
        return False
    if order.checkout is None:
        return Token(node, order.token).authorization_used(order.payer, order.nonce, block)
    return Checkout(node, order.checkout).captured(order.nonce, block)


def newest_logs(node: ChainNode, address: str, topics: Topics, since: int) -> Iterator[ChainLog]:
    """Yield logs of a contract from block `since` on, including pre-confirmed ones, newest first.

    A log of a block that is sealed meanwhile may occur twice.
    """
    yield from reversed(node.logs(LogFilter(address, topics, "pending", "pending")))
    # Read after the pending block, which may be sealed now: its logs would be in neither range.
    latest = node.head("latest")
    for first, last in reversed(list(windows(since, latest.number)) if latest is not None else []):
        yield from reversed(node.logs(LogFilter(address, topics, first, last)))
