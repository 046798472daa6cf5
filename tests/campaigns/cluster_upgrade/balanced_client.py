"""A client behind a load balancer, with one connection that it opens again when the balancer has closed it."""

import http.client
import time
from typing import Any

from live.rpc import Rpc

_TIMEOUT = 10.0
_CLOSED = (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError)


class CallFailed(Exception):
    """A call has no result: an error of the node, of the balancer, or of the connection."""


class BalancedClient:
    """A client of JSON-RPC. Not thread-safe."""

    def __init__(self, port: int) -> None:
        self.reopened = 0
        """Number of calls that were sent again, as an idle connection had been closed."""
        self._rpc = Rpc(f"http://127.0.0.1:{port}", _TIMEOUT)

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raises CallFailed.

        As every HTTP client does, it repeats a call once whose idle connection was closed before a response began.
        """
        was_connected = self._rpc.is_connected
        try:
            try:
                return self._result(method, params)
            except _CLOSED:
                if not was_connected:
                    raise
                self.reopened += 1
                return self._result(method, params)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise CallFailed(f"{method}: {error!r}") from None

    def close(self) -> None:
        """Close the connection."""
        self._rpc.close()

    def _result(self, method: str, params: tuple[Any, ...]) -> Any:
        response = self._rpc.http_call(method, *params)
        if response.status != http.client.OK:
            self.close()
            raise CallFailed(f"{method}: HTTP {response.status} {response.body[:200]!r} at {time.monotonic():.3f}")
        answer = response.json()
        if "error" in answer:
            raise CallFailed(f"{method}: {answer['error']}")
        return answer["result"]
