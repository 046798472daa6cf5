"""The native transport: requests without a socket, and WebSocket frames compared with the library's parser."""

import asyncio
import re

from websockets.frames import Frame, Opcode
from websockets.protocol import State
from websockets.server import ServerProtocol

from bare_transport import BareTransport, statuses_in
from foreseal.server.native.frames import FrameParser, ProtocolViolation, close_code
from foreseal.server.native.http import HttpConnection
from foreseal.server.native.listener import NativeListener
from foreseal.server.sockets.listening import listen
from fuzz.edge import Served, served

_BAD_HEAD = 400
_STATUSES = {100, 101, 200, 204, 400, 401, 403, 404, 405, 408, 413, 414, 415, 417, 426, 429, 431, 503, 505}
_MOST = 300
# These headers vary over time.
_VARYING = re.compile(rb"(date|x-foreseal-view): [^\r]*\r\n")


def run_stream(data: bytes) -> None:
    """Check that responses are the same for any segmentation of the bytes, and valid HTTP."""
    at = served()
    size, stream = data[:1], data[1:]
    whole = _final(at.run(_played(at, [stream])))
    step = max(1, size[0] if size else 1)
    pieces = [stream[start : start + step] for start in range(0, len(stream), step)]
    cut = _final(at.run(_played(at, pieces, alone=False)))
    # For segmented input, another fault of the same head may be detected first.
    assert cut == whole or _outcomes(cut) == _outcomes(whole)
    assert cut == whole or _BAD_HEAD in _outcomes(whole)
    assert set(statuses_in(whole)) <= _STATUSES, whole


def _outcomes(responses: bytes) -> list[int]:
    return [_BAD_HEAD if status in (414, 431) else status for status in statuses_in(responses)]


def _final(responses: bytes) -> bytes:
    """Return the responses without interim ones: a client that sends its body at once gets none."""
    return responses.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")


async def _played(at: Served, pieces: list[bytes], *, alone: bool = True) -> bytes:
    listener = NativeListener(at.app.endpoint, listen("127.0.0.1", 0))
    transport = BareTransport()
    http = HttpConnection(listener)
    http.connection_made(transport)
    listener.write_batch.alone = alone
    for piece in pieces:
        # A handshake replaces the protocol, as in an event loop.
        taker = transport.protocol or http
        if not transport.closed:
            taker.data_received(piece)
        while http._answering is not None or http._pause.is_on:  # noqa: ASYNC110 - nothing reports it
            await asyncio.sleep(0)
    await asyncio.sleep(0)
    if transport.protocol is not None:
        await asyncio.sleep(0)
        transport.protocol.connection_lost(None)
    else:
        http.connection_lost(None)
    while listener._websockets:
        await asyncio.wait(listener._websockets)
    await listener.stop(0)
    return _VARYING.sub(b"", transport.written) if transport.protocol is None else b""


def run_frames(data: bytes) -> None:
    """Check that the messages in some bytes, in one or two segments, match those of the library's connection."""
    cut, stream = data[:1], data[1:]
    expected = _by_library(stream)
    at = (cut[0] if cut else 0) % (len(stream) + 1)
    for pieces in ([stream], [stream[:at], stream[at:]]):
        messages, is_broken = _by_frames(pieces)
        assert messages == expected[0]
        # A frame may be rejected by its head, but the library waits for the rest.
        assert is_broken == expected[1] or (is_broken and _by_library(stream + bytes(1 << 17))[1])


def _by_frames(pieces: list[bytes]) -> tuple[list[bytes], bool]:
    frames = FrameParser(_MOST)
    messages: list[bytes] = []
    try:
        for piece in pieces:
            for kind, content in frames.feed(piece):
                if kind is Opcode.CLOSE:
                    close_code(content)
                    return messages, False
                if kind is Opcode.TEXT:
                    messages.append(content)
    except ProtocolViolation:
        return messages, True
    return messages, False


def _by_library(stream: bytes) -> tuple[list[bytes], bool]:
    shaken = ServerProtocol(state=State.OPEN, max_size=_MOST)
    shaken.receive_data(stream)
    messages: list[bytes] = []
    parts: list[bytes] = []
    is_text = True
    for frame in shaken.events_received():
        assert isinstance(frame, Frame)
        if frame.opcode is Opcode.CLOSE:
            return messages, False
        if frame.opcode not in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
            continue
        if frame.opcode is not Opcode.CONT:
            parts, is_text = [], frame.opcode is Opcode.TEXT
        parts.append(bytes(frame.data))
        if frame.fin:
            message = b"".join(parts)
            if is_text and not _is_utf8(message):  # the library leaves this check to its user
                return messages, True
            messages.append(message)
    return messages, shaken.parser_exc is not None


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
