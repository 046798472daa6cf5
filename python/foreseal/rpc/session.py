"""Subscriptions of a persistent connection."""

import asyncio

import orjson

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.core_protocol import CallOutcome, Core
from foreseal.rpc.feed_replay import CallMethod, FeedReplay
from foreseal.rpc.limits import Limits
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.response_envelope import over_limit
from foreseal.rpc.subscription import FEED, Subscriber, Subscription, SubscriptionState
from foreseal.rpc.subscription_hub import CLOSING, SubscriptionHub

SUBSCRIBE, UNSUBSCRIBE = "eth_subscribe", "eth_unsubscribe"
METHODS = frozenset({SUBSCRIBE, UNSUBSCRIBE})
"""Methods that belong to a connection."""


class ConnectionSession:
    """The subscriptions of one connection. Used from the event loop's thread only."""

    def __init__(
        self,
        hub: SubscriptionHub,
        call: CallMethod,
        link: Subscriber,
        limits: Limits,
        limiter: RateLimiter | None = None,
        core: Core | None = None,
    ) -> None:
        """Create a session at the endpoint of `core`.

        `limiter` belongs to the caller, whose connections also share a limit.
        """
        self._hub = hub
        self._core = core
        self._call = call
        self._link = link
        self._max_subscriptions = limits.subscriptions
        self._max_caller_subscriptions = limits.caller_subscriptions
        self._limiter = limiter
        self._closed = False
        self._subscriptions: dict[str, Subscription] = {}
        # Subscriptions behind their cursor, with the task that catches up for each.
        self._replays: dict[str, FeedReplay] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}

    def __len__(self) -> int:
        return len(self._subscriptions)

    def subscribe(self, params: bytes) -> tuple[Subscription, CallOutcome | asyncio.Future[CallOutcome]] | RpcError:
        """Return a new subscription and the outcome of eth_subscribe, or the error."""
        # Before anything is counted: it may raise.
        named = orjson.loads(params)
        if self._closed:
            return RpcError(error_codes.LIMIT, CLOSING, None)
        if len(self._subscriptions) >= self._max_subscriptions:
            return over_limit(
                "subscriptions",
                self._max_subscriptions,
                f"a connection may have at most {self._max_subscriptions} subscriptions",
            )
        limiter, limit = self._limiter, self._max_caller_subscriptions
        if limiter is not None:
            if limit is not None and limiter.subscriptions >= limit:
                return over_limit("caller_subscriptions", limit, f"a caller may have at most {limit} subscriptions")
            limiter.subscriptions += 1
        kind = named[0] if named and isinstance(named[0], str) else ""
        subscription = Subscription(self._hub.new_id(), kind, self._link)
        self._subscriptions[subscription.ident] = subscription
        if kind == FEED:
            self._hub.kinds[FEED] += 1
            return subscription, asyncio.ensure_future(self._subscribe_to_feed(subscription, params))
        try:
            joined = self._hub.join(params, subscription, self._core)
        except RpcError as error:
            self._drop(subscription)
            return error
        assert joined, "only the feed accepts a cursor"
        self._hub.kinds[kind] += 1
        return subscription, orjson.dumps(subscription.ident)

    def unsubscribe(self, params: bytes) -> CallOutcome:
        """Return the outcome of eth_unsubscribe: true if the subscription existed. No further notifications follow."""
        match orjson.loads(params):
            case [str(ident)]:
                subscription = self._subscriptions.get(ident)
            case _:
                return RpcError(error_codes.PARAMS, "subscription: expected one id, a string", None)
        if subscription is None or subscription.state is SubscriptionState.PENDING:
            return b"false"
        self.drop(subscription)
        return b"true"

    def start_notifications(self, subscription: Subscription) -> None:
        """Start notifications: the answer with the subscription's id is queued."""
        replay = self._replays.pop(subscription.ident, None)
        subscription.start()
        if subscription.state is SubscriptionState.CATCHING_UP and replay is not None:
            self._reading[subscription.ident] = self._link.spawn(self._run_replay(subscription, replay))

    def drop(self, subscription: Subscription) -> None:
        """End a subscription whose creation succeeded."""
        if subscription.state is not SubscriptionState.CLOSED:
            self._hub.kinds[subscription.kind] -= 1
            self._drop(subscription)

    def close(self) -> None:
        """End all subscriptions and reject new ones."""
        self._closed = True
        for subscription in tuple(self._subscriptions.values()):
            self.drop(subscription)

    async def _subscribe_to_feed(self, subscription: Subscription, params: bytes) -> CallOutcome:
        """Return the outcome of a subscription to the feed."""
        replay = FeedReplay(self._hub, self._call, subscription, self._limiter)
        try:
            await replay.begin(params)
        except BaseException as error:
            self.drop(subscription)
            if isinstance(error, RpcError):
                return error
            raise
        if subscription.channel is None:
            self._replays[subscription.ident] = replay
        return orjson.dumps(subscription.ident)

    async def _run_replay(self, subscription: Subscription, replay: FeedReplay) -> None:
        try:
            await replay.run()
        except RpcError as error:
            self._link.abort(f"cannot continue the feed: {error.message}")
        finally:
            self._reading.pop(subscription.ident, None)

    def _drop(self, subscription: Subscription) -> None:
        subscription.close()
        self._hub.leave(subscription)
        del self._subscriptions[subscription.ident]
        if self._limiter is not None:
            self._limiter.subscriptions -= 1
        self._replays.pop(subscription.ident, None)
        reading = self._reading.pop(subscription.ident, None)
        if reading is not None:
            reading.cancel()


class RequestExchange:
    """One request or batch of a connection, and its work after the answer is queued."""

    def __init__(self, session: ConnectionSession) -> None:
        self.is_detached = False
        """True once a call has left the event loop: the next request need not wait."""
        self._session = session
        self._made: list[Subscription] = []
        self._detached: asyncio.Future[None] | None = None

    def call(self, method: str, params: bytes) -> CallOutcome | asyncio.Future[CallOutcome]:
        """Return the outcome of one of `METHODS`."""
        if method == UNSUBSCRIBE:
            return self._session.unsubscribe(params)
        made = self._session.subscribe(params)
        if isinstance(made, RpcError):
            return made
        subscription, outcome = made
        self._made.append(subscription)
        return outcome

    def detach(self) -> None:
        """Let the next request start: a call runs elsewhere, or the answer is complete."""
        self.is_detached = True
        if self._detached is not None and not self._detached.done():
            self._detached.set_result(None)

    async def wait_until_detached(self) -> None:
        """Wait until `detach` is called."""
        if not self.is_detached:
            self._detached = asyncio.get_running_loop().create_future()
            await self._detached

    def answer_queued(self, answer: bytes) -> None:
        """Start the notifications of new subscriptions: the answer is queued."""
        for subscription in self._made:
            if subscription.ident.encode() in answer:
                self._session.start_notifications(subscription)
            else:
                # The call was a notification, or its answer did not fit: the client does not have the id.
                self._session.drop(subscription)
