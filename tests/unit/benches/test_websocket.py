"""Frames from a server, in any pieces."""

import struct

import pytest
from benches.load.websocket import TEXT, frames

PAYLOADS = [b"", b"a" * 125, b"b" * 126, b"c" * 70_000, b"d"]


def sent(payload: bytes) -> bytes:
    """Return a frame as a server sends it: without a mask."""
    if len(payload) < 126:
        return struct.pack(">BB", 0x80 | TEXT, len(payload)) + payload
    if len(payload) < 1 << 16:
        return struct.pack(">BBH", 0x80 | TEXT, 126, len(payload)) + payload
    return struct.pack(">BBQ", 0x80 | TEXT, 127, len(payload)) + payload


STREAM = b"".join(map(sent, PAYLOADS))


def test_frames_of_one_read_are_complete() -> None:
    assert frames(STREAM) == ([(TEXT, payload) for payload in PAYLOADS], b"", 2)


@pytest.mark.parametrize("cut", [0, 1, 2, 3, 126, 127, 128, 130, 258, 260, 265, 1_000, len(STREAM) - 1])
def test_next_frame_needs_the_missing_bytes_at_least(cut: int) -> None:
    first, rest, missing = frames(STREAM[:cut])
    assert missing >= 1
    assert frames(rest + STREAM[cut : cut + missing - 1])[0] == []
    assert first + frames(rest + STREAM[cut:])[0] == [(TEXT, payload) for payload in PAYLOADS]


def test_complete_head_names_the_missing_bytes() -> None:
    assert frames(sent(b"c" * 70_000)[:10])[2] == 70_000
