"""State of a request whose body is being read, and formatting of response heads."""

from http import HTTPStatus

from foreseal.server.auth.callers import Caller
from foreseal.server.http.handler import HttpAnswer, HttpResponse
from foreseal.server.native.chunks import ChunkDecoder
from foreseal.server.native.request_head import RequestHead

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class CallRequest:
    """A call whose body is being read: head and caller are final, the body grows."""

    __slots__ = ("begun", "body", "caller", "decoder", "discarded", "head", "reads", "refusal")

    def __init__(self, head: RequestHead, caller: Caller, begun: float) -> None:
        self.head = head
        self.caller = caller
        self.begun = begun
        """Time at which reading of its body started."""
        self.decoder = ChunkDecoder() if head.length is None else None
        self.body = bytearray() if self.decoder is None else self.decoder.body
        self.reads = 0
        """Number of reads that did not complete it."""
        self.refusal: HttpResponse | None = None
        """Error response; if set, the body is read to its end and discarded."""
        self.discarded = 0
        """Number of discarded bytes of the body."""

    @property
    def received(self) -> int:
        """Number of received bytes of the body."""
        return self.discarded + len(self.body)

    def refuse(self, refusal: HttpResponse) -> None:
        """Reject the request; discard received and further bytes of its body."""
        self.refusal = refusal
        self.discard()

    def discard(self) -> None:
        """Discard the received bytes."""
        self.discarded += len(self.body)
        self.body.clear()

    def count_read(self) -> int:
        """Count a read that did not complete it; return the number of such reads."""
        self.reads += 1
        return self.reads


def format_head(answer: HttpAnswer, date: bytes, *, keep_alive: bool, old: bool) -> bytes:
    """Return status line and headers of a response, including the final empty line."""
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
