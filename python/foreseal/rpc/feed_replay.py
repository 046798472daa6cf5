"""Catch-up of a feed subscription from its cursor to the live channel: pages are pulled, then messages pushed.

The channel is joined only at the newest place and after all earlier messages are queued, so there is no gap and no
duplicate. A page is requested only after the queue accepted the one before, so a slow client costs one page.
"""

import asyncio
from collections.abc import Callable
from typing import Any, NamedTuple

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.core_protocol import CallOutcome, StepPosition
from foreseal.rpc.outgoing_queue import NotificationBatch
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.rejected_call import RejectedCall
from foreseal.rpc.subscription import FEED, Subscription
from foreseal.rpc.subscription_hub import SubscriptionHub

PAGES = "foreseal_getFlashblocks"
"""The method that returns the pages after a cursor."""

# Most steps of one page, and the bytes after which it ends: a page is split on the event loop.
_PAGE, _PAGE_BYTES = 16, 256 * 1024
# Seconds before a page is requested again that was rejected because too many calls were in progress.
_RETRY_DELAY = 0.05
# Processor time of the event loop for each byte of a page, which is split and sent there, seconds.
_BYTE_TIME = 3e-9

CallMethod = Callable[[str, bytes], CallOutcome | asyncio.Future[CallOutcome]]
"""Calls a method of the node with the JSON of its params."""


class _Page(NamedTuple):
    flashblocks: list[str]
    cursor: str
    is_complete: bool


class FeedReplay:
    """Catch-up of one subscription to the live channel."""

    def __init__(
        self, hub: SubscriptionHub, call: CallMethod, subscription: Subscription, limiter: RateLimiter | None = None
    ) -> None:
        self._hub = hub
        self._call = call
        self._subscription = subscription
        self._limiter = limiter
        self._page: _Page | None = None

    async def begin(self, params: bytes) -> None:
        """Join at once or read the first page; `params` are those of eth_subscribe. Raises `RpcError`."""
        _, *rest = orjson.loads(params)
        if rest in ([], [None]):
            # The newest step is a cursor like any other: the feed always begins at a place.
            rest = [orjson.loads((await self._read(None)).cursor)]
            params = orjson.dumps([FEED, *rest])
        cursor = rest[0]
        if not self._hub.join(params, self._subscription):
            self._page = await self._read(cursor)
        self._subscription.position = read_cursor(cursor)

    async def run(self) -> None:
        """Queue page after page, as there is room, until the live channel is joined. Raises `RpcError`."""
        subscription, page = self._subscription, self._page
        assert page is not None, "begin has read the first page"
        while True:
            for flashblock in page.flashblocks:
                message = NotificationBatch([flashblock])
                while not subscription.offer(message):
                    await subscription.wait_for_room()
            cursor = orjson.loads(page.cursor)
            subscription.position = read_cursor(cursor)
            if page.is_complete and self._hub.join(orjson.dumps([FEED, cursor]), subscription):
                return
            page = await self._read_on(cursor)

    async def _read_on(self, cursor: Any) -> _Page:
        while True:
            try:
                return await self._read(cursor)
            except RpcError as error:
                if error.code != error_codes.LIMIT:
                    raise
                seconds = error.seconds if isinstance(error, RejectedCall) else 0
            await asyncio.sleep(max(seconds, _RETRY_DELAY))

    async def _read(self, cursor: Any) -> _Page:
        outcome = self._call(PAGES, orjson.dumps([cursor, hex(_PAGE), hex(_PAGE_BYTES)]))
        if isinstance(outcome, asyncio.Future):
            outcome = await outcome
        if isinstance(outcome, RpcError):
            raise outcome
        if self._limiter is not None:
            self._limiter.charge_cpu(len(outcome) * _BYTE_TIME)
        # Not at import: the supervisor imports this module, and loads no core.
        from foreseal._core import split_feed_page

        return _Page(*split_feed_page(bytes(outcome)))


def read_cursor(cursor: dict[str, str]) -> StepPosition:
    """Return the place that a cursor names."""
    return int(cursor["block"], 16), int(cursor["index"], 16), cursor["hash"].lower()
