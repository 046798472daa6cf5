"""WebSocket frames (RFC 6455): a strict parser for frames of clients, and encoders for those of the server."""

from collections.abc import Iterator, Sequence

from websockets.exceptions import ProtocolError
from websockets.frames import Close, Frame, Opcode

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled part for this machine
    from websockets.utils import apply_mask

_FIN, _RESERVED, _OPCODE, _MASKED, _LENGTH = 0x80, 0x70, 0x0F, 0x80, 0x7F
_TEXT_FRAME = _FIN | Opcode.TEXT
# Payloads up to 125 bytes have their length in the second byte, up to 64 KiB in two more, others in eight more.
_SHORT, _MEDIUM = 126, 65_536
_SHORT_HEAD, _MEDIUM_HEAD, _LONG_HEAD = 6, 8, 14
_MAX_CONTROL = 125
_CONTROL = frozenset((Opcode.CLOSE, Opcode.PING, Opcode.PONG))
_OPCODES = {int(opcode): opcode for opcode in Opcode}


class ProtocolViolation(Exception):
    """The client violated the protocol; `code` is that of the close frame (RFC 6455, section 7.4.1)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class FrameParser:
    """Parses bytes into messages and control frames. Each byte is copied a bounded number of times."""

    def __init__(self, max_size: int) -> None:
        """Limit messages to `max_size` bytes; a larger one is an error as soon as its length is read."""
        self._max_size = max_size
        self._data: bytes | bytearray = b""
        self._at = 0
        # The unfinished message of several frames; None between messages.
        self._message: bytearray | None = None
        self._is_text = True
        self.work = 0
        """Number of frames so far that are not a whole message: control frames, fragments, empty frames."""

    @property
    def is_between(self) -> bool:
        """True if the next byte begins a message."""
        return self._message is None and self._at == len(self._data)

    @property
    def size(self) -> int:
        """Number of bytes that are unfinished or not yet parsed."""
        return len(self._data) - self._at + (0 if self._message is None else len(self._message))

    def clear(self) -> None:
        """Drop everything."""
        self._data, self._at, self._message = b"", 0, None

    def add(self, data: bytes) -> None:
        """Append received bytes."""
        if self._at == len(self._data):
            self._data, self._at = data, 0
            return
        if not isinstance(self._data, bytearray) or self._at:
            self._data, self._at = bytearray(memoryview(self._data)[self._at :]), 0
        self._data += data

    def feed(self, data: bytes) -> Iterator[tuple[Opcode, bytes]]:
        """Yield messages (TEXT) and control frames that end in `data`, in order. Raises `ProtocolViolation`."""
        self.add(data)
        while (frame := self.next()) is not None:
            yield frame

    def next(self) -> tuple[Opcode, bytes] | None:
        """Return the next message (TEXT) or control frame, None if none is complete. Raises `ProtocolViolation`."""
        while (frame := self._frame()) is not None:
            opcode, is_last, payload = frame
            if opcode in _CONTROL:
                self.work += 1
                return opcode, payload
            message = self._joined(opcode, payload, is_last=is_last)
            if message is not None:
                return Opcode.TEXT, message
        return None

    def _frame(self) -> tuple[Opcode, bool, bytes] | None:
        """Read one frame; None if it has not arrived completely."""
        data, start = self._data, self._at
        available = len(data) - start
        if available < 2:
            return None
        first, second = data[start], data[start + 1]
        opcode = self._opcode(first) if first != _TEXT_FRAME or self._message is not None else Opcode.TEXT
        if not second & _MASKED:
            raise ProtocolViolation(1002, "frames of a client must be masked")
        length = second & _LENGTH
        head = _SHORT_HEAD
        if opcode in _CONTROL and (length > _MAX_CONTROL or not first & _FIN):
            raise ProtocolViolation(1002, "a control frame must be unfragmented and have at most 125 bytes")
        if length >= _SHORT:
            head = _MEDIUM_HEAD if length == _SHORT else _LONG_HEAD
            if available < head - 4:
                return None
            length = int.from_bytes(data[start + 2 : start + head - 4])
            if length < (_SHORT if head == _MEDIUM_HEAD else _MEDIUM) or length >> 63:
                raise ProtocolViolation(1002, "the length of a frame must be encoded minimally, in at most 63 bits")
        if length + (0 if self._message is None or opcode in _CONTROL else len(self._message)) > self._max_size:
            raise ProtocolViolation(1009, f"a message may have at most {self._max_size} bytes")
        end = start + head + length
        if end > len(data):
            return None
        mask = bytes(data[start + head - 4 : start + head])
        payload = apply_mask(bytes(memoryview(data)[start + head : end]), mask)
        self._at = end
        if end == len(data):
            self._data, self._at = b"", 0
        return opcode, bool(first & _FIN), payload

    def _opcode(self, first: int) -> Opcode:
        """Return the opcode in the first byte of a frame, if such a frame is allowed now."""
        if first & _RESERVED:
            raise ProtocolViolation(1002, "reserved bits must be 0")
        opcode = _OPCODES.get(first & _OPCODE)
        if opcode is None:
            raise ProtocolViolation(1002, "unknown opcode")
        if opcode is Opcode.CONT and self._message is None:
            raise ProtocolViolation(1002, "unexpected continuation frame")
        if opcode in (Opcode.TEXT, Opcode.BINARY) and self._message is not None:
            raise ProtocolViolation(1002, "expected a continuation frame")
        return opcode

    def _joined(self, opcode: Opcode, payload: bytes, *, is_last: bool) -> bytes | None:
        """Return the message that ends with a data frame; None if it continues."""
        if opcode is not Opcode.CONT:
            self._is_text = opcode is Opcode.TEXT
            if is_last:
                self.work += not payload
                return _checked(payload) if self._is_text else payload
            self._message = bytearray()
        self.work += 1
        assert self._message is not None, "a continuation was checked"
        self._message += payload
        if not is_last:
            return None
        message, self._message = bytes(self._message), None
        return _checked(message) if self._is_text else message


def _checked(text: bytes) -> bytes:
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise ProtocolViolation(1007, str(error)) from None
    return text


def text_head(size: int) -> bytes:
    """Return the head of a text frame of `size` bytes to a client."""
    if size < _SHORT:
        return b"\x81%c" % size
    if size < _MEDIUM:
        return b"\x81\x7e%b" % size.to_bytes(2, "big")
    return b"\x81\x7f%b" % size.to_bytes(8, "big")


def text_frame(data: bytes) -> bytes:
    """Return a frame of a UTF-8 text to a client."""
    return text_head(len(data)) + data


def frame_chunks(texts: Sequence[str], prefix: int, end: str) -> list[bytes]:
    """Return pieces of text frames that `prefix.join` completes.

    Each text has `end` after it, and before it a prefix of `prefix` bytes.
    """
    chunks, behind = [], b""
    for text in texts:
        data = f"{text}{end}".encode()
        chunks.append(behind + text_head(prefix + len(data)))
        behind = data
    return [*chunks, behind]


def pong_frame(data: bytes) -> bytes:
    """Return the answer to a ping."""
    return b"\x8a%c%b" % (len(data), data)


PING_FRAME = b"\x89\x00"
"""A ping without content, which every client answers."""


def close_frame(code: int | None, reason: str = "") -> bytes:
    """Return a close frame; without a code, the answer to one that had none."""
    data = b"" if code is None else Close(code, reason).serialize()
    return Frame(Opcode.CLOSE, data).serialize(mask=False)


def close_code(data: bytes) -> int | None:
    """Return the code of a client's close frame; None if it has none. Raises `ProtocolViolation`."""
    try:
        code = Close.parse(data).code
    except (ProtocolError, UnicodeDecodeError) as error:
        raise ProtocolViolation(1002, str(error)) from None
    return code if data else None
