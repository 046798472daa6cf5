"""Sealed blocks of another node over JSON-RPC, for `foreseal db repair --from`."""

import http.client
import time
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit

import orjson

from foreseal.errors import NodeError

SECONDS = 60
"""Time limit of one response."""
ATTEMPTS = 3
"""Attempts at one request while the connection fails."""
MAX_RESPONSE = 192 << 20
"""Bytes of a response: the largest block, 64 MiB, in hex, and a margin."""
MAX_RATE_WAITS = 120
"""Number of waits for the rate limit of the node before one request fails."""


class RecoverySource:
    """A node that serves `debug_getRawBlock`, by its URL.

    Every method raises NodeError, which names the option.
    """

    def __init__(self, url: str, key: str | None = None) -> None:
        """Connect at the first request. Raise ValueError for an invalid URL."""
        self._url = _parsed(url)
        self._headers = {"Content-Type": "application/json"} | ({} if key is None else {"X-API-Key": key})
        self._connection: http.client.HTTPConnection | None = None

    @property
    def origin(self) -> str:
        """Return scheme, host and port. The rest of a URL may be secret."""
        return f"{self._url.scheme}://{self._url.netloc.rpartition('@')[2]}"

    def chain(self) -> tuple[int, bytes, int]:
        """Return chain id, hash of genesis and number of the newest sealed block."""
        chain_id, head = self._number(self._call("eth_chainId")), self._number(self._call("eth_blockNumber"))
        genesis = self.hash(0)
        if genesis is None:
            raise self._error("block 0 is missing")
        return chain_id, genesis, head

    def hash(self, number: int) -> bytes | None:
        """Return the hash of a sealed block; None if there is no such block."""
        block = self._call("eth_getBlockByNumber", hex(number), False)
        if block is None:
            return None
        block_hash = self._bytes(block.get("hash") if isinstance(block, dict) else block)
        if len(block_hash) != 32:
            raise self._error(f"the hash of block {number} has {len(block_hash)} bytes")
        return block_hash

    def block(self, number: int) -> bytes:
        """Return a sealed block as RLP."""
        return self._bytes(self._call("debug_getRawBlock", hex(number)))

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _call(self, method: str, *params: Any) -> Any:
        body = orjson.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        answer = self._exchange(method, body)
        if not isinstance(answer, dict):
            raise self._error(f"{method} returned an invalid JSON-RPC response")
        if error := answer.get("error"):
            text = f"{error.get('message')} ({error.get('code')})" if isinstance(error, dict) else str(error)
            raise self._error(f"{method} failed: {text}")
        return answer.get("result")

    def _exchange(self, method: str, body: bytes) -> Any:
        for _ in range(MAX_RATE_WAITS):
            response, text = self._post(body)
            if response.status == http.client.TOO_MANY_REQUESTS:
                time.sleep(_retry_after(response))
                continue
            try:
                return orjson.loads(text)
            except orjson.JSONDecodeError:
                raise self._error(f"{method} returned HTTP {response.status} without JSON") from None
        raise self._error(f"{method} was rate limited {MAX_RATE_WAITS} times: pass an API key with --from-key-file")

    def _post(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        """Send one request; a connection that fails is opened again."""
        failure: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                return self._post_once(body)
            except (OSError, http.client.HTTPException) as error:
                failure = error
                self.close()
        raise self._error(f"{type(failure).__name__}: {failure}")

    def _post_once(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        if self._connection is None:
            self._connection = self._connect()
        self._connection.request("POST", self._target, body, self._headers)
        response = self._connection.getresponse()
        text = response.read(MAX_RESPONSE + 1)
        if len(text) > MAX_RESPONSE:
            raise self._error(f"a response is larger than {MAX_RESPONSE:,} bytes")
        return response, text

    def _connect(self) -> http.client.HTTPConnection:
        kind = http.client.HTTPSConnection if self._url.scheme == "https" else http.client.HTTPConnection
        return kind(str(self._url.hostname), self._url.port, timeout=SECONDS)

    @property
    def _target(self) -> str:
        return (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")

    def _number(self, value: Any) -> int:
        try:
            return int(value, 16)
        except (TypeError, ValueError):
            raise self._error(f"expected a number in hex, got {value!r}") from None

    def _bytes(self, value: Any) -> bytes:
        try:
            return bytes.fromhex(value.removeprefix("0x"))
        except (AttributeError, ValueError):
            raise self._error(f"expected bytes in hex, got {str(value)[:80]!r}") from None

    def _error(self, why: str) -> NodeError:
        return NodeError("io", f"--from: {self.origin}: {why}")


def _retry_after(response: http.client.HTTPResponse) -> float:
    """Return the seconds to wait according to a response, by default 1."""
    text = response.headers.get("Retry-After", "")
    return min(float(text), SECONDS) if text.isdecimal() else 1.0


def read_key(path: Path) -> str:
    """Return the API key in a file. Raise NodeError if it has none."""
    key = path.read_text(errors="replace").strip()
    if not key or not key.isascii() or not key.isprintable():
        raise NodeError("settings", f"--from-key-file: {path} must contain one API key")
    return key


def _parsed(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is not a URL: {error}") from None
    if parts.scheme not in ("http", "https"):
        raise ValueError(f"must be a URL with http or https, got {url!r}")
    if not parts.hostname:
        raise ValueError(f"{url!r} has no host")
    return parts
