"""Transport of webhooks: HTTP POST to one target, only to addresses that its policy allows.

The addresses of a name are checked when a connection is opened, and the connection goes to a checked address without
another resolution. A name that changes its addresses afterwards (DNS rebinding) therefore gains nothing.
"""

import asyncio
import email.utils
import errno
import socket
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from foreseal.payments.configuration.webhook_targets import AddressPolicy, TargetForbidden, check_url

ATTEMPT_TIMEOUT = 10.0
"""Maximum seconds from the start of an attempt to the status of the response."""
MAX_RESPONSE_SIZE = 64 * 1024
"""Bytes of a response's body that are read. The connection of a longer response is closed."""

# Seconds for the body of a response whose status is known already.
_BODY_TIMEOUT = 1.0
# Seconds that an idle connection stays open; common servers close theirs after 5 s or more.
_KEEP_ALIVE = 4.0
_DNS_CACHE = 10
_HEADERS = {"content-type": "application/json", "user-agent": "foreseal-webhooks"}

AddressInfo = tuple[int, int, int, str, tuple[str | int | bytes, ...]]
"""Family, type, protocol, canonical name and address, as `socket.getaddrinfo` returns them."""
GetAddrInfo = Callable[..., Sequence[AddressInfo]]
"""`socket.getaddrinfo`."""


class PostFailed(Exception):
    """A POST without a response, with the reason."""


@dataclass(frozen=True, slots=True)
class PostResponse:
    """Response of a target."""

    status: int
    retry_after: str | None = None
    """Header Retry-After."""


class WebhookTransport(Protocol):
    """Connection to one target. Used on one event loop."""

    async def post(self, body: bytes, headers: Mapping[str, str]) -> PostResponse:
        """Post a body. Raises `PostFailed`."""

    async def close(self) -> None:
        """Close all connections."""


class CheckedResolver(AbstractResolver):
    """Resolver that returns addresses only if the policy allows all of them."""

    def __init__(self, policy: AddressPolicy, getaddrinfo: GetAddrInfo = socket.getaddrinfo) -> None:
        self._policy = policy
        self._getaddrinfo = getaddrinfo
        self._lookups: dict[tuple[str, int], asyncio.Future[Sequence[AddressInfo]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a name. Raises OSError, and `TargetForbidden` for a forbidden address."""
        # A lookup may outlive the attempt that started it. Later attempts wait for it instead of adding another.
        key = (host, port)
        if key not in self._lookups:
            self._lookups[key] = self._start(host, port)
            self._lookups[key].add_done_callback(lambda _: self._lookups.pop(key))
        addresses: list[ResolveResult] = []
        for kind, _, protocol, _, address in await asyncio.shield(self._lookups[key]):
            checked = str(address[0])
            self._policy.check(checked)
            flags = socket.AI_NUMERICHOST | socket.AI_NUMERICSERV
            addresses.append(
                ResolveResult(hostname=host, host=checked, port=port, family=kind, proto=protocol, flags=flags)
            )
        return addresses

    async def close(self) -> None:
        """Do nothing: lookups end by themselves."""

    def _start(self, host: str, port: int) -> asyncio.Future[Sequence[AddressInfo]]:
        """Resolve a name in a thread of its own. A slow name server delays neither other targets nor the exit."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Sequence[AddressInfo]] = loop.create_future()
        # An error that no attempt waits for any more is not reported.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())

        def finish(result: Sequence[AddressInfo] | None, error: Exception | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result or [])
            else:
                future.set_exception(error)

        def work() -> None:
            result, failure = None, None
            try:
                result = self._getaddrinfo(host, port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                failure = OSError(errno.EHOSTUNREACH, f"{host} cannot be resolved: {error}")
            try:
                loop.call_soon_threadsafe(finish, result, failure)
            except RuntimeError:  # the loop is closed
                return

        threading.Thread(target=work, name="webhook lookup", daemon=True).start()
        return future


class WebhookHttpTransport:
    """Transport with persistent connections."""

    def __init__(
        self,
        url: str,
        policy: AddressPolicy,
        getaddrinfo: GetAddrInfo = socket.getaddrinfo,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """Check the URL. No connection is opened. A forbidden URL makes each `post` fail."""
        self._policy = policy
        self._getaddrinfo = getaddrinfo
        self._tls = tls
        self._session: aiohttp.ClientSession | None = None
        self._url = URL("http://invalid.invalid/")
        self._forbidden: str | None = None
        try:
            host = check_url(url, policy)
            self._url = URL(url)
            if (self._url.host or "").lower() != host.lower():
                self._forbidden = f"{host!r} is an ambiguous host name"
        except TargetForbidden as error:
            self._forbidden = str(error)
        except ValueError as error:
            self._forbidden = f"is not a URL: {error}"

    async def post(self, body: bytes, headers: Mapping[str, str]) -> PostResponse:
        """Post a body. Redirects are not followed. Raises `PostFailed`."""
        if self._forbidden is not None:
            raise PostFailed(f"url {self._forbidden}")
        session = self._opened()
        try:
            async with session.post(self._url, data=body, headers=headers, allow_redirects=False) as response:
                post_response = PostResponse(response.status, response.headers.get("retry-after"))
                await _discard(response)
                return post_response
        except TimeoutError:
            raise PostFailed(f"no response within {ATTEMPT_TIMEOUT:g} s") from None
        except TargetForbidden as error:
            raise PostFailed(f"url {error}") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise PostFailed(f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close all connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            connector = aiohttp.TCPConnector(
                limit=0,  # the dispatcher limits the number of attempts
                ttl_dns_cache=_DNS_CACHE,
                keepalive_timeout=_KEEP_ALIVE,
                resolver=CheckedResolver(self._policy, self._getaddrinfo),
                ssl=True if self._tls is None else self._tls,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                timeout=aiohttp.ClientTimeout(total=ATTEMPT_TIMEOUT),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers=_HEADERS,
                skip_auto_headers=("accept", "accept-encoding"),
                auto_decompress=False,
            )
        return self._session


async def _discard(response: aiohttp.ClientResponse) -> None:
    """Read the end of a short response, so that its connection can be used again. A longer one is closed."""
    size = 0
    try:
        async with asyncio.timeout(_BODY_TIMEOUT):
            while chunk := await response.content.readany():
                size += len(chunk)
                if size > MAX_RESPONSE_SIZE:
                    return
    except (aiohttp.ClientError, OSError, TimeoutError):  # the status counts
        response.close()


def parse_retry_after(text: str | None, now: float) -> float:
    """Return the seconds of a header Retry-After, which has seconds or a date; 0 if it is absent or invalid."""
    if text is None:
        return 0.0
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        return max(email.utils.parsedate_to_datetime(text).timestamp() - now, 0.0)
    except (ValueError, TypeError, OverflowError):
        return 0.0


OpenTransport = Callable[[str, AddressPolicy], WebhookTransport]
"""Function that returns the transport to a URL."""
