"""A proxy to a node that changes the responses of chosen methods."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.request import Request, urlopen

import orjson

Change = Callable[[dict[str, Any], dict[str, Any]], Any]
"""Makes another response from a call and its true response."""


@contextmanager
def between(url: str, changes: dict[str, Change]) -> Iterator[str]:
    """Serve a proxy to the node at `url` that changes the responses of these methods; yield its URL."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            with urlopen(Request(url, data, {"Content-Type": "application/json"})) as answered:
                answer = orjson.loads(answered.read())
            asked = orjson.loads(data)
            if isinstance(asked, list):
                answer = [_changed(changes, call, one) for call, one in zip(asked, answer, strict=True)]
            else:
                answer = _changed(changes, asked, answer)
            text = orjson.dumps(answer)
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _changed(changes: dict[str, Change], call: dict[str, Any], answer: dict[str, Any]) -> Any:
    change = changes.get(call["method"])
    return change(call, answer) if change else answer


def result(value: Any) -> Change:
    """Always return this result."""
    return lambda call, answer: {"jsonrpc": "2.0", "id": call["id"], "result": value}


def error(code: int, message: str) -> Change:
    """Always return this error."""
    return lambda call, answer: {"jsonrpc": "2.0", "id": call["id"], "error": {"code": code, "message": message}}
