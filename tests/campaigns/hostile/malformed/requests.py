"""Requests of a hostile client: bodies that are not calls, invalid HTTP heads, invalid WebSocket frames."""

import json
import random
from collections.abc import Callable

from bodies import REAL

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
DEEP = 3000
BATCH = 60

_ODD = [
    "", "0x", "0xg", "0x0", "latest", "pending", "0x" + "f" * 70, "\x00", "\ud800", -1, 2**70, 1e400, None, True, [],
    {}, "0x" + "00" * 20, "0x" + "00" * 31, {"fromBlock": "0x0", "toBlock": "pending", "topics": [[[]]]},
    {"to": "0x1", "data": "0x123"}, {"blockHash": "latest"}, [["0x"]], {"to": None, "gas": "0x" + "f" * 16},
]  # fmt: skip


def calls(draw: random.Random) -> bytes:
    """Return a valid envelope with arguments that no method accepts."""
    request = {"jsonrpc": "2.0", "id": draw.randrange(1 << 40), "method": draw.choice(REAL), "params": arguments(draw)}
    return _text(request)


def arguments(draw: random.Random) -> list[object]:
    """Return up to four odd values."""
    return [draw.choice(_ODD) for _ in range(draw.randrange(5))]


def envelopes(draw: random.Random) -> bytes:
    """Return a request whose members are wrong or missing."""
    request: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "eth_call", "params": [{}]}
    for name in draw.sample(sorted(request), draw.randrange(1, 4)):
        if draw.random() < 0.5:
            del request[name]
        else:
            request[name] = draw.choice(_ODD)
    return _text(request)


def batches(draw: random.Random) -> bytes:
    """Return a batch with invalid entries."""
    entries = [draw.choice([calls, envelopes])(draw) for _ in range(draw.randrange(BATCH))]
    return b"[" + b",".join([*entries, b"1", b"[]", b"null"]) + b"]"


def damaged(draw: random.Random) -> bytes:
    """Return a request with changed, removed or inserted bytes."""
    body = bytearray(draw.choice([calls, envelopes, batches])(draw))
    for _ in range(draw.randrange(1, 6)):
        at = draw.randrange(len(body) + 1)
        body[at : at + draw.randrange(4)] = draw.randbytes(draw.randrange(4))
    return bytes(body)


def deep(draw: random.Random) -> bytes:
    """Return nested brackets."""
    opening, closing = draw.choice([(b"[", b"]"), (b'{"a":', b"}")])
    depth = draw.randrange(1, DEEP)
    return b'{"jsonrpc":"2.0","id":1,"method":"eth_call","params":' + opening * depth + b"1" + closing * depth + b"}"


def noise(draw: random.Random) -> bytes:
    """Return random bytes."""
    return draw.randbytes(draw.randrange(400))


def _text(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


_BODIES: list[tuple[Callable[[random.Random], bytes], int]] = [
    (calls, 40), (envelopes, 20), (damaged, 25), (batches, 5), (deep, 2), (noise, 8)
]  # fmt: skip


def body(draw: random.Random) -> bytes:
    """Return the body of a request."""
    kinds, weights = zip(*_BODIES, strict=True)
    made: bytes = draw.choices(kinds, weights)[0](draw)
    return made


HEADS = [
    b"no http at all\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
    b"POST / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"BREW /pot HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
    HEAD + b"Content-Length: -1\r\n\r\n",
    HEAD + b"Content-Length: 1e3\r\n\r\n",
    HEAD + b"Content-Length: 99999999999999999999999999\r\n\r\n",
    HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
    HEAD + b"Content-Length: 99999999\r\n\r\n",
    HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
    HEAD + b"Transfer-Encoding: wrong\r\n\r\n",
    HEAD + b"Big: " + b"x" * 20_000 + b"\r\n\r\n",
]
"""The server closes the connection after each of them."""


def frame(draw: random.Random) -> tuple[int, bytes]:
    """Return opcode and payload of a WebSocket message: text, binary, or invalid."""
    kind = draw.choices([1, 2, 9, 3, 11], [70, 20, 6, 2, 2])[0]
    payload = subscribing(draw) if draw.random() < 0.4 else body(draw)
    return kind, payload[:120] if kind > 2 else payload


def subscribing(draw: random.Random) -> bytes:
    """Return a subscription to an unknown kind."""
    method = draw.choice(["eth_subscribe", "eth_unsubscribe"])
    kinds = ["logs", "foreseal_feed", "newFlashblocks", "pendingLogs", *arguments(draw)]
    return _text({"jsonrpc": "2.0", "id": 1, "method": method, "params": [draw.choice(kinds), *arguments(draw)]})
