"""Strict parser for the head of an HTTP/1.x request (RFC 9112): one interpretation of the bytes, or an error.

Every ambiguity between two parsers is an error here: bare LF and CR, folded lines, space before a colon, repeated
fields that decide something, two ways to delimit a body, and targets with two host names.
"""

import re
from dataclasses import dataclass
from urllib.parse import unquote

from foreseal.server.http.headers import SINGLE, framing_error, is_host

MAX_HEAD = 64 * 1024
"""Largest head in bytes."""
MAX_HEADERS = 100
"""Most header lines of a head."""
MAX_REQUEST_LINE = 8 * 1024
"""Largest request line in bytes."""
HEAD_END = b"\r\n\r\n"

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]"
_REQUEST_LINE = re.compile(rb"(" + _TOKEN + rb"{1,32}) ([!-~]+) HTTP/1\.([01])")
_HEADER_LINE = re.compile(_TOKEN + rb"+:[\t\x20-\x7e\x80-\xff]*")
_HEADER_LINES = re.compile(rb"(?:" + _TOKEN + rb"+:[\t\x20-\x7e\x80-\xff]*\r\n)*")
_START = re.compile(_TOKEN)
_ABSOLUTE = re.compile(rb"[hH][tT][tT][pP][sS]?://([^/?#]+)([^?#]*)(?:\?[^#]*)?")
# Most digits of a length that is parsed.
_MAX_DIGITS = 18
# List fields, whose repeated lines form one list (RFC 9110, section 5.3).
_LISTS = frozenset((b"connection", b"x-forwarded-for", b"sec-websocket-extensions", b"sec-websocket-protocol"))


class BadRequest(Exception):
    """The bytes are not a valid request; the response has the status `status`."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(status, text)
        self.status = status
        self.text = text


@dataclass(frozen=True, slots=True)
class RequestHead:
    """Head of a request."""

    method: str
    path: str
    """Path of the target, decoded."""
    headers: dict[bytes, bytes]
    """Headers by name in lower case."""
    is_http_1_0: bool
    keep_alive: bool
    length: int | None
    """Bytes of the body; None for a chunked body."""
    is_upgrade: bool
    """True for a WebSocket handshake."""


def check_start(data: bytes | bytearray, start: int, new: int) -> None:
    """Check an unfinished head that begins at `start`; the bytes from `new` on have just arrived.

    Raises `BadRequest` as soon as no continuation can make it a head.
    """
    if start < len(data) and _START.match(data, start) is None:
        raise BadRequest(400, "a request must begin with a method")
    size = len(data) - start
    if size > MAX_HEAD:
        raise BadRequest(431, f"a head may have at most {MAX_HEAD} bytes")
    if size > MAX_REQUEST_LINE and data.find(b"\r\n", start, start + MAX_REQUEST_LINE) < 0:
        raise BadRequest(414, f"a request line may have at most {MAX_REQUEST_LINE} bytes")
    if data.count(b"\n", new) != data.count(b"\r\n", max(new - 1, start)):
        raise BadRequest(400, "a line must end with CR LF")


def parse_head(data: bytes) -> RequestHead:
    """Parse a head without the empty line at its end. Raises `BadRequest`."""
    if len(data) > MAX_HEAD:
        raise BadRequest(431, f"a head may have at most {MAX_HEAD} bytes")
    first, _, rest = data.partition(b"\r\n")
    match = _REQUEST_LINE.fullmatch(first)
    if match is None:
        if len(first) > MAX_REQUEST_LINE:
            raise BadRequest(414, f"a request line may have at most {MAX_REQUEST_LINE} bytes")
        raise BadRequest(400, "the request line must be: METHOD TARGET HTTP/1.1")
    method, target, minor = match.groups()
    if len(target) > MAX_REQUEST_LINE:
        raise BadRequest(414, f"a request line may have at most {MAX_REQUEST_LINE} bytes")
    headers = _headers(rest)
    is_http_1_0 = minor == b"0"
    path = "/" if target == b"/" else _path(method, target, headers)
    host = headers.get(b"host")
    if host is None:
        if not is_http_1_0:
            raise BadRequest(400, "the Host header is missing")
    elif not is_host(host):
        raise BadRequest(400, "the Host header is not a host name")
    connection = headers.get(b"connection")
    keep_alive, is_upgrade = not is_http_1_0, False
    if connection is not None:
        tokens = {token.strip() for token in connection.lower().split(b",")}
        keep_alive = b"keep-alive" in tokens if is_http_1_0 else b"close" not in tokens
        is_upgrade = b"upgrade" in tokens and not is_http_1_0 and headers.get(b"upgrade", b"").lower() == b"websocket"
    length = _body_length(headers, is_http_1_0=is_http_1_0)
    if is_upgrade and length != 0:
        raise BadRequest(400, "a WebSocket handshake must not have a body")
    return RequestHead(method.decode("latin-1"), path, headers, is_http_1_0, keep_alive, length, is_upgrade)


def _headers(rest: bytes) -> dict[bytes, bytes]:
    headers: dict[bytes, bytes] = {}
    if not rest:
        return headers
    if _HEADER_LINES.fullmatch(rest + b"\r\n") is None:
        raise _malformed(rest)
    lines = rest.split(b"\r\n")
    if len(lines) > MAX_HEADERS:
        raise BadRequest(431, f"a head may have at most {MAX_HEADERS} lines")
    for line in lines:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if name in headers:
            if name in SINGLE:
                raise BadRequest(400, f"the header {name.decode('latin-1')} occurs twice")
            if name in _LISTS:
                value = headers[name] + b", " + value
        headers[name] = value
    return headers


def _malformed(rest: bytes) -> BadRequest:
    for number, line in enumerate(rest.split(b"\r\n")):
        if _HEADER_LINE.fullmatch(line) is None:
            return BadRequest(400, f"malformed header line {number + 1}")
    return BadRequest(400, "malformed header line")


def _path(method: bytes, target: bytes, headers: dict[bytes, bytes]) -> str:
    """Return the decoded path of a target; an absolute target must name the host of the Host header."""
    if method == b"CONNECT":
        raise BadRequest(405, "this server is not a proxy")
    if target.startswith(b"/"):
        if b"#" in target:
            raise BadRequest(400, "the target must not have a fragment")
        return unquote(target.partition(b"?")[0].decode("latin-1"))
    if target == b"*" and method == b"OPTIONS":
        return "*"
    match = _ABSOLUTE.fullmatch(target)
    if match is None or not is_host(match[1]):
        raise BadRequest(400, "the target must be a path")
    if headers.get(b"host", match[1]).lower() != match[1].lower():
        raise BadRequest(400, "the target and the Host header have different hosts")
    return unquote(match[2].decode("latin-1")) or "/"


def _body_length(headers: dict[bytes, bytes], *, is_http_1_0: bool) -> int | None:
    """Return the length of the body; None for a chunked body."""
    coding, length = headers.get(b"transfer-encoding"), headers.get(b"content-length")
    if coding is not None:
        error = "HTTP/1.0 does not support Transfer-Encoding" if is_http_1_0 else framing_error(headers)
        if error is not None:
            raise BadRequest(400, error)
        return None
    if length is None:
        return 0
    if not length.isdigit() or len(length) > _MAX_DIGITS:
        raise BadRequest(400, "Content-Length must be a decimal number")
    return int(length)
