"""WebSocket frames (RFC 6455) as bytes come and go: those of the library, and a way past it for the usual ones."""

from collections.abc import Generator, Iterator, Sequence

from websockets.exceptions import PayloadTooBig, ProtocolError
from websockets.frames import Close, Frame, Opcode
from websockets.streams import StreamReader

try:
    from websockets.speedups import apply_mask
except ImportError:  # no compiled part for this machine
    from websockets.utils import apply_mask

_WHOLE_TEXT = 0x81
_MASKED = 0x80
_SHORT, _MEDIUM = 126, 65_536
# Of a masked frame's head: two bytes, the mask, and two of the length where it takes them.
_SHORT_HEAD, _MEDIUM_HEAD = 6, 8


class Broken(Exception):
    """What the client sent is against the protocol; `code` says how (RFC 6455, section 7.4.1)."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(code, reason)
        self.code = code
        self.reason = reason


class Frames:
    """From bytes to messages and control frames."""

    def __init__(self, most: int) -> None:
        """A message has at most `most` bytes; one that is larger is given as soon as it is, unfinished."""
        self._most = most
        self._reader = StreamReader()
        self._parsing: Generator[None, None, Frame] | None = None
        # Parts of a message in several frames; None between messages.
        self._parts: list[bytes] | None = None
        self._is_text = True
        self._size = 0

    @property
    def is_between(self) -> bool:
        """Whether the next byte begins a message."""
        return self._parsing is None and self._parts is None

    def feed(self, data: bytes) -> Iterator[tuple[Opcode, bytes]]:
        """The messages (TEXT) and control frames that end in `data`, in their order. Raises `Broken`."""
        start = 0
        while self._parsing is None and self._parts is None:
            end = self._whole_text(data, start)
            if end is None:
                break
            yield Opcode.TEXT, self._text
            if end == len(data):
                return
            start = end
        if start == len(data):
            return
        self._reader.feed_data(data[start:])
        while (frame := self._next()) is not None:
            if frame.opcode in (Opcode.PING, Opcode.PONG, Opcode.CLOSE):
                yield frame.opcode, bytes(frame.data)
            else:
                message = self._joined(frame)
                if message is not None:
                    yield Opcode.TEXT, message

    def _whole_text(self, data: bytes, start: int) -> int | None:
        """Where a masked text in one frame of less than 64 KB ends, whose message is `_text`; None for all else."""
        if len(data) - start < _SHORT_HEAD or data[start] != _WHOLE_TEXT:
            return None
        length = data[start + 1] - _MASKED
        if 0 <= length < _SHORT:
            head = start + _SHORT_HEAD
        elif length == _SHORT and len(data) - start >= _MEDIUM_HEAD:
            length = data[start + 2] << 8 | data[start + 3]
            head = start + _MEDIUM_HEAD
        else:
            return None
        end = head + length
        if end > len(data) or length > self._most:
            return None
        self._text = _checked(apply_mask(data[head:end], data[head - 4 : head]))
        return end

    def _next(self) -> Frame | None:
        if self._parsing is None:
            if not self._reader.buffer:
                return None
            self._parsing = Frame.parse(self._reader.read_exact, mask=True, max_size=self._most)
        try:
            next(self._parsing)
        except StopIteration as done:
            self._parsing = None
            frame: Frame = done.value
            return frame
        except PayloadTooBig:
            raise Broken(1009, f"a message may have at most {self._most} bytes") from None
        except ProtocolError as error:
            raise Broken(1002, str(error)) from None
        return None

    def _joined(self, frame: Frame) -> bytes | None:
        """The message that ends with a data frame; None if it goes on."""
        if (frame.opcode is Opcode.CONT) == (self._parts is None):
            raise Broken(1002, "unexpected continuation frame" if self._parts is None else "expected a continuation")
        if self._parts is None:
            self._parts, self._size, self._is_text = [], 0, frame.opcode is Opcode.TEXT
        self._parts.append(bytes(frame.data))
        self._size += len(frame.data)
        if self._size > self._most:
            raise Broken(1009, f"a message may have at most {self._most} bytes")
        if not frame.fin:
            return None
        message, self._parts = b"".join(self._parts), None
        return _checked(message) if self._is_text else message


def _checked(text: bytes) -> bytes:
    if not text.isascii():
        try:
            text.decode()
        except UnicodeDecodeError as error:
            raise Broken(1007, str(error)) from None
    return text


def text_head(size: int) -> bytes:
    """What precedes a text of `size` bytes to a client, in one frame."""
    if size < _SHORT:
        return b"\x81%c" % size
    if size < _MEDIUM:
        return b"\x81\x7e%b" % size.to_bytes(2, "big")
    return b"\x81\x7f%b" % size.to_bytes(8, "big")


def text_frame(data: bytes) -> bytes:
    """A text, UTF-8, to a client in one frame."""
    return text_head(len(data)) + data


def pieces_of(texts: Sequence[str], prefix: int, end: str) -> list[bytes]:
    """Frames of texts with `end` behind each and `prefix` bytes before it: a prefix joins the pieces to them."""
    pieces, behind = [], b""
    for text in texts:
        data = f"{text}{end}".encode()
        pieces.append(behind + text_head(prefix + len(data)))
        behind = data
    return [*pieces, behind]


def pong_frame(data: bytes) -> bytes:
    """The answer to a ping."""
    return Frame(Opcode.PONG, data).serialize(mask=False)


def close_frame(code: int | None, reason: str = "") -> bytes:
    """A close frame; without a code, the answer to one that had none."""
    data = b"" if code is None else Close(code, reason).serialize()
    return Frame(Opcode.CLOSE, data).serialize(mask=False)


def close_code(data: bytes) -> int | None:
    """The code of a client's close frame; None where it has none. Raises `Broken`."""
    try:
        code = Close.parse(data).code
    except (ProtocolError, UnicodeDecodeError) as error:
        raise Broken(1002, str(error)) from None
    return code if data else None
