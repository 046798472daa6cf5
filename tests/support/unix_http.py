"""HTTP over a Unix socket."""

import http.client
import socket
from pathlib import Path


class UnixConnection(http.client.HTTPConnection):
    """A connection to the server at a path."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=20)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(20)
        self.sock.connect(str(self._path))
