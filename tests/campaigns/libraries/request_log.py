"""A proxy that records requests and responses."""

import contextlib
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen


@contextlib.contextmanager
def recorded(url: str, file: Path | None) -> Iterator[str]:
    """Serve a proxy to `url` that appends each exchange to `file`; yield its URL, or `url` without a file."""
    if file is None:
        yield url
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w") as log, _Server(url, log) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, url: str, log: Any) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url, self.log, self.exclusive, self.began = url, log, threading.Lock(), time.monotonic()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore that a program which ends resets its connections; other errors have no response in its log."""

    def record(self, request: bytes, response: bytes) -> None:
        at = round(time.monotonic() - self.began, 3)
        line = {"at": at, "request": json.loads(request), "response": json.loads(response)}
        with self.exclusive:
            self.log.write(json.dumps(line) + "\n")
            self.log.flush()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        request = self.rfile.read(int(self.headers["Content-Length"]))
        with urlopen(Request(self.server.url, request, {"Content-Type": "application/json"})) as answered:
            response = answered.read()
        self.server.record(request, response)
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(response)))
        self.end_headers()
        self.wfile.write(response)

    def log_message(self, format: str, *args: Any) -> None:
        pass
