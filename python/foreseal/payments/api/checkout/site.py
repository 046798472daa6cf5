"""The checkout page: its document at `/checkout/ORDER`, and its files below `/checkout/static/`."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.pages import StaticSite
from foreseal.payments.api.route import merchant_path

BUTTON = "checkout/button.js"
"""The only file that pages of other origins may load."""


def page_routes() -> list[StarletteRoute]:
    """Return the routes of the page, whose files are loaded now."""
    site = StaticSite("checkout", shared=[BUTTON], has_opener=True)

    async def respond(request: Request) -> Response:
        headers = {name.lower(): value for name, value in request.scope["headers"]}
        found = site.respond(request.method, merchant_path(request), headers)
        response = Response(found.body, found.status)
        length = [(b"content-length", str(len(found.body)).encode())]
        response.raw_headers = [*found.headers, *length]
        return response

    return [StarletteRoute(f"{site.prefix}/{{path:path}}", respond, methods=["GET", "HEAD"])]
