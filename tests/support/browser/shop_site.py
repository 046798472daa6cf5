"""Website of a shop: pages at an origin other than the service's, and an endpoint that creates orders."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer

import orjson

from http_thread import QuietHandler, running_server

_PAGE = """<!doctype html>
<html lang="en">
  <head><meta charset="utf-8" /><title>Shop</title><link rel="icon" href="data:," /></head>
  <body><main><h1>Shop</h1>{body}</main></body>
</html>"""

CreateOrder = Callable[[], tuple[int, object]]
"""Returns status and JSON of the response to a POST."""


class ShopSite:
    """Pages of a shop. Every path has the page `body`; a POST to any path calls `create_order`."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.url = f"http://127.0.0.1:{server.server_address[1]}"
        self.body = ""
        self.create_order: CreateOrder = lambda: (404, {})
        self.orders = 0
        """Number of POSTs."""

    def show_button(self, service: str, **data: str) -> None:
        """Show a page with the payment button of a service; `data` are attributes such as `order_url`."""
        attributes = " ".join(f'data-{name.replace("_", "-")}="{value}"' for name, value in data.items())
        script = f'<script src="{service}/checkout/static/checkout/button.js" {attributes}></script>'
        self.body = f"<p>A book</p>{script}"


@contextmanager
def shop_site() -> Iterator[ShopSite]:
    """Yield a running site at an origin of its own."""
    site: ShopSite | None = None

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            assert site is not None, "the site starts after its server"
            self.respond(200, _PAGE.format(body=site.body).encode(), content_type="text/html; charset=utf-8")

        def do_POST(self) -> None:
            assert site is not None, "the site starts after its server"
            site.orders += 1
            status, content = site.create_order()
            self.respond(status, orjson.dumps(content), content_type="application/json")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site = ShopSite(server)
    with running_server(server):
        yield site
