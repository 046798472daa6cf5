"""Wake-ups of the worker by the flashblocks of a Foreseal node."""

import logging
import threading
from collections.abc import Callable

from foreseal.client import Client, ClientError, RpcError, StepAdded
from foreseal.payments.merchant_context import inherit_context

log = logging.getLogger(__name__)

# Seconds before a reconnect to a broken feed.
_PAUSE = 5.0


class FeedListener:
    """Follower of a node's feed in a thread. Without a feed, only the poll interval wakes the worker."""

    def __init__(self, url: str, wake: Callable[[], None]) -> None:
        """Set up the client. `url` is a WebSocket URL."""
        self._client = Client(url)
        self._wake = wake
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=inherit_context(self._run), name="waking", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop following the feed."""
        self._stopping.set()
        self._client.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except RpcError as error:
                log.info("the node has no feed: polling", extra={"node": str(error)})
                return
            except ClientError as error:
                if not self._stopping.is_set():
                    log.warning("feed disconnected: polling", extra={"error": str(error)})
            self._stopping.wait(_PAUSE)

    def _follow(self) -> None:
        with self._client.feed() as feed:
            for event in feed:
                if self._stopping.is_set():
                    return
                # An empty flashblock changes nothing, but the first of a block shows that the previous block was
                # sealed.
                if not isinstance(event, StepAdded) or event.flashblock.transactions or event.flashblock.index == 0:
                    self._wake()
