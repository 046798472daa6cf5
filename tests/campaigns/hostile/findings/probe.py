"""Delays of one cheap call of another address at fixed times."""

import threading
import time
from typing import Any

from hostile.wire import Socket, call, post

_INTERVAL = 0.04
_ADDRESS = "127.0.1.1"


class Probe:
    """Calls 25 times a second in a thread. A delay counts from the time at which the call was due."""

    def __init__(self, url: str, method: str, *params: Any) -> None:
        self._port = int(url.rpartition(":")[2])
        self._request = post(call(method, *params))
        self._delays: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Probe":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def restart(self) -> float:
        """Return the p99 so far in ms, and forget the delays."""
        delays, self._delays = sorted(self._delays), []
        return delays[min(int(len(delays) * 0.99), len(delays) - 1)] if delays else 0.0

    def _run(self) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                with Socket(self._port, _ADDRESS, 30.0) as line:
                    while not self._stop.is_set():
                        due += _INTERVAL
                        self._stop.wait(max(due - time.monotonic(), 0.0))
                        line.send(self._request)
                        line.response()
                        self._delays.append((time.monotonic() - due) * 1000)
            except (OSError, ValueError, IndexError):
                self._stop.wait(_INTERVAL)
