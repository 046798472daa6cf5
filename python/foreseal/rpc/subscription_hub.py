"""Delivery of the core's channels to subscriptions."""

import secrets
from collections import Counter
from collections.abc import Callable

from foreseal.errors import RpcError
from foreseal.rpc import error_codes
from foreseal.rpc.core_protocol import Core, Notification
from foreseal.rpc.deferred_notifications import DeferredWindow
from foreseal.rpc.outgoing_queue import NotificationBatch, NotificationCounters
from foreseal.rpc.subscription import Messages, Subscription, SubscriptionState

CLOSING = "the connection is being closed"


def random_id() -> str:
    """Return 128 random bits in hex: clients cannot guess the id of another connection's subscription."""
    return "0x" + secrets.token_hex(16)


class SubscriptionHub:
    """Channels with at least one subscriber. Used from the event loop's thread only."""

    def __init__(self, core: Core, new_id: Callable[[], str] = random_id) -> None:
        self.new_id = new_id
        """Creates the id of a subscription."""
        self.kinds: Counter[str] = Counter()
        """Subscriptions by kind."""
        self.traffic = NotificationCounters()
        self._core = core
        self.deferred = DeferredWindow()
        """Large changes that subscribers are still to receive."""
        # In the order in which they joined.
        self._channels: dict[int, dict[Subscription, None]] = {}

    def join(self, params: bytes, subscription: Subscription, core: Core | None = None) -> bool:
        """Subscribe it to the channel that the params of eth_subscribe name; False if their cursor is behind.

        `core` is the handle of its endpoint, which decides what a name means.

        Raises `RpcError`.
        """
        if subscription.state is SubscriptionState.CLOSED:
            raise RpcError(error_codes.LIMIT, CLOSING, None)
        joined = (core or self._core).subscribe(params)
        if joined is None:
            return False
        channel, start = joined
        self._channels.setdefault(channel, {})[subscription] = None
        subscription.channel_joined(channel, start)
        return True

    def leave(self, subscription: Subscription) -> None:
        """Unsubscribe it from its channel."""
        channel = subscription.channel
        if channel is None:
            return
        subscription.channel = None
        subscribers = self._channels[channel]
        del subscribers[subscription]
        if not subscribers:
            del self._channels[channel]
        self._core.unsubscribe(channel)

    def deliver(self, notice: Notification) -> None:
        """Deliver a notice to all subscriptions of its channel."""
        channel, sequence, texts, position = notice
        subscribers = self._channels.get(channel)
        if subscribers is None:
            return
        messages: Messages | None
        if texts is None:
            messages = None
        elif isinstance(texts, list):
            messages = NotificationBatch(texts)
        else:
            messages = self.deferred.add(texts)
        # A copy: a subscription that is closed by the delivery leaves the set.
        for subscription in tuple(subscribers):
            subscription.deliver(sequence, messages, position)
