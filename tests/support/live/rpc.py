"""JSON-RPC over HTTP without a client library, so that a test sees the exact response."""

import contextlib
import http.client
import itertools
import json
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

TIMEOUT = 30.0

JSON_TYPE = {"Content-Type": "application/json"}


class RpcFailure(Exception):
    """A JSON-RPC error object; `data` is None if the object has none."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error)
        self.code: int = error["code"]
        self.message: str = error["message"]
        self.data: Any = error.get("data")


class HttpAnswer(NamedTuple):
    """A complete HTTP response; header names are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body as JSON."""
        return json.loads(self.body)


class Rpc:
    """Calls one endpoint over one keep-alive connection."""

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        """`timeout` is the time limit of one call, in seconds."""
        parts = urlsplit(url)
        assert parts.hostname
        self.url = url
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname, parts.port, timeout=timeout)
        self._ids = itertools.count(1)

    def __call__(self, method: str, *params: Any) -> Any:
        """Return the result of a call. Raise `RpcFailure`."""
        answer = self.envelope(method, *params)
        if "error" in answer:
            raise RpcFailure(answer["error"])
        return answer["result"]

    def envelope(self, method: str, *params: Any) -> dict[str, Any]:
        """Return the whole response object of a call: a result or an error for its id."""
        ident = next(self._ids)
        request = _request(ident, method, params)
        kept = self.is_connected
        try:
            answer = self.post(request).json()
        except http.client.RemoteDisconnected:
            if not kept:
                raise
            # The server closed the idle connection while the request was on its way, so it did not read it.
            answer = self.post(request).json()
        assert answer["jsonrpc"] == "2.0"
        assert answer["id"] == ident
        assert ("error" in answer) != ("result" in answer)
        return dict(answer)

    def http_call(self, method: str, *params: Any) -> HttpAnswer:
        """Return the HTTP response of a call, which may have any status and content."""
        return self.post(_request(next(self._ids), method, params))

    def batch(self, *calls: tuple[str, *tuple[Any, ...]]) -> list[Any]:
        """Return the results of calls, each a method and its params, served from one view. Raise `RpcFailure`."""
        requests = [
            {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
            for ident, (method, *params) in enumerate(calls)
        ]
        answers = self.post(json.dumps(requests).encode()).json()
        assert [answer["id"] for answer in answers] == list(range(len(calls)))
        for answer in answers:
            if "error" in answer:
                raise RpcFailure(answer["error"])
        return [answer["result"] for answer in answers]

    def post(self, body: bytes, headers: dict[str, str] = JSON_TYPE) -> HttpAnswer:
        """POST a body unchanged."""
        return self.request("POST", "/", body, headers)

    def request(
        self, verb: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> HttpAnswer:
        """Send any HTTP request."""
        try:
            # A server that rejects a request by its head may close before the body is sent; its response is readable.
            with contextlib.suppress(BrokenPipeError):
                self._connection.request(verb, path, body, headers or {})
            response = self._connection.getresponse()
            answer = response.read()
        except BaseException:
            self._connection.close()
            raise
        return HttpAnswer(response.status, {name.lower(): value for name, value in response.getheaders()}, answer)

    @property
    def is_connected(self) -> bool:
        """True while the connection is open, as far as this end has noticed."""
        return self._connection.sock is not None

    def local_port(self) -> int:
        """Return the local port of the connection, which must be open."""
        return int(self._connection.sock.getsockname()[1])

    def close(self) -> None:
        """Close the connection; the next call opens a new one."""
        self._connection.close()


def _request(ident: int, method: str, params: Sequence[Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": ident, "method": method, "params": params}).encode()
