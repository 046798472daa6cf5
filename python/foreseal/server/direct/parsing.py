"""Requests out of the bytes of a connection, by httptools (llhttp, as Node has it)."""

from typing import Protocol
from urllib.parse import unquote

import httptools

from foreseal.server.direct.request import MOST_HEAD, MOST_HEADERS, Request

_END_OF_HEAD = b"\r\n\r\n"
_WEBSOCKET = b"websocket"
_ROOT = b"/"


class Bad(Exception):
    """What came is no request that can be answered otherwise than with `status`."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


class Taker(Protocol):
    """Who takes requests, part by part."""

    def head(self, request: Request) -> None:
        """The head of a request is there."""

    def part(self, request: Request) -> None:
        """There is more of its body."""

    def whole(self, request: Request) -> None:
        """All of it is there."""


class Parsing:
    """The requests of one connection."""

    def __init__(self, taker: Taker) -> None:
        self.request: Request | None = None
        """The one that is being read."""
        self._taker = taker
        self._parser = httptools.HttpRequestParser(self)
        # Bytes of an unfinished head.
        self._unfinished = 0
        self._completed = 0
        self._now = 0.0

    def feed(self, data: bytes, now: float) -> bytes | None:
        """Take more bytes; what is behind the handshake of a WebSocket, whose request is the one being read then.

        `now` is when they came. Raises `Bad`.
        """
        self._now, self._completed = now, 0
        request = self.request
        if request is None or not request.verb:
            self._unfinished += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            return self._upgraded(data[upgrade.args[0] :])
        except httptools.HttpParserError as error:
            if isinstance(error, httptools.HttpParserCallbackError) and error.__context__ is not None:
                raise error.__context__ from None
            raise Bad(400, "this is no HTTP/1.1 request") from None
        if self.request is None or self.request.verb:
            self._unfinished = 0
        elif self._unfinished > MOST_HEAD:
            raise Bad(431, f"a head may have at most {MOST_HEAD} bytes")
        return None

    def drop(self) -> None:
        """Whatever comes of the request that is being read, nobody wants it."""
        self.request = None

    def is_single(self, began: bool) -> bool:
        """Whether the bytes that were fed last were one request and no more, if none had begun before them."""
        return began and self._completed == 1 and self.request is None

    def on_message_begin(self) -> None:
        """A request begins."""
        self.request = Request(self._now)

    def on_url(self, url: bytes) -> None:
        """A part of its target."""
        if self.request is not None:
            self.request.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """One of its headers, or of what follows a body in chunks, which nobody asked for."""
        request = self.request
        if request is not None and not request.verb:
            request.lines += 1
            request.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Its head is there."""
        request, parser = self.request, self._parser
        if request is None:
            return
        if request.lines > MOST_HEADERS:
            raise Bad(431, f"a head may have at most {MOST_HEADERS} lines")
        request.verb = parser.get_method().decode("latin-1")
        request.old = parser.get_http_version() == "1.0"
        request.keep_alive = parser.should_keep_alive()
        request.upgrades = parser.should_upgrade()
        request.begun = self._now
        if request.verb == "CONNECT":
            raise Bad(405, "this is no proxy")
        if request.target != _ROOT:
            request.path = _path_of(request.target)
        if not request.upgrades:
            self._taker.head(request)

    def on_body(self, part: bytes) -> None:
        """A part of its body."""
        request = self.request
        if request is not None and request.response is None:
            request.parts.append(part)
            request.size += len(part)
            self._taker.part(request)

    def on_message_complete(self) -> None:
        """All of it is there."""
        request = self.request
        if request is None or request.upgrades:
            return
        self.request = None
        self._completed += 1
        request.is_whole = True
        self._taker.whole(request)

    def _upgraded(self, rest: bytes) -> bytes | None:
        request = self.request
        if request is None or request.headers.get(b"upgrade", b"").lower() == _WEBSOCKET:
            return rest
        # Who would rather speak another protocol is answered as if it had not asked (RFC 9110, section 7.8); the
        # parser has taken the end of the head for the end of the request.
        kept = [(name, value) for name, value in request.headers.items() if name not in (b"upgrade", b"connection")]
        lines = [b"%b %b HTTP/1.1" % (request.verb.encode("latin-1"), request.target)]
        lines += [b"%b: %b" % each for each in kept]
        self._parser = httptools.HttpRequestParser(self)
        return self.feed(b"\r\n".join(lines) + _END_OF_HEAD + rest, self._now)


def _path_of(target: bytes) -> str:
    """The path of the target of a request, decoded. Raises `Bad`."""
    try:
        path = httptools.parse_url(target).path
    except httptools.HttpParserInvalidURLError:
        raise Bad(400, "the target of the request is no path") from None
    return unquote(path.decode("latin-1")) if path else "/"


def end_of_head(data: bytes) -> int:
    """Where the head ends that `data` begins with."""
    return data.find(_END_OF_HEAD) + len(_END_OF_HEAD)
