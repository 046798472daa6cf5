"""Calls over HTTP with httpx."""

import asyncio
import time
from typing import Any

from foreseal.client.errors import ConnectionLost, InvalidResponse, TimedOut
from foreseal.client.http_errors import error_from_status
from foreseal.client.optional_packages import import_optional
from foreseal.client.options import Options
from foreseal.client.urls import origin

httpx = import_optional("httpx")

_HEADERS = {"content-type": "application/json"}
# Most connections. httpx closes each idle one while more than `max_keepalive_connections`, 20 by default, exist.
_MAX_CONNECTIONS = 100


class HttpTransport:
    """Blocking calls to one URL."""

    dial = None
    """None: over HTTP a feed polls."""

    def __init__(self, url: str, options: Options) -> None:
        self._url = url
        self._client = httpx.Client(headers=_HEADERS | options.headers(), limits=_limits())
        self._max_size = options.max_response_size

    def exchange(self, body: bytes, seconds: float) -> bytes:
        """Send a request body and return the body of the response."""
        content = _BoundedBody(self._max_size)
        try:
            with self._client.stream("POST", self._url, content=body, timeout=seconds) as response:
                for chunk in response.iter_bytes():
                    content.add(chunk)
            return _answer(response, content.joined())
        except httpx.HTTPError as error:
            raise _explained(error, self._url, seconds) from error

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class AsyncHttpTransport:
    """Calls under asyncio to one URL, or to an ASGI application in this process without a socket."""

    dial = None
    """None: over HTTP a feed polls."""

    def __init__(self, url: str, options: Options, app: Any = None) -> None:
        self._url = url
        carrier = None if app is None else httpx.ASGITransport(app)
        self._client = httpx.AsyncClient(headers=_HEADERS | options.headers(), limits=_limits(), transport=carrier)
        self._max_size = options.max_response_size

    async def exchange(self, body: bytes, seconds: float) -> bytes:
        """Send a request body and return the body of the response."""
        content = _BoundedBody(self._max_size)
        try:
            # httpx limits each of its phases separately; this limits the whole exchange.
            async with (
                asyncio.timeout(seconds),
                self._client.stream("POST", self._url, content=body, timeout=seconds) as response,
            ):
                async for chunk in response.aiter_bytes():
                    content.add(chunk)
            return _answer(response, content.joined())
        except httpx.HTTPError as error:
            raise _explained(error, self._url, seconds) from error
        except TimeoutError as error:
            raise _late(seconds) from error

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _limits() -> Any:
    return httpx.Limits(max_connections=_MAX_CONNECTIONS, max_keepalive_connections=_MAX_CONNECTIONS)


class _BoundedBody:
    """The body of a response as it arrives. A larger one is not read to its end."""

    def __init__(self, max_size: int | None) -> None:
        self._max_size = max_size
        self._size = 0
        self._chunks: list[bytes] = []

    def add(self, chunk: bytes) -> None:
        """Add a chunk. Raises `InvalidResponse` above the limit."""
        self._size += len(chunk)
        if self._max_size is not None and self._size > self._max_size:
            raise InvalidResponse(f"the response exceeds {self._max_size} bytes")
        self._chunks.append(chunk)

    def joined(self) -> bytes:
        """Return the whole body."""
        return b"".join(self._chunks)


def _answer(response: Any, body: bytes) -> bytes:
    """Return the body of a JSON-RPC response of any status."""
    if response.headers.get("content-type", "").startswith("application/json"):
        return body
    raise error_from_status(response.status_code, body)


def _explained(error: Any, url: str, seconds: float) -> Exception:
    if isinstance(error, httpx.TimeoutException):
        return _late(seconds)
    return ConnectionLost(f"{origin(url)}: {type(error).__name__}: {error}")


def _late(seconds: float) -> TimedOut:
    return TimedOut(f"no response within {seconds:g} s")
