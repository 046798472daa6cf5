"""What became of an authorization, by its logs: authorizationState cannot tell captured from canceled."""

from collections.abc import Iterator

from foreseal.payments.chain import Log, LogFilter, Node, Receipt
from foreseal.payments.chain.token import CANCELED, USED, address_topic

WIDEST = 1_999
"""Blocks that one eth_getLogs asks for at most: under 2,000 from first to last (spec, Limits)."""


def windows(first: int, last: int, widest: int = WIDEST) -> Iterator[tuple[int, int]]:
    """Blocks from `first` to `last`, both included, in pieces of at most `widest`."""
    for begin in range(first, last + 1, widest):
        yield begin, min(begin + widest - 1, last)


def consumption(node: Node, token: str, payer: str, nonce: bytes, since: int) -> Receipt | None:
    """Receipt of the transaction that used or canceled an authorization, looked for from block `since` on.

    None if there is none, or if it left the chain while it was looked for. Raises what the node raises.
    """
    latest = node.head("latest")
    pieces: list[tuple[int | str, int | str]] = list(windows(since, latest.number)) if latest is not None else []
    for first, last in [("pending", "pending"), *reversed(pieces)]:
        topics = ((USED, CANCELED), (address_topic(payer),), (nonce,))
        found: list[Log] = list(node.logs(LogFilter(token, topics, first, last)))
        if found:
            return node.receipt(found[-1].transaction_hash)
    return None
