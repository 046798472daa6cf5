"""Frames of the feed between machines, as far as a reader of appends needs them.

Preamble and greeting are those of `rust_core/replication`, encoded by postcard. A reader applies nothing: it checks
the sequence numbers, the numbers of the frames and, against other readers, the hashes of the appends.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

WIRE_VERSION = 1
_PREAMBLE, _GREETING = b"FSEALTP1", b"FSEALFED"
_HELLO, _ALIVE = 1, 2
APPEND, END = 2, 6
_REPLICA = 1
_FROM, _AFTER = 0, 1
_LENGTH = struct.Struct("<I")
_HASH_SIZE = 32


class FeedProtocolError(Exception):
    """The bytes are not those of a feed."""


@dataclass(frozen=True, slots=True)
class FeedCursor:
    """Last append that a reader has; without a hash, the next one that it needs."""

    sequence: int
    hash: bytes | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame without its length."""

    kind: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Append:
    """An append of the journal."""

    sequence: int
    hash: bytes
    records: bytes


def encode_preamble(token: bytes) -> bytes:
    """Return the bytes before the protocol, which authenticate a follower."""
    return _PREAMBLE + struct.pack("<H", len(token)) + token


def encode_hello(chain_id: int, genesis: bytes, name: str, run_id: bytes, cursor: FeedCursor) -> bytes:
    """Return the greeting of a replica."""
    if cursor.hash is None:
        position = encode_varint(_FROM) + encode_varint(cursor.sequence)
    else:
        position = encode_varint(_AFTER) + encode_varint(cursor.sequence) + encode_bytes(cursor.hash)
    message = [
        *(encode_varint(chain_id), encode_bytes(genesis), encode_bytes(name.encode()), encode_varint(_REPLICA)),
        *(run_id, encode_bytes(b"bench"), encode_bytes(b""), position),
    ]
    return encode_frame(_HELLO, _GREETING + _LENGTH.pack(WIRE_VERSION) + b"".join(message))


def encode_alive(next_sequence: int) -> bytes:
    """Return the heartbeat of a follower that needs this append next."""
    return encode_frame(_ALIVE, encode_varint(next_sequence))


def encode_frame(kind: int, body: bytes) -> bytes:
    """Return a frame to the sequencer."""
    return _LENGTH.pack(len(body) + 1) + bytes([kind]) + body


def encode_varint(value: int) -> bytes:
    """Return a number with seven bits a byte, the lowest first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def encode_bytes(data: bytes) -> bytes:
    """Return bytes after their length."""
    return encode_varint(len(data)) + data


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number and the offset after it. Raises FeedProtocolError."""
    value = shift = 0
    while at < len(data) and shift < 64:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise FeedProtocolError("a number is cut off or too long")


def read_append(body: bytes) -> Append:
    """Return the append in a frame's body. Raises FeedProtocolError."""
    sequence, at = read_varint(body, 0)
    size, at = read_varint(body, at)
    hash = body[at : at + size]
    _, at = read_varint(body, at + size)
    length, at = read_varint(body, at)
    if size != _HASH_SIZE or at + length != len(body):
        raise FeedProtocolError(f"append {sequence} has {len(body) - at} bytes of records, not {length}")
    return Append(sequence, hash, body[at:])


class FrameBuffer:
    """Received bytes, from which complete frames are removed. The first frame has no number, all others have one."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._number: int | None = None

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Add bytes and yield the frames that are complete. Raises FeedProtocolError if a frame is missing."""
        self._bytes += data
        while len(self._bytes) >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._bytes)
            end = _LENGTH.size + length
            if len(self._bytes) < end:
                return
            payload = bytes(self._bytes[_LENGTH.size : end])
            del self._bytes[:end]
            yield self._without_number(payload)

    def _without_number(self, payload: bytes) -> Frame:
        if self._number is None:
            self._number = 0
            return Frame(payload[0], payload[1:])
        (number,) = _LENGTH.unpack(payload[-_LENGTH.size :])
        if number != self._number:
            raise FeedProtocolError(f"frame {number} follows frame {self._number - 1}")
        self._number += 1
        return Frame(payload[0], payload[1 : -_LENGTH.size])
