"""The endpoint of the reference page."""

import base64
import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.payments.api.reference.page import render_page
from foreseal.payments.api.reference.style import STYLE

PATH = "/docs"
MAX_AGE = 300
"""Seconds for which a browser uses its copy without a request."""
_STYLE_HASH = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


@dataclass(frozen=True, slots=True)
class _CachedPage:
    body: bytes
    etag: str


def reference_route(document: Callable[[], Mapping[str, object]]) -> StarletteRoute:
    """Return the route of the page, which is rendered for the first request."""

    @functools.cache
    def page() -> _CachedPage:
        body = render_page(document()).encode()
        return _CachedPage(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')

    # Starlette calls a function that is not a coroutine on a thread, so rendering does not block the event loop.
    def answer(request: Request) -> Response:
        rendered = page()
        headers = {
            "cache-control": f"public, max-age={MAX_AGE}",
            "content-security-policy": _POLICY,
            "etag": rendered.etag,
            "referrer-policy": "no-referrer",
            "x-content-type-options": "nosniff",
        }
        if _matches(request.headers.get("if-none-match", ""), rendered.etag):
            return Response(status_code=304, headers=headers)
        return Response(rendered.body, headers=headers, media_type="text/html")

    return StarletteRoute(PATH, answer, methods=["GET"])


def _matches(condition: str, etag: str) -> bool:
    tags = {tag.strip().removeprefix("W/") for tag in condition.split(",")}
    return etag in tags or "*" in tags
