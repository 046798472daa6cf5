"""An HTTP server of a test, on a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that reads whole bodies, sends whole responses, and logs nothing."""

    def read_body(self) -> bytes:
        """Return the body of the request."""
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def respond(self, status: int, body: bytes = b"", **headers: str) -> None:
        """Send a response; an underscore in the name of a header is a hyphen."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def running_server(server: TCPServer) -> Iterator[str]:
    """Serve for the context, and close the server at its end; yield the URL."""
    with server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
