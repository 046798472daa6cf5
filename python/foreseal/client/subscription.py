"""The subscription to `foreseal_feed` on its own link."""

from typing import Any

import orjson

from foreseal.client.cursor import Cursor
from foreseal.client.errors import ConnectionLost, InvalidResponse, TimedOut
from foreseal.client.json_model import text
from foreseal.client.requests import Request
from foreseal.client.sans_io import Flow, perform
from foreseal.client.session import ClientSession, MessageLink, decoded, read_answer


class FeedSubscription:
    """One subscription at a time, on one link."""

    def __init__(self, session: ClientSession, link: MessageLink) -> None:
        self.link = link
        self.active = False
        """True if it is subscribed and no request is in flight, so that a wait for a message may be cancelled."""
        self._session = session
        self._ident = ""

    def subscribe(self, cursor: Cursor, timeout: float) -> Flow[None]:
        """Subscribe to steps after `cursor`; wait for the response. Raise `RpcError` or `ClientError`."""
        request = Request("eth_subscribe", ("foreseal_feed", cursor.to_json()), text)
        ident, envelope = self._session.envelope(request.method, request.params)
        yield from perform(self.link.send, orjson.dumps(envelope))
        clock = self._session.options.clock
        end = clock() + timeout
        while True:
            message = decoded((yield from perform(self.link.receive, max(end - clock(), 0.0))))
            # Messages before the response belong to the previous subscription.
            if isinstance(message, dict) and "method" not in message and message.get("id") in (ident, None):
                self._ident = read_answer(request, message, ident)
                self.active = True
                return
            if clock() >= end:
                raise TimedOut("no response to eth_subscribe within the timeout")

    def resubscribe(self, cursor: Cursor) -> Flow[None]:
        """End the subscription and start another one after `cursor`."""
        self.active = False
        _, envelope = self._session.envelope("eth_unsubscribe", (self._ident,))
        yield from perform(self.link.send, orjson.dumps(envelope))
        yield from self.subscribe(cursor, self._session.options.timeout)

    def message(self, timeout: float) -> Flow[dict[str, Any] | None]:
        """Return the next step or heartbeat; None if the node reports that it dropped steps."""
        while True:
            message = decoded((yield from perform(self.link.receive, timeout)))
            if not isinstance(message, dict):
                raise InvalidResponse("a message of the feed is not an object")
            if "method" not in message:
                if isinstance(message.get("error"), dict) and message.get("id") is None:
                    raise ConnectionLost(f"the node rejected the connection: {message['error'].get('message')}")
                continue
            params = message.get("params")
            if not isinstance(params, dict) or params.get("subscription") != self._ident:
                continue
            if message["method"] == "foreseal_lagged":
                return None
            result = params.get("result")
            if not isinstance(result, dict):
                raise InvalidResponse("a message of the feed has no result")
            return result
