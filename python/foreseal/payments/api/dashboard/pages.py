"""The pages of the dashboard, from memory."""

import functools

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as StarletteRoute

from foreseal.pages import StaticSite


@functools.cache
def _files() -> StaticSite:
    """Return the files, which all merchants of a process share."""
    return StaticSite("dashboard")


def page_routes(merchant: str | None) -> list[StarletteRoute]:
    """Return the routes of the pages. The paths of a named merchant begin with its name."""
    site = _files() if merchant is None else _files().mounted_at(f"/{merchant}")

    async def answer(request: Request) -> Response:
        path = str(request.scope["path"]).removeprefix(request.scope.get("root_path", ""))
        found = site.respond(request.method, path, dict(request.headers.raw))
        response = Response(b"" if request.method == "HEAD" else found.body, found.status)
        response.raw_headers = [*found.headers, (b"content-length", str(len(found.body)).encode())]
        return response

    return [StarletteRoute(path, answer, methods=["GET"]) for path in ("/dashboard", "/dashboard/{path:path}")]
