"""A table of malformed HTTP and WebSocket input, with the outcome on each transport.

An outcome is the status of the first response, the code of the close frame, or `CLOSED` if there is neither. `asgi` is
set if granian decides before our code runs and differs; `proxy` is the rule of a reverse proxy that closes the gap.
"""

from dataclasses import dataclass

CLOSED = 0
"""The connection closes without a response."""
OPEN = -1
"""The connection stays open without a response."""
NORMAL = 1000
"""Code of a normal closure (RFC 6455, section 7.4.1)."""

CALL = b'{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}'
LINE = b"POST / HTTP/1.1\r\n"
HOST = b"Host: localhost\r\n"
HEAD = LINE + HOST
KEY = b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
UPGRADE = b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
VERSION = b"Sec-WebSocket-Version: 13\r\n"
HANDSHAKE = b"GET / HTTP/1.1\r\n" + HOST + UPGRADE + VERSION


@dataclass(frozen=True)
class Case:
    """Input bytes of a client, and their outcome."""

    name: str
    data: bytes
    native: int
    asgi: int | None = None
    """None: the same as `native`."""
    is_cut: bool = False
    """True if the client closes its side before a response: the request is incomplete."""
    proxy: str = ""
    """Rule of a proxy in front of granian, for a case that granian accepts but `native` rejects."""

    def outcome(self, transport: str) -> int:
        """Return the outcome under a transport."""
        return self.native if transport == "native" or self.asgi is None else self.asgi


def post(*lines: bytes, body: bytes = CALL, head: bytes = HEAD) -> bytes:
    return head + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + body


def sized(*lines: bytes, body: bytes = CALL, head: bytes = HEAD) -> bytes:
    return post(*lines, b"Content-Length: %d" % len(body), body=body, head=head)


def chunks(body: bytes, *, lines: tuple[bytes, ...] = ()) -> bytes:
    return post(*lines, b"Transfer-Encoding: chunked", body=body)


SIZE = b"%x" % len(CALL)
WHOLE = SIZE + b"\r\n" + CALL + b"\r\n"

HTTP = [
    Case("a call", sized(), 200),
    Case("a call in one chunk", chunks(WHOLE + b"0\r\n\r\n"), 200),
    Case("the same header twice, one that decides nothing", sized(b"X-A: 1", b"X-A: 2"), 200),
    Case("an empty line before the request", b"\r\n" + sized(), 200),
    Case("absolute-form target", sized(head=b"POST http://localhost/ HTTP/1.1\r\n" + HOST), 200),
    Case("HTTP/1.0 with Content-Length", sized(head=b"POST / HTTP/1.0\r\n" + HOST), 200),
    # Incomplete bodies: never executed.
    Case("Content-Length longer than what came, then the end", post(b"Content-Length: 500"), CLOSED, 400, True),
    Case("a whole JSON document, then a broken chunk", chunks(WHOLE + b"zz\r\n"), 400),
    Case("a whole JSON document, then the end of the connection", chunks(WHOLE), CLOSED, 400, True),
    Case("a whole JSON document, then half of the last chunk", chunks(WHOLE + b"0\r\n"), CLOSED, 400, True),
    Case("Content-Length without a body", post(b"Content-Length: 5", body=b""), CLOSED, 400, True),
    # Host header.
    Case("two Host headers", sized(head=LINE + HOST + HOST), 400),
    Case("two different Host headers", sized(head=LINE + b"Host: evil.example\r\n" + HOST), 400),
    Case("no Host in HTTP/1.1", sized(head=LINE), 400),
    Case("a Host that is not a host name", sized(head=LINE + b"Host: a b\r\n"), 400),
    Case("Host with a path", sized(head=LINE + b"Host: localhost/x\r\n"), 400),
    Case(
        "another host in an absolute-form target",
        sized(head=b"POST http://evil.example/ HTTP/1.1\r\n" + HOST),
        400,
        asgi=200,
        proxy="normalize",
    ),
    Case(
        "userinfo in an absolute-form target",
        sized(head=b"POST http://a@localhost/ HTTP/1.1\r\n" + HOST),
        400,
        asgi=200,
        proxy="normalize",
    ),
    # Line ends.
    Case("bare LF ends every line", sized().replace(b"\r\n", b"\n"), 400, asgi=200, proxy="normalize"),
    Case("bare LF ends one header line", sized(b"X: 1\nY: 2"), 400, asgi=200, proxy="normalize"),
    Case("bare CR in a header", sized(b"X: 1\r2"), 400),
    Case("a folded header line", sized(b"X: 1", b" 2"), 400),
    Case("a space before the colon", sized(b"X : 1"), 400),
    Case("a space before the colon of Content-Length", post(b"Content-Length : %d" % len(CALL)), 400),
    Case("a header without a colon", sized(b"X"), 400),
    Case("a header without a name", sized(b": 1"), 400),
    Case("a header name with a control character", sized(b"X\x01: 1"), 400),
    Case("NUL in a header", sized(b"X: \x00"), 400),
    Case("a control character in a header", sized(b"X: \x1b"), 400),
    Case("a method that is not a token", sized(head=b"PO(ST / HTTP/1.1\r\n" + HOST), 400),
    Case("a lower-case method", sized(head=b"post / HTTP/1.1\r\n" + HOST), 405),
    Case("two spaces in the request line", sized(head=b"POST  / HTTP/1.1\r\n" + HOST), 400),
    Case("a control character in the target", sized(head=b"POST /\x01 HTTP/1.1\r\n" + HOST), 400),
    Case("a target that is not a path", sized(head=b"POST x HTTP/1.1\r\n" + HOST), 400, asgi=404),
    Case("a fragment in the target", sized(head=b"POST /#x HTTP/1.1\r\n" + HOST), 400, asgi=200, proxy="normalize"),
    Case("CONNECT", sized(head=b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST), 405, asgi=404),
    Case("HTTP/1.2", sized(head=b"POST / HTTP/1.2\r\n" + HOST), 400),
    Case("HTTP/0.9", b"GET /\r\n\r\n", 400),
    Case("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400, asgi=CLOSED),
    Case("TLS on a plain listener", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    Case(
        "a request line of 16 KiB",
        b"POST /" + b"x" * 16_384 + b" HTTP/1.1\r\n" + HOST + b"\r\n",
        414,
        asgi=404,
        proxy="reject",
    ),
    Case("a head of 1 MB", HEAD + b"X: " + b"x" * 1_000_000 + b"\r\n\r\n", 431),
    Case("1,000 header lines", HEAD + b"".join(b"X-%d: y\r\n" % n for n in range(1000)) + b"\r\n", 431),
    Case("100 empty lines before a request", b"\r\n" * 100 + sized(), 400, asgi=200, proxy="normalize"),
    # End of the body.
    Case("two equal Content-Length headers", sized(b"Content-Length: %d" % len(CALL)), 400, asgi=200, proxy="reject"),
    Case("two different Content-Length headers", sized(b"Content-Length: 1"), 400),
    Case("a list in Content-Length", post(b"Content-Length: %d, %d" % (len(CALL), len(CALL))), 400),
    Case("a sign in Content-Length", post(b"Content-Length: +%d" % len(CALL)), 400),
    Case("a negative Content-Length", post(b"Content-Length: -1"), 400),
    Case("hex in Content-Length", post(b"Content-Length: 0x3b"), 400),
    Case("a Content-Length beyond 64 bits", post(b"Content-Length: 99999999999999999999999"), 400),
    Case(
        "Content-Length and chunks",
        chunks(WHOLE + b"0\r\n\r\n", lines=(b"Content-Length: 4",)),
        400,
        asgi=200,
        proxy="reject",
    ),
    Case("chunks in HTTP/1.0", chunks(WHOLE + b"0\r\n\r\n").replace(b"1.1", b"1.0"), 400),
    Case("a coding behind chunked", post(b"Transfer-Encoding: chunked, gzip"), 400),
    Case("a coding before chunked", post(b"Transfer-Encoding: gzip, chunked", body=WHOLE + b"0\r\n\r\n"), 400),
    Case("chunked twice", post(b"Transfer-Encoding: chunked, chunked", body=WHOLE + b"0\r\n\r\n"), 400),
    Case("an unknown transfer coding", post(b"Transfer-Encoding: x"), 400),
    Case("chunked in quotes", post(b'Transfer-Encoding: "chunked"', body=WHOLE + b"0\r\n\r\n"), 400),
    # Chunks.
    Case("a chunk with an extension", chunks(SIZE + b";a=b\r\n" + CALL + b"\r\n0\r\n\r\n"), 200),
    Case(
        "a chunk with 1 KB of extensions",
        chunks(SIZE + b";a=" + b"b" * 1024 + b"\r\n" + CALL + b"\r\n0\r\n\r\n"),
        400,
        asgi=200,
        proxy="normalize",
    ),
    Case("trailers", chunks(WHOLE + b"0\r\nX: 1\r\n\r\n"), 200),
    Case("trailers of 64 KB", chunks(WHOLE + b"0\r\n" + b"X: %b\r\n" % (b"x" * 65_536) + b"\r\n"), 431, asgi=400),
    Case("a malformed trailer", chunks(WHOLE + b"0\r\nX\r\n\r\n"), 400),
    Case("a chunk size of 20 digits", chunks(b"f" * 20 + b"\r\n"), 400),
    Case("a chunk size of 16 digits", chunks(b"f" * 16 + b"\r\n" + CALL), 413, 400, True),
    Case("a chunk size with 0x", chunks(b"0x" + WHOLE + b"0\r\n\r\n"), 400),
    Case("a chunk size with a sign", chunks(b"+" + WHOLE + b"0\r\n\r\n"), 400),
    Case("a space before a chunk size", chunks(b" " + WHOLE + b"0\r\n\r\n"), 400),
    Case("no chunk size", chunks(b"\r\n" + CALL + b"\r\n0\r\n\r\n"), 400),
    Case("a chunk longer than its size", chunks(SIZE + b"\r\n" + CALL + b"x\r\n0\r\n\r\n"), 400),
    Case("bare LF behind a chunk size", chunks(SIZE + b"\n" + CALL + b"\r\n0\r\n\r\n"), 400),
    Case("bare LF behind a chunk", chunks(SIZE + b"\r\n" + CALL + b"\n0\r\n\r\n"), 400),
    # Content type and authorization.
    Case("two Content-Type headers", sized(b"Content-Type: application/json", b"Content-Type: text/plain"), 400),
    Case("two Authorization headers", sized(b"Authorization: Bearer a", b"Authorization: Bearer b"), 400),
    Case("two X-API-Key headers", sized(b"X-API-Key: a", b"X-API-Key: b"), 400),
    Case("two Origin headers", sized(b"Origin: http://localhost", b"Origin: https://evil.example"), 400),
    Case("an unknown expectation", sized(b"Expect: x"), 417, asgi=400),
    # Upgrades.
    Case(
        "an upgrade to HTTP/2",
        sized(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AA"),
        200,
    ),
    Case("an unknown upgrade", sized(b"Connection: Upgrade", b"Upgrade: x"), 200),
    Case("a handshake by POST", LINE + HOST + UPGRADE + VERSION + KEY + b"\r\n", 405, asgi=101, proxy="reject"),
    Case("a handshake in HTTP/1.0", HANDSHAKE.replace(b"1.1", b"1.0") + KEY + b"\r\n", 405, asgi=101, proxy="reject"),
    Case("a handshake with a body", HANDSHAKE + KEY + b"Content-Length: 3\r\n\r\nabc", 400),
    Case("a handshake without a key", HANDSHAKE + b"\r\n", 400),
    Case("a handshake with a short key", HANDSHAKE + b"Sec-WebSocket-Key: QUJD\r\n\r\n", 400),
    Case("a handshake with a key that is not base64", HANDSHAKE + b"Sec-WebSocket-Key: !!!\r\n\r\n", 400),
    Case("a handshake with two keys", HANDSHAKE + KEY + KEY + b"\r\n", 400),
    Case("a handshake without a version", b"GET / HTTP/1.1\r\n" + HOST + UPGRADE + KEY + b"\r\n", 400),
    Case("a handshake of version 12", HANDSHAKE.replace(b"13", b"12") + KEY + b"\r\n", 400),
    Case("a handshake with two Host headers", HANDSHAKE + b"Host: evil.example\r\n" + KEY + b"\r\n", 400),
    Case(
        "a handshake without Connection: Upgrade",
        HANDSHAKE.replace(b"Connection: Upgrade\r\n", b"") + KEY + b"\r\n",
        405,
    ),
]

MASK = b"\x01\x02\x03\x04"


def frame(first: int, payload: bytes, *, length: bytes | None = None, masked: bool = True) -> bytes:
    """Return a frame; `length` overrides the payload's length."""
    size = len(payload)
    if length is None:
        length = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big")
    if not masked:
        return bytes([first]) + length + payload
    body = bytes(byte ^ MASK[index % 4] for index, byte in enumerate(payload))
    return bytes([first, length[0] | 0x80]) + length[1:] + MASK + body


def close(code: int, reason: bytes = b"") -> bytes:
    return frame(0x88, code.to_bytes(2, "big") + reason)


WEBSOCKET = [
    Case("an empty close", frame(0x88, b""), 1005),
    Case("close 1000", close(1000), 1000),
    Case("close 4000", close(4000, b"bye"), 4000),
    Case("a call, then close", frame(0x81, CALL) + close(1000), 1000),
    Case("a call in a binary frame, then close", frame(0x82, CALL) + close(1000), 1000),
    Case(
        "a ping within a message, then close",
        frame(0x01, CALL[:9]) + frame(0x89, b"x") + frame(0x80, CALL[9:]) + close(1000),
        1000,
    ),
    Case("a frame that is not masked", frame(0x81, CALL, masked=False), 1002, asgi=1005),
    Case("RSV1", frame(0xC1, CALL), 1002, asgi=1005),
    Case("RSV2", frame(0xA1, CALL), 1002, asgi=1005),
    Case("RSV3 in a ping", frame(0x99, b""), 1002, asgi=1005),
    Case("opcode 3", frame(0x83, b""), 1002, asgi=1005),
    Case("opcode 11", frame(0x8B, b""), 1002, asgi=1005),
    Case("a ping in fragments", frame(0x09, b"x"), 1002, asgi=1005),
    Case("a close in fragments", frame(0x08, b"\x03\xe8"), 1002, asgi=1005),
    Case("a ping of 126 bytes", frame(0x89, b"x" * 126), 1002, asgi=1005),
    Case("a close of 126 bytes", frame(0x88, b"\x03\xe8" + b"x" * 124), 1002, asgi=1005),
    Case("a close of one byte", frame(0x88, b"\x03"), 1002, asgi=1005),
    Case("close 999", close(999), 1002),
    Case("close 1005", close(1005), 1002),
    Case("close 1006", close(1006), 1002),
    Case("close 1015", close(1015), 1002),
    Case("close 2999", close(2999), 1002),
    Case("close 5000", close(5000), 1002),
    Case("a reason that is not UTF-8", close(1000, b"\xff"), 1002, asgi=1005),
    Case("a text that is not UTF-8", frame(0x81, b"\xff\xfe"), 1007, asgi=1005),
    Case("a text in fragments that is not UTF-8", frame(0x01, b"\xc3") + frame(0x80, b"("), 1007, asgi=1005),
    Case("a continuation of nothing", frame(0x80, CALL), 1002, asgi=1005),
    Case("a text within a message", frame(0x01, b"a") + frame(0x81, b"b"), 1002, asgi=1005),
    Case(
        "a length in 2 bytes that fits into 7 bits",
        frame(0x81, CALL, length=b"\x7e" + len(CALL).to_bytes(2, "big")),
        1002,
        asgi=OPEN,
        proxy="none",
    ),
    Case(
        "a length in 8 bytes that fits into 7 bits",
        frame(0x81, CALL, length=b"\x7f" + len(CALL).to_bytes(8, "big")),
        1002,
        asgi=OPEN,
        proxy="none",
    ),
    Case("a length with the highest of 64 bits", frame(0x81, b"", length=b"\x7f" + b"\xff" * 8), 1002, asgi=1005),
    Case("a length of 2^40", frame(0x81, b"", length=b"\x7f" + (1 << 40).to_bytes(8, "big")), 1009, asgi=1005),
    Case("half of a message", frame(0x01, CALL), OPEN),
]
