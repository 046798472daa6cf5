"""A thread that polls a node, across its restarts."""

import http.client
import json
import threading
from abc import ABC, abstractmethod

from live.rpc import Rpc

CONNECTION_ERRORS = (OSError, http.client.HTTPException, json.JSONDecodeError)
"""Errors of a call to a process that is killed, paused or not yet started."""
STARTING = -32002
"""Code of the error with which a node answers while it replays its journal."""


class PollingThread(ABC):
    """Calls `poll` until `stop`. After a connection error it polls again, so the URL must not change."""

    def __init__(self, rpc: Rpc, interval: float) -> None:
        """`interval` is the pause between two polls, in seconds. The thread begins with `start`."""
        self.rpc = rpc
        self._interval = interval
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    @abstractmethod
    def poll(self) -> bool:
        """Read from the node once; return True to poll again without a pause."""

    def start(self) -> None:
        """Start polling."""
        self._thread.start()

    def stop(self) -> None:
        """Stop polling, and wait until the call in progress ends."""
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                has_more = self.poll()
            except CONNECTION_ERRORS:
                has_more = False
            if not has_more:
                self._stopped.wait(self._interval)
        self.rpc.close()
