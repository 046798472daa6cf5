"""Waits for a receipt: by the feed over WebSocket, by polling otherwise."""

from foreseal.client.calls import block_number, get_receipt
from foreseal.client.errors import TimedOut
from foreseal.client.feed import Feed
from foreseal.client.flashblocks import StepRemoved
from foreseal.client.requests import Hex, data
from foreseal.client.sans_io import Flow, perform
from foreseal.client.session import ClientSession
from foreseal.client.transactions import Receipt


def wait_for_receipt(
    session: ClientSession, hash: Hex, timeout: float = 60.0, *, sealed: bool = False
) -> Flow[Receipt]:
    """Return the receipt of a transaction once it is pre-confirmed, or with `sealed` once its block is sealed.

    Over WebSocket the feed triggers each check; otherwise the client polls. Raises `TimedOut`.
    """
    name = data(hash)
    end = session.options.clock() + timeout
    feed = None if session.transport.dial is None else Feed(session)
    try:
        return (yield from _wait(session, feed, name, end, sealed))
    except TimedOut as error:
        if session.options.clock() < end:
            raise
        raise TimedOut(f"no receipt of {name} within {timeout:g} s") from error
    finally:
        if feed is not None:
            feed.abandon()


def _wait(session: ClientSession, feed: Feed | None, name: str, end: float, sealed: bool) -> Flow[Receipt]:
    """Wait like `wait_for_receipt`, until `end` on the session's clock."""
    if feed is not None:
        feed.deadline = end
        # Connect before the first check, so that no event is missed between the two.
        yield from feed.connect()
    while True:
        receipt = yield from _check_receipt(session, name, sealed)
        if receipt is not None:
            return receipt
        if feed is None:
            left = end - session.options.clock()
            if left <= 0:
                raise TimedOut("the node has no receipt")
            yield from perform(session.transport.sleep, min(session.options.poll_interval, left))
        else:
            yield from _next_receipt(feed, name, sealed)


def _check_receipt(session: ClientSession, name: str, sealed: bool) -> Flow[Receipt | None]:
    receipt = yield from session.execute(get_receipt(name))
    if receipt is None or not sealed:
        return receipt
    if (yield from session.execute(block_number())) < receipt.block_number:
        return None
    # Its block is sealed; read it again, because it may have moved to another block between the two responses.
    return (yield from session.execute(get_receipt(name)))


def _next_receipt(feed: Feed, name: str, sealed: bool) -> Flow[None]:
    """Return after an event that may change the result of a check."""
    while True:
        event = yield from feed.next()
        if event is None or isinstance(event, StepRemoved):
            return
        if any(transaction.hash == name for transaction in event.flashblock.transactions):
            return
        if sealed and event.sealed is not None:
            return
