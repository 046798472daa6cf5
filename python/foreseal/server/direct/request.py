"""A request that is being read, and the lines of a response."""

from http import HTTPStatus

from foreseal.server.callers import Caller
from foreseal.server.direct.chunks import ChunkDecoder
from foreseal.server.direct.head import RequestHead
from foreseal.server.handler import Answer, Response

_REASONS = {status.value: status.phrase.encode() for status in HTTPStatus}


class CallRequest:
    """A call whose body is being read: head and caller are final, the body grows."""

    __slots__ = ("begun", "body", "caller", "decoder", "discarded", "head", "reads", "refusal")

    def __init__(self, head: RequestHead, caller: Caller, begun: float) -> None:
        self.head = head
        self.caller = caller
        self.begun = begun
        """Time at which its body began to be read."""
        self.decoder = ChunkDecoder() if head.length is None else None
        self.body = bytearray() if self.decoder is None else self.decoder.body
        self.reads = 0
        """Reads that did not complete it."""
        self.refusal: Response | None = None
        """The response in place of its answer: its body is read to the end and discarded."""
        self.discarded = 0
        """Bytes of the body that were discarded."""

    @property
    def received(self) -> int:
        """Bytes of the body that have arrived."""
        return self.discarded + len(self.body)

    def refuse(self, refusal: Response) -> None:
        """Discard the body, of what has arrived and of what follows."""
        self.refusal = refusal
        self.discard()

    def discard(self) -> None:
        """Discard what has arrived."""
        self.discarded += len(self.body)
        self.body.clear()

    def count_read(self) -> int:
        """Count a read that did not complete it; return their number."""
        self.reads += 1
        return self.reads


def head_of(answer: Answer, date: bytes, *, keep_alive: bool, old: bool) -> bytes:
    """Return status line and headers of a response, with the empty line."""
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
