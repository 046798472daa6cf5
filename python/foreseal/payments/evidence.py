"""What became of an authorization, by its logs: authorizationState cannot tell captured from canceled."""

from collections.abc import Iterator

from foreseal.payments.chain import Incomplete, Log, LogFilter, Node, Receipt
from foreseal.payments.chain.token import CANCELED, USED, address_topic

Topics = tuple[tuple[bytes, ...] | None, ...]

WIDEST = 1_999
"""Blocks that one eth_getLogs asks for at most: under 2,000 from first to last (spec, Limits)."""


def windows(first: int, last: int, widest: int = WIDEST) -> Iterator[tuple[int, int]]:
    """Blocks from `first` to `last`, both included, in pieces of at most `widest`."""
    for begin in range(first, last + 1, widest):
        yield begin, min(begin + widest - 1, last)


def consumption(node: Node, token: str, payer: str, nonce: bytes, since: int) -> Receipt | None:
    """Receipt of the transaction that used or canceled an authorization, looked for from block `since` on.

    None if there is none. Raises what the node raises, and `Incomplete` for a log whose transaction it does not have.
    """
    topics: Topics = ((USED, CANCELED), (address_topic(payer),), (nonce,))
    for log in newest_logs(node, token, topics, since):
        receipt = node.receipt(log.transaction_hash)
        if receipt is None:
            raise Incomplete(f"the node has a log of {log.transaction_hash}, and not its receipt")
        return receipt
    return None


def newest_logs(node: Node, address: str, topics: Topics, since: int) -> Iterator[Log]:
    """Logs of a contract from block `since` on, pre-confirmed ones too, the newest first."""
    latest = node.head("latest")
    pieces: list[tuple[int | str, int | str]] = list(windows(since, latest.number)) if latest is not None else []
    for first, last in [("pending", "pending"), *reversed(pieces)]:
        yield from reversed(node.logs(LogFilter(address, topics, first, last)))
