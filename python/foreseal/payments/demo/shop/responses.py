"""Responses of the demo shop with its security headers, and checks of requests."""

from collections.abc import Mapping
from pathlib import Path

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_FOLDER = Path(__file__).with_name("files")


class ShopResponses:
    """Builder of responses for a shop that sells by the service at `service_url`."""

    def __init__(self, service_url: str) -> None:
        """Load the files of the shop. Raises OSError."""
        policy = {
            "default-src": "'none'",
            "script-src": f"'self' {service_url}",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": "'self'",
            # Browsers check the target of the redirect to the checkout as well.
            "form-action": f"'self' {service_url}",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        self._headers = {
            "content-security-policy": "; ".join(f"{name} {value}" for name, value in policy.items()),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            # With `no-referrer`, browsers would send forms without the origin that `check_origin` needs.
            "referrer-policy": "same-origin",
            # The payment button opens a window of another origin, and receives its messages.
            "cross-origin-opener-policy": "same-origin-allow-popups",
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "no-store",
        }
        self._files = {path.name: path.read_bytes() for path in _FOLDER.iterdir() if path.suffix in _TYPES}

    def page(self, html: str, status: int = 200) -> Response:
        """Return a page."""
        return self._respond(html.encode(), "text/html", status)

    def text(self, text: str, status: int = 200) -> Response:
        """Return plain text."""
        return self._respond(text.encode(), "text/plain", status)

    def json(self, body: bytes, status: int = 200) -> Response:
        """Return a body that is JSON."""
        return self._respond(body, "application/json", status)

    def redirect(self, url: str) -> Response:
        """Return a redirect after a form was sent."""
        return self._respond(b"", "text/plain", 303, {"location": url})

    def file(self, name: str) -> Response:
        """Return a file of the shop. Raises HTTPException 404."""
        body = self._files.get(name)
        if body is None:
            raise HTTPException(404, "This file does not exist.")
        return self._respond(body, _TYPES[Path(name).suffix])

    def _respond(
        self, body: bytes, media_type: str, status: int = 200, headers: Mapping[str, str] | None = None
    ) -> Response:
        return Response(body, status, {**self._headers, **(headers or {})}, media_type)


def check_origin(request: Request, origin: str) -> None:
    """Raise HTTPException 403 unless a page of the shop sent the request (CSRF)."""
    if request.headers.get("origin") != origin:
        raise HTTPException(403, "Only pages of this shop may send this request.")


async def read_limited(request: Request, max_size: int) -> bytes:
    """Return the body. Raises HTTPException 413 if it is larger than `max_size` bytes."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_size:
            raise HTTPException(413, f"The body is larger than {max_size} bytes.")
    return bytes(body)
