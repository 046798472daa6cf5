"""JSON-RPC endpoint of a node process, over TCP, TLS or a Unix socket."""

import http.client
import json
import ssl
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from foreseal.errors import NodeError
from foreseal.unix_http import UnixHttpConnection, failure_reason

TIMEOUT = 2.0
"""Time limit of a call in seconds."""
_MAX_ANSWER = 4 << 20


@dataclass(frozen=True, slots=True)
class RpcAnswer:
    """Result of a call and the seconds that it took."""

    result: Any
    seconds: float


class RpcEndpoint:
    """An endpoint by its URL: http://HOST:PORT, https://HOST:PORT or unix:PATH."""

    def __init__(self, url: str, ca: Path | None = None, timeout: float = TIMEOUT) -> None:
        """`ca` verifies the certificate of an https URL. Raises ValueError for an invalid URL."""
        self.url = url
        self._timeout = timeout
        self._ca = ca
        if url.startswith("unix:"):
            self._path = url.removeprefix("unix:")
            if not self._path:
                raise ValueError(f"expected unix:PATH, got {url!r}")
            return
        self._path = ""
        self._parts = urlsplit(url)
        if self._parts.scheme not in ("http", "https") or not self._parts.hostname:
            raise ValueError(f"expected http://HOST:PORT, https://HOST:PORT or unix:PATH, got {url!r}")
        _ = self._parts.port  # raises ValueError if it is invalid

    @classmethod
    def peer(cls, url: str, ca: Path | None = None) -> "RpcEndpoint":
        """Return the endpoint that another machine reported. Raises ValueError unless it is an http or https URL."""
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"expected http://HOST:PORT or https://HOST:PORT, got {url!r}")
        return cls(url, ca)

    def call(self, method: str, *params: Any) -> RpcAnswer:
        """Return the result of a call. Raises NodeError, kind "io" or "rpc"."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        begun = time.monotonic()
        try:
            connection = self._connect()
            try:
                connection.request("POST", "/", body, {"Content-Type": "application/json"})
                response = connection.getresponse()
                text = response.read(_MAX_ANSWER)
            finally:
                connection.close()
        except (OSError, http.client.HTTPException, UnicodeError) as error:  # UnicodeError: an invalid host name
            raise NodeError("io", f"{self.url} does not answer: {failure_reason(error)}") from None
        seconds = time.monotonic() - begun
        try:
            answer = json.loads(text)
        except (ValueError, RecursionError):
            raise NodeError("rpc", f"{self.url} returned HTTP {response.status} without JSON") from None
        if not isinstance(answer, dict) or "result" not in answer:
            raise NodeError("rpc", f"{self.url}: {method} failed: {_message(answer)}")
        return RpcAnswer(answer["result"], seconds)

    def _connect(self) -> http.client.HTTPConnection:
        if self._path:
            return UnixHttpConnection(self._path, self._timeout)
        host, port = str(self._parts.hostname), self._parts.port
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=None if self._ca is None else str(self._ca))
            return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, port, timeout=self._timeout)


def _message(answer: Any) -> str:
    error = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(error, dict):
        return "the answer has neither a result nor an error"
    return f"{error.get('message')} ({error.get('code')})"
