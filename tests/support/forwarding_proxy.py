"""A proxy that forwards requests to a node, and sees or changes each exchange."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

from http_thread import QuietHandler, running_server

Exchange = Callable[[bytes, bytes], bytes]
"""Returns the response to send, from a request and the node's response."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Report an error, except that a client which ends resets its connections."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


@contextmanager
def forwarded(url: str, exchange: Exchange) -> Iterator[str]:
    """Serve a proxy to the node at `url`; yield its URL. `exchange` may run on several threads at once."""

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = self.read_body()
            with urlopen(Request(url, request, {"Content-Type": "application/json"})) as answered:
                response = exchange(request, answered.read())
            self.respond(200, response, content_type="application/json")

    with running_server(_Server(("127.0.0.1", 0), Handler)) as proxy:
        yield proxy
