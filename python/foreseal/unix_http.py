"""HTTP connections over a Unix socket, and reasons of failed ones."""

import http.client
import socket


class UnixHttpConnection(http.client.HTTPConnection):
    """A connection over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        """Set up; `timeout` is in seconds."""
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the socket. Raises OSError."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def failure_reason(error: Exception) -> str:
    """Return why a request got no response, in few words."""
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
