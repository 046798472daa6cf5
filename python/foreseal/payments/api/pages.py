"""Browser pages of the service: the files of a site, from memory."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.pages import StaticSite
from foreseal.payments.api.route import merchant_path

_NOT_MODIFIED = 304


def page_routes(site: StaticSite) -> list[StarletteRoute]:
    """Return the routes of a site."""

    async def answer(request: Request) -> Response:
        page = site.respond(request.method, merchant_path(request), dict(request.headers.raw))
        response = Response(b"" if request.method == "HEAD" else page.body, page.status)
        lines = list(page.headers)
        # The length of a 304 would have to be that of the file (RFC 9110, 8.6).
        if page.status != _NOT_MODIFIED:
            lines.append((b"content-length", str(len(page.body)).encode()))
        response.raw_headers = lines
        return response

    return [StarletteRoute(path, answer, methods=["GET"]) for path in (site.prefix, f"{site.prefix}/{{path:path}}")]
