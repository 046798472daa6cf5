"""HTTP requests of `foreseal top`: bounded in time and size, and without redirects."""

import http.client
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson

from foreseal.top.fields import plain, quantity
from foreseal.unix_http import UnixHttpConnection, failure_reason

TIMEOUT = 3.0
"""Time limit of a request in seconds."""
_MAX_BODY = 16 << 20
_CHUNK = 1 << 16
_JSON_TYPE = {"Content-Type": "application/json"}
_SHOWN = 160


class SourceError(Exception):
    """A request without a usable response; the text is the reason and safe to print."""


@dataclass(frozen=True, slots=True)
class SourceReply:
    """A response."""

    status: int
    body: bytes


class HttpSource:
    """One server by its URL, over a connection that stays open. For one thread."""

    def __init__(
        self, url: str, headers: Mapping[str, str] | None = None, ca: Path | None = None, timeout: float = TIMEOUT
    ) -> None:
        """`ca` verifies the certificate of an https URL. Raises ValueError for an invalid URL."""
        parts = urlsplit(url)
        is_unix = url.startswith("unix:") and len(url) > len("unix:")
        if not is_unix and (parts.scheme not in ("http", "https") or not parts.hostname):
            raise ValueError(f"expected http://HOST:PORT, https://HOST:PORT or unix:PATH, got {url!r}")
        self.name = plain(url if is_unix else f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}")
        """URL that is safe to print, without user and query."""
        self._socket_path = url.removeprefix("unix:") if is_unix else ""
        self._prefix = "" if is_unix else parts.path.rstrip("/")
        self._host, self._port = parts.hostname or "localhost", None if is_unix else parts.port
        self._headers = dict(headers or {})
        self._timeout = timeout
        # Created once: loading the certificates of the system takes milliseconds.
        self._tls = _tls_context(ca) if parts.scheme == "https" else None
        self._connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> SourceReply:
        """Return the response to a GET request. Raises `SourceError`."""
        return self._exchange("GET", path, None)

    def call_batch(self, calls: Sequence[tuple[str, Sequence[Any]]]) -> list[Any]:
        """Return the results of JSON-RPC calls, with a `SourceError` for each that failed. Raises `SourceError`."""
        requests = [
            {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
            for ident, (method, params) in enumerate(calls)
        ]
        reply = self._exchange("POST", "/", orjson.dumps(requests))
        answers = parse_json(reply)
        if isinstance(answers, dict):
            raise SourceError(_message(answers.get("error")))
        listed = answers if isinstance(answers, list) else []
        answers_by_id = {quantity(each.get("id")): each for each in listed if isinstance(each, dict)}
        return [_outcome(answers_by_id.get(ident)) for ident in range(len(calls))]

    def close(self) -> None:
        """Close the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _exchange(self, method: str, path: str, body: bytes | None) -> SourceReply:
        deadline = time.monotonic() + self._timeout
        is_new = self._connection is None
        try:
            return self._once(method, path, body, deadline)
        except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
            self.close()
            if is_new or isinstance(error, TimeoutError | ValueError):
                raise SourceError(plain(failure_reason(error), _SHOWN)) from None
        # The server closed an idle connection.
        try:
            return self._once(method, path, body, deadline)
        except (OSError, http.client.HTTPException, UnicodeError, ValueError) as error:
            self.close()
            raise SourceError(plain(failure_reason(error), _SHOWN)) from None

    def _once(self, method: str, path: str, body: bytes | None, deadline: float) -> SourceReply:
        if self._connection is None:
            self._connection = self._connect()
        headers = self._headers | (_JSON_TYPE if body is not None else {})
        self._connection.request(method, f"{self._prefix}{path}", body, headers)
        response = self._connection.getresponse()
        content = bytearray()
        while chunk := response.read1(_CHUNK):
            content += chunk
            if len(content) > _MAX_BODY:
                raise ValueError(f"response larger than {_MAX_BODY:,} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError
        return SourceReply(response.status, bytes(content))

    def _connect(self) -> http.client.HTTPConnection:
        if self._socket_path:
            return UnixHttpConnection(self._socket_path, self._timeout)
        if self._tls is not None:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._tls)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def parse_json(reply: SourceReply) -> Any:
    """Return the JSON in a response. Raises `SourceError`."""
    try:
        return orjson.loads(reply.body)
    except orjson.JSONDecodeError:
        raise SourceError(f"HTTP {reply.status} without JSON") from None


def _tls_context(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except OSError as error:
        raise ValueError(f"{ca}: no usable certificates: {error}") from None


def _outcome(answer: Any) -> Any:
    if isinstance(answer, dict) and "result" in answer:
        return answer["result"]
    return SourceError(_message(answer.get("error") if isinstance(answer, dict) else None))


def _message(error: Any) -> str:
    if not isinstance(error, dict):
        return "the response has neither a result nor an error"
    code = error.get("code")
    return f"{plain(error.get('message'), _SHOWN)} ({code if isinstance(code, int) else '-'})"
