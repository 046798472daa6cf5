"""Authentication of requests: an API key in `Authorization`, or the session of a browser that signed in with one.

```text
Authorization: Bearer pay_...     API key; a cookie is then ignored
Cookie: foreseal-session=...      session; X-CSRF-Token and Origin as well, unless the method only reads
```

Both lead to an API key, so a session has exactly the rights of its key.
"""

import hmac
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.requests import Request

from foreseal.payments.api.api_keys import KeyCache
from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.models import ApiKeyRecord
from foreseal.payments.api.sessions import OpenSession, Sessions

CSRF_HEADER = "X-CSRF-Token"
BACKGROUND_HEADER = "X-Background"
"""Header of a request that a page sends without its user, such as a refresh; it does not prolong the session."""
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The cookie with the id of a session."""

    public_url: str | None
    """URL at which browsers reach the service; None if each request has it in Host."""
    merchant: str | None
    """Name of the merchant if the process serves several; their cookies have different names."""

    @property
    def is_secure(self) -> bool:
        """True if browsers send the cookie over TLS only."""
        return self.public_url is not None and self.public_url.startswith("https://")

    @property
    def name(self) -> str:
        """Name of the cookie. Browsers enforce the attributes that the prefix implies."""
        name = "foreseal-session" if self.merchant is None else f"foreseal-session-{self.merchant}"
        return f"__Host-{name}" if self.is_secure else name

    def id(self, request: Request) -> str:
        """Return the id in a request; empty without one."""
        return request.cookies.get(self.name, "")

    def set(self, id: str, *, is_over_tls: bool = False) -> str:
        """Return the value of Set-Cookie; an empty id removes the cookie.

        `is_over_tls` is true if the page of the request came over TLS, although no public URL is configured.
        """
        attributes = ["Path=/", "HttpOnly", "SameSite=Strict"]
        if self.is_secure or is_over_tls:
            attributes.append("Secure")
        if not id:
            attributes.append("Max-Age=0")
        return "; ".join([f"{self.name}={id}", *attributes])

    def check_origin(self, request: Request) -> None:
        """Reject a request that a page of another origin sends. Raises `ApiError` 403."""
        headers, is_safe = request.headers, request.method in _SAFE_METHODS
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        # `none` is a navigation of the user, such as a bookmark of an export.
        if site not in ((None, "same-origin", "none") if is_safe else (None, "same-origin")):
            raise _cross_origin(f"Sec-Fetch-Site is {site}")
        if origin is not None:
            if not self._is_own(origin, request):
                raise _cross_origin(f"Origin is {origin!r:.200}")
        elif not is_safe and site is None:
            raise _cross_origin("Origin is missing")

    def _is_own(self, origin: str, request: Request) -> bool:
        if self.public_url is None:
            # A proxy may have ended TLS, so the scheme of the connection is not that of the origin.
            return origin.partition("://")[2] == request.headers.get("host", "")
        own = urlsplit(self.public_url)
        return origin == f"{own.scheme}://{own.netloc}"


@dataclass(frozen=True, slots=True)
class Authenticator:
    """Finds the API key of a request."""

    keys: KeyCache
    sessions: Sessions | None
    """None if there is no dashboard."""
    cookie: SessionCookie

    def is_cached(self, request: Request) -> bool:
        """Return True if `find` needs no database."""
        if "authorization" in request.headers:
            return self.keys.has(read_bearer(request))
        return self.sessions is None or self.sessions.cached(self.cookie.id(request)) is not None

    def find(self, request: Request) -> ApiKeyRecord | None:
        """Return the API key of a request; None without a valid one. Raises `ApiError` 403 for a forged request."""
        # A wrong API key is an error; it never falls back to the session.
        if "authorization" in request.headers:
            return self.keys.find(read_bearer(request))
        session = self.find_session(request)
        return None if session is None else session.key

    def find_session(self, request: Request) -> OpenSession | None:
        """Return the session of a request; None without a valid one. Raises `ApiError` 403 for a forged request."""
        id = self.cookie.id(request)
        if self.sessions is None or not id:
            return None
        self.cookie.check_origin(request)
        session = self.sessions.find(id, counts_as_use=BACKGROUND_HEADER not in request.headers)
        if session is not None and request.method not in _SAFE_METHODS:
            _check_token(session, request)
        return session


def read_bearer(request: Request) -> str:
    """Return the API key in the header of a request; empty without one."""
    scheme, _, text = request.headers.get("authorization", "").partition(" ")
    return text.strip() if scheme.lower() == "bearer" else ""


def _check_token(session: OpenSession, request: Request) -> None:
    given = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(given.encode(), session.csrf_token.encode()):
        message = f"a change by a session requires its {CSRF_HEADER}"
        raise ApiError(403, "invalid_csrf_token", message, CSRF_HEADER)


def _cross_origin(reason: str) -> ApiError:
    message = f"a session accepts requests of its own pages only: {reason}; behind a proxy, set dashboard.public_url"
    return ApiError(403, "cross_origin", message, "Origin")
