"""Rules for HTTP headers, common to all transports."""

import binascii
import re
from collections.abc import Iterable, Mapping

# Fields that decide what a request is, who sent it or where it ends: repeating one is an error.
SINGLE = frozenset(
    (
        b"host",
        b"content-length",
        b"content-type",
        b"transfer-encoding",
        b"authorization",
        b"x-api-key",
        b"origin",
        b"expect",
        b"upgrade",
        b"sec-websocket-key",
        b"sec-websocket-version",
    )
)

_HOST = re.compile(rb"(?:[0-9A-Za-z._~!$&'()*+,;=%\-]*|\[[0-9A-Za-z.:%_\-]+\])(?::[0-9]{0,5})?")
# Decoded size of the key of a WebSocket handshake in bytes.
_KEY_SIZE = 16


def repeated_header(lines: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """Return the name of a repeated header that must be unique; names in `lines` are in lower case."""
    seen: set[bytes] = set()
    for name, _ in lines:
        if name in seen:
            return name
        if name in SINGLE:
            seen.add(name)
    return None


def is_host(value: bytes) -> bool:
    """Return True for a valid Host header: a name or an address, with an optional port."""
    return _HOST.fullmatch(value) is not None


def framing_error(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the error in the headers that delimit the body; None if they are valid."""
    coding = headers.get(b"transfer-encoding")
    if coding is not None and b"content-length" in headers:
        return "a request must not have both Content-Length and Transfer-Encoding"
    if coding is not None and coding.lower() != b"chunked":
        return "Transfer-Encoding must be chunked"
    return None


def is_websocket_key(key: bytes) -> bool:
    """Return True for the key of a handshake: 16 bytes in base64 (RFC 6455, section 4.1)."""
    try:
        return len(binascii.a2b_base64(key, strict_mode=True)) == _KEY_SIZE
    except binascii.Error:
        return False
