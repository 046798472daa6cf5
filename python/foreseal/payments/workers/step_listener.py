"""Wake-ups of the worker by a node: at each transaction of a step of a Foreseal node, and at each block of any node.

The messages are hashes and headers. The worker reads what it needs itself, so a stranger's large transaction costs this
thread no more than any other one.
"""

import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any

import orjson

from foreseal.client.optional_packages import import_optional
from foreseal.payments.merchant_context import inherit_context

sync_client = import_optional("websockets.sync.client")
exceptions = import_optional("websockets.exceptions")

log = logging.getLogger(__name__)

# Seconds before a reconnect to a broken connection.
_PAUSE = 5.0
# Seconds for the handshake.
_TIMEOUT = 10.0
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
        self._url = url
        self._wake = wake
        self._stopping = threading.Event()
        self._connection: Any = None
        self._thread = threading.Thread(target=inherit_context(self._run), name="waking", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """End the subscriptions."""
        self._stopping.set()
        connection = self._connection
        if connection is not None:
            connection.close_socket()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except (exceptions.WebSocketException, OSError, ValueError, EOFError) as error:
                if not self._stopping.is_set():
                    fields = {"error": f"{type(error).__name__}: {error}"[:300]}
                    log.warning("subscriptions disconnected: polling", extra=fields)
            self._stopping.wait(_PAUSE)

    def _follow(self) -> None:
        with sync_client.connect(
            self._url, compression=None, max_size=_MAX_MESSAGE, open_timeout=_TIMEOUT, close_timeout=1
        ) as connection:
            self._connection = connection
            for ident, stream in _STREAMS.items():
                call = {"jsonrpc": "2.0", "id": ident, "method": "eth_subscribe", "params": [stream]}
                connection.send(orjson.dumps(call).decode())
            # The subscriptions miss what happened before them.
            self._wake()
            while not self._stopping.is_set():
                if self._receive(connection):
                    self._wake()

    def _receive(self, connection: Any) -> bool:
        """Read the messages that have arrived, at least one. Return True if one is an event."""
        found = _is_event(connection.recv())
        with contextlib.suppress(TimeoutError):
            for _ in range(_MAX_MESSAGES):
                found |= _is_event(connection.recv(0))
        return found


def _is_event(text: str | bytes) -> bool:
    """Return True for an event. Raise ValueError for a message that is none, and for a rejected subscription."""
    message = orjson.loads(text)
    if not isinstance(message, dict):
        raise ValueError("a message is not an object")  # noqa: TRY004 - of the node, not an argument
    if "error" in message and message.get("id") == _BLOCKS:
        raise ValueError(f"eth_subscribe: {message['error']}")
    return "method" in message
