"""Wake-ups of the worker by a node: at each transaction of a step of a Foreseal node, and at each block of any node.

The messages are hashes and headers. The worker reads what it needs itself, so a stranger's large transaction costs this
thread no more than any other one.
"""

import contextlib
import logging
import threading
from collections.abc import Callable

import orjson

from foreseal.client import ClientError, InvalidResponse, Options, TimedOut
from foreseal.client.session import decoded
from foreseal.client.websocket import WebSocketLink, WebSocketTransport
from foreseal.payments.merchant_context import inherit_context

log = logging.getLogger(__name__)

# Seconds before a reconnect to a broken connection.
_PAUSE = 5.0
# Seconds for the handshake, and of silence after which the connection is opened again.
_TIMEOUT, _SILENCE = 10.0, 3_600.0
# Maximum bytes of a message: headers and hashes are far smaller.
_MAX_MESSAGE = 1 << 20
# Maximum messages of a step that wake the worker once.
_MAX_MESSAGES = 1_000
# Streams that wake the worker, by the id of their request. The second one exists only on Foreseal nodes.
_BLOCKS, _STEPS = 1, 2
_STREAMS = {_BLOCKS: "newHeads", _STEPS: "newFlashblockTransactions"}


class StepListener:
    """Subscriptions in a thread. While there is no connection, only the poll interval wakes the worker."""

    def __init__(self, url: str, wake: Callable[[], None]) -> None:
        """Set up the thread. `url` is a WebSocket URL."""
        self._transport = WebSocketTransport(url, Options(max_message_size=_MAX_MESSAGE))
        self._wake = wake
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=inherit_context(self._run), name="waking", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the subscriptions."""
        self._stopping.set()
        self._transport.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except ClientError as error:
                if not self._stopping.is_set():
                    log.warning("subscriptions disconnected: polling", extra={"error": str(error)[:300]})
            self._stopping.wait(_PAUSE)

    def _follow(self) -> None:
        link = self._transport.dial(_TIMEOUT, pings=True)
        try:
            for ident, stream in _STREAMS.items():
                call = {"jsonrpc": "2.0", "id": ident, "method": "eth_subscribe", "params": [stream]}
                link.send(orjson.dumps(call))
            # The subscriptions miss what happened before them.
            self._wake()
            while not self._stopping.is_set():
                if _receive(link):
                    self._wake()
        finally:
            link.abandon()


def _receive(link: WebSocketLink) -> bool:
    """Read the messages that have arrived, at least one. Return True if one is an event."""
    has_event = _is_event(link.receive(_SILENCE))
    with contextlib.suppress(TimedOut):
        for _ in range(_MAX_MESSAGES):
            has_event |= _is_event(link.receive(0))
    return has_event


def _is_event(text: str | bytes) -> bool:
    """Return True for an event. Raise `InvalidResponse` for a message that is none, or a rejected subscription."""
    message = decoded(text)
    if not isinstance(message, dict):
        raise InvalidResponse("a message is not an object")
    if "error" in message and message.get("id") == _BLOCKS:
        raise InvalidResponse(f"eth_subscribe: {message['error']}")
    return "method" in message
