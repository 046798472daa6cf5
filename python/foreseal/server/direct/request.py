"""A request that is being read, and the lines of a response."""

from http import HTTPStatus
from typing import Any

from foreseal.server.handler import Answer, Response

MOST_HEAD = 64 * 1024
"""Bytes of a head at most."""
MOST_HEADERS = 100
"""Its lines at most."""

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class Request:
    """What came of a request so far. The last of several headers of one name counts, as with other servers in front."""

    __slots__ = (
        "begun",
        "caller",
        "headers",
        "is_whole",
        "keep_alive",
        "lines",
        "old",
        "parts",
        "path",
        "response",
        "size",
        "target",
        "upgrades",
        "verb",
        "waits",
    )

    def __init__(self, begun: float) -> None:
        self.begun = begun
        """When its head, and then its body, began to be read, on the clock of the listener."""
        self.target = b""
        self.path = "/"
        """Of its target, decoded."""
        self.headers: dict[bytes, bytes] = {}
        self.lines = 0
        """Of the head."""
        self.verb = ""
        """Empty until the head is there."""
        self.old = False
        """Whether it speaks HTTP/1.0."""
        self.keep_alive = True
        self.upgrades = False
        self.waits = False
        """Whether the client sends the body only when it is told to."""
        self.caller: Any = None
        self.response: Response | None = None
        """Where its head decides."""
        self.parts: list[bytes] = []
        self.size = 0
        """Bytes of the body."""
        self.is_whole = False

    @property
    def body(self) -> bytes:
        """What came of the body."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


def head_of(answer: Answer, date: bytes, *, keep_alive: bool, old: bool) -> bytes:
    """Status line and headers of a response, blank line included."""
    status, headers, body = answer
    lines = [b"HTTP/1.1 %d %b" % (status, _REASONS.get(status, b"")), b"date: " + date]
    lines += [b"%b: %b" % line for line in headers]
    if status >= HTTPStatus.OK and status != HTTPStatus.NO_CONTENT:
        lines.append(b"content-length: %d" % len(body))
    if not keep_alive and not any(name == b"connection" for name, _ in headers):
        lines.append(b"connection: close")
    elif keep_alive and old:
        lines.append(b"connection: keep-alive")
    lines.append(b"\r\n")
    return b"\r\n".join(lines)
