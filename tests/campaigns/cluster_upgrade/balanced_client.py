"""A client behind a load balancer, with one connection that it opens again when the balancer has closed it."""

import http.client
import time
from typing import Any

import orjson

_TIMEOUT = 10.0


class CallFailed(Exception):
    """A call has no result: an error of the node, of the balancer, or of the connection."""


class BalancedClient:
    """A client of JSON-RPC. Not thread-safe."""

    def __init__(self, port: int) -> None:
        self.reopened = 0
        """Number of calls that were sent again, as an idle connection had been closed."""
        self._port = port
        self._connection: http.client.HTTPConnection | None = None

    def call(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raises CallFailed.

        As every HTTP client does, it repeats a call once whose idle connection was closed before a response began.
        """
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        was_idle = self._connection is not None
        try:
            answer = self._exchange(body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            if not was_idle:
                raise CallFailed(f"{method}: {error!r}") from None
            self.reopened += 1
            return self._second_call(method, body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise CallFailed(f"{method}: {error!r}") from None
        return _result(method, answer)

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _second_call(self, method: str, body: bytes) -> Any:
        try:
            answer = self._exchange(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            raise CallFailed(f"{method}: {error!r}") from None
        return _result(method, answer)

    def _exchange(self, body: bytes) -> dict[str, Any]:
        if self._connection is None:
            self._connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_TIMEOUT)
        self._connection.request("POST", "/", body, {"Content-Type": "application/json"})
        response = self._connection.getresponse()
        data = response.read()
        if response.status != http.client.OK:
            self.close()
            return {"error": f"HTTP {response.status} {data[:200]!r} at {time.monotonic():.3f}"}
        return dict(orjson.loads(data))


def _result(method: str, answer: dict[str, Any]) -> Any:
    if "error" in answer:
        raise CallFailed(f"{method}: {answer['error']}")
    return answer["result"]
