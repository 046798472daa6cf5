"""Frames of the feed as the readers of the lag measurement encode and decode them."""

import re
import struct

import pytest
from benches.cluster.append_comparison import AppendComparison
from benches.cluster.feed_wire import (
    APPEND,
    WIRE_VERSION,
    Append,
    FeedProtocolError,
    FrameBuffer,
    encode_bytes,
    encode_frame,
    encode_varint,
    read_append,
    read_varint,
)

from repository import ROOT


def numbered(kind: int, body: bytes, number: int) -> bytes:
    return encode_frame(kind, body + struct.pack("<I", number))


def append_body(sequence: int, records: bytes) -> bytes:
    return encode_varint(sequence) + encode_bytes(bytes(32)) + encode_varint(1) + encode_bytes(records)


def test_version_is_that_of_the_core() -> None:
    source = (ROOT / "rust_core/replication/src/wire/request.rs").read_text()
    match = re.search(r"VERSION: u32 = (\d+);", source)
    assert match is not None
    assert int(match[1]) == WIRE_VERSION


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**32, 2**63])
def test_varint_round_trips(value: int) -> None:
    encoded = encode_varint(value)
    assert read_varint(encoded, 0) == (value, len(encoded))


def test_varint_without_end_is_rejected() -> None:
    with pytest.raises(FeedProtocolError):
        read_varint(b"\x80\x80", 0)


def test_frames_arrive_complete_from_single_bytes() -> None:
    data = encode_frame(1, b"welcome") + numbered(APPEND, b"one", 0) + numbered(APPEND, b"two", 1)
    buffer = FrameBuffer()
    frames = [frame for byte in data for frame in buffer.feed(bytes([byte]))]
    assert [frame.body for frame in frames] == [b"welcome", b"one", b"two"]


def test_missing_frame_is_rejected() -> None:
    buffer = FrameBuffer()
    data = encode_frame(1, b"welcome") + numbered(APPEND, b"two", 1)
    with pytest.raises(FeedProtocolError, match="frame 1 follows frame -1"):
        list(buffer.feed(data))


def test_append_with_missing_records_is_rejected() -> None:
    body = append_body(7, b"records")
    assert read_append(body) == Append(7, bytes(32), b"records")
    with pytest.raises(FeedProtocolError):
        read_append(body[:-1])


def test_append_with_another_hash_is_reported() -> None:
    comparison = AppendComparison()
    for hash in (b"a", b"a", b"b"):
        comparison.add(Append(3, hash, b"raw one, raw two"))
    assert (comparison.compared, comparison.different) == (3, [3])
    assert comparison.sequence_with(b"raw two", 0) == 3
    assert comparison.sequence_with(b"raw two", 4) is None
