"""Waking the worker: by the steps of a Foreseal node, as they are pre-confirmed."""

import logging
import threading
from collections.abc import Callable

from foreseal.client import Client, ClientError, RpcError, StepAdded

log = logging.getLogger(__name__)

# Seconds before a feed that broke is begun anew.
_PAUSE = 5.0


class Waking:
    """Follows the feed of a node in a thread. A node without one leaves it to the clock."""

    def __init__(self, url: str, wake: Callable[[], None]) -> None:
        """`url` is a WebSocket."""
        self._client = Client(url)
        self._wake = wake
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="waking", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """End."""
        self._stopping.set()
        self._client.close()

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except RpcError as error:
                log.info("the node has no feed, the clock wakes", extra={"node": str(error)})
                return
            except ClientError as error:
                if not self._stopping.is_set():
                    log.warning("the feed broke, the clock wakes", extra={"error": str(error)})
            self._stopping.wait(_PAUSE)

    def _follow(self) -> None:
        with self._client.feed() as feed:
            for event in feed:
                if self._stopping.is_set():
                    return
                # A step that holds nothing changes nothing; the first of a block says that one was sealed.
                if not isinstance(event, StepAdded) or event.flashblock.transactions or event.flashblock.index == 0:
                    self._wake()
