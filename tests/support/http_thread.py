"""An HTTP server of a test, on a thread of its own."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import TCPServer


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
