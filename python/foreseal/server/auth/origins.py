"""Access checks of HTTP requests: the Host header, and the origins of web pages."""

import re
from collections.abc import Mapping

from foreseal.pages import StaticSite
from foreseal.server.settings.model import Settings
from foreseal.server.settings.origin_name import normalize_origin
from foreseal.server.sockets.address import is_loopback

Headers = Mapping[bytes, bytes]

_EXPOSED = (b"access-control-expose-headers", b"x-foreseal-view, retry-after")
_VARY = (b"vary", b"origin")
_ALLOWED_HEADERS = (b"content-type", b"authorization", b"x-api-key")
_PREFLIGHT = [
    (b"access-control-allow-methods", b"POST, GET, OPTIONS"),
    (b"access-control-allow-private-network", b"true"),
    (b"access-control-max-age", b"86400"),
]
# Names of header fields (RFC 9110, section 5.6.2), separated by commas.
_FIELD_NAMES = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*")
# Longest list of field names that a preflight response repeats, in bytes.
_MAX_FIELD_NAMES = 4096
_LOOPBACK = re.compile(r"https?://([^/:\[\]]+|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?")
# Origins of installed programs: browser extensions, and pages of desktop and mobile frameworks. No website has them.
_INSTALLED = re.compile(r"(?:chrome-extension|moz-extension|safari-web-extension|capacitor|tauri|ionic)://[^/?#@\s]+")


def has_page_origin(headers: Headers) -> bool:
    """Return True if the request has an `Origin` that a browser sends for a page: a scheme and a host, or `null`.

    Programs that are no browsers send other values, which count as absent.
    """
    value = headers.get(b"origin")
    return value is not None and (b"://" in value or value.strip().lower() == b"null")


class Origins:
    """Origins of pages that may read responses (CORS) and open WebSockets."""

    def __init__(self, names: frozenset[str], *, loopback: bool, own: bool = False) -> None:
        """Accept pages of `names`. With `loopback`, accept loopback origins too and reject pages of all others.

        With `loopback`, installed programs such as browser extensions are accepted as well, with restrictions: see
        `restricts`. `own` accepts pages of the endpoint itself, such as the explorer: the Host header names their
        origin.
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
        return self._is_trusted(headers) or self._is_installed(headers)

    def restricts(self, headers: Headers) -> bool:
        """Return True if the page may call only methods that use no unlocked account and change no development chain.

        A user may have installed the program for another purpose: it may use such a node as any other.
        """
        return self._is_installed(headers) and not self._is_trusted(headers)

    def rejects(self, headers: Headers) -> bool:
        """Return True if the request of a page is rejected."""
        return self.is_strict and has_page_origin(headers) and not self.accepts(headers)

    def cors(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the header lines that let a page read the response to its request."""
        if not self.is_open or not has_page_origin(headers):
            return []
        if not self.accepts(headers):
            return [_VARY]
        return [(b"access-control-allow-origin", headers[b"origin"]), _EXPOSED, _VARY]

    def preflight(self, headers: Headers) -> list[tuple[bytes, bytes]]:
        """Return the header lines of the response to a preflight request; they allow the headers that it names."""
        lines = self.cors(headers)
        if len(lines) < 2:
            return lines
        return [*lines, (b"access-control-allow-headers", _allowed_headers(headers)), *_PREFLIGHT]

    def _is_trusted(self, headers: Headers) -> bool:
        origin = _origin(headers)
        if self._any or origin in self._names or normalize_origin(origin) in self._names:
            return True
        # A proxy may end TLS, so the scheme is not compared.
        if self._own and origin.partition("://")[2] == headers.get(b"host", b"").decode("latin-1").lower() != "":
            return True
        match = _LOOPBACK.fullmatch(origin) if self._loopback else None
        return match is not None and _is_loopback(match[1].strip("[]"))

    def _is_installed(self, headers: Headers) -> bool:
        return self._loopback and _INSTALLED.fullmatch(_origin(headers)) is not None


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


def wrong_origin(headers: Headers) -> str:
    """Return the reason for the rejection of a page, with the option that accepts it."""
    origin = normalize_origin(_origin(headers))
    if origin is None:
        return "origin not allowed: it is neither null nor SCHEME://HOST[:PORT]"
    return f"origin not allowed: allow it with --allowed-origin {origin}"


def endpoint_hosts(settings: Settings) -> Hosts:
    """Return the accepted host names of requests to the endpoint."""
    return Hosts(settings.hosts, any_by_default=not settings.browsers)


def endpoint_origins(settings: Settings, site: StaticSite | None) -> Origins:
    """Return the origins of pages that may call the endpoint, which has pages itself if it serves a site."""
    return Origins(settings.access.origins, loopback=settings.browsers, own=site is not None)


def admin_hosts(settings: Settings) -> Hosts:
    """Return the accepted host names of requests to the admin listener; `*` has no effect there."""
    return Hosts(settings.hosts - {"*"}, any_by_default=False)


def _origin(headers: Headers) -> str:
    return headers.get(b"origin", b"").decode("latin-1").lower()


def _allowed_headers(headers: Headers) -> bytes:
    """Return the list of headers that a page may send: those of calls, and those that its preflight request names."""
    requested = headers.get(b"access-control-request-headers", b"").strip().lower()
    if len(requested) > _MAX_FIELD_NAMES or _FIELD_NAMES.fullmatch(requested) is None:
        return b", ".join(_ALLOWED_HEADERS)
    return b", ".join(dict.fromkeys((*_ALLOWED_HEADERS, *(name.strip() for name in requested.split(b",")))))


def _host_name(value: str) -> str:
    if value.startswith("["):
        return value[1:].partition("]")[0].lower()
    return value.partition(":")[0].rstrip(".").lower()


def _is_loopback(name: str) -> bool:
    return is_loopback(name) or name.endswith(".localhost")
