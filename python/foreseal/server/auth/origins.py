"""Access checks of HTTP requests: the Host header, and the origins of web pages."""

import re
from collections.abc import Mapping

from foreseal.pages import StaticSite
from foreseal.server.settings.model import Settings
from foreseal.server.sockets.address import is_loopback

Headers = Mapping[bytes, bytes]

_EXPOSED = (b"access-control-expose-headers", b"x-foreseal-view, retry-after")
_VARY = (b"vary", b"origin")
_PREFLIGHT = [
    (b"access-control-allow-methods", b"POST, GET, OPTIONS"),
    (b"access-control-allow-headers", b"content-type, authorization, x-api-key"),
    (b"access-control-allow-private-network", b"true"),
    (b"access-control-max-age", b"86400"),
]
_LOOPBACK = re.compile(r"https?://([^/:\[\]]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")


class Origins:
    """Origins of pages that may read responses (CORS) and open WebSockets."""

    def __init__(self, names: frozenset[str], *, loopback: bool, own: bool = False) -> None:
        """Accept pages of `names`. With `loopback`, accept loopback origins too and reject pages of all others.

        `own` accepts pages of the endpoint itself, such as the explorer: the Host header names their origin.
        """
        self.is_open = bool(names) or loopback
        """True if pages of some origin may call."""
        self.is_strict = loopback
        """True if requests of pages of other origins are rejected, instead of answered without CORS headers."""
        self._any = "*" in names
        self._names = names
        self._loopback = loopback
        self._own = own

    def accepts(self, headers: Headers) -> bool:
        """Return True if a page of the request's origin may call."""
        origin = headers.get(b"origin", b"").decode("latin-1").lower()
        if self._any or origin in self._names:
            return True
        # A proxy may end TLS, so the scheme is not compared.
        if self._own and origin.partition("://")[2] == headers.get(b"host", b"").decode("latin-1").lower() != "":
            return True
        found = _LOOPBACK.fullmatch(origin) if self._loopback else None
        return found is not None and _is_loopback(found[1].strip("[]"))

    def rejects(self, headers: Headers) -> bool:
        """Return True if the request of a page is rejected."""
        return self.is_strict and b"origin" in headers and not self.accepts(headers)

    def cors(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the header lines that let a page read the response to its request."""
        if b"origin" not in headers or not self.is_open:
            return []
        if not self.accepts(headers):
            return [_VARY]
        return [(b"access-control-allow-origin", headers[b"origin"]), _EXPOSED, _VARY]

    def preflight(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the header lines of the response to a preflight request."""
        lines = self.cors(headers)
        return [*lines, *_PREFLIGHT] if len(lines) > 1 else lines


class Hosts:
    """Host names that requests may carry.

    A development node has unlocked keys. To the browser, a page whose own name resolves to the loopback address (DNS
    rebinding) is same-origin; only this header distinguishes it.
    """

    def __init__(self, names: frozenset[str], *, any_by_default: bool) -> None:
        self._any = "*" in names or (any_by_default and not names)
        self._names = names

    def accepts(self, headers: Headers) -> bool:
        """Return True if the Host header, port ignored, is a loopback name or an allowed one."""
        if self._any:
            return True
        name = _host_name(headers.get(b"host", b"").decode("latin-1"))
        return name in self._names or _is_loopback(name)


def endpoint_hosts(settings: Settings) -> Hosts:
    """Return the accepted host names of requests to the endpoint."""
    return Hosts(settings.hosts, any_by_default=not settings.browsers)


def endpoint_origins(settings: Settings, site: StaticSite | None) -> Origins:
    """Return the origins of pages that may call the endpoint, which has pages itself if it serves a site."""
    return Origins(settings.access.origins, loopback=settings.browsers, own=site is not None)


def admin_hosts(settings: Settings) -> Hosts:
    """Return the accepted host names of requests to the admin listener; `*` has no effect there."""
    return Hosts(settings.hosts - {"*"}, any_by_default=False)


def _host_name(value: str) -> str:
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].rstrip(".").lower()


def _is_loopback(name: str) -> bool:
    return is_loopback(name) or name.endswith(".localhost")
