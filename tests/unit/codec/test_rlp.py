"""foreseal.codec's RLP against PyPI rlp."""

from typing import Any

import pytest
import rlp as peer
from hypothesis import given
from hypothesis import strategies as st

from foreseal.codec import rlp_decode, rlp_decode_batch, rlp_encode, rlp_encode_batch

MAX_DEPTH = 1024
STRINGS = st.one_of(st.binary(max_size=70), st.binary(min_size=250, max_size=300))
DECODED = st.recursive(STRINGS, lambda inner: st.lists(inner, max_size=8), max_leaves=40)
INTEGERS = st.one_of(st.integers(0, 2**64 + 1), st.integers(0, 2**300))
ENCODABLE = st.recursive(
    st.one_of(STRINGS, INTEGERS, st.booleans(), st.binary(max_size=60).map(bytearray)),
    lambda inner: st.one_of(st.lists(inner, max_size=8), st.lists(inner, max_size=4).map(tuple)),
    max_leaves=40,
)


def nested(depth: int) -> Any:
    item: Any = []
    for _ in range(depth - 1):
        item = [item]
    return item


@given(ENCODABLE)
def test_encoding_equals_the_peers(item: Any) -> None:
    assert rlp_encode(item) == peer.encode(item)


@given(DECODED)
def test_decoding_inverts_encoding(item: Any) -> None:
    assert rlp_decode(rlp_encode(item)) == item


@given(st.one_of(st.binary(max_size=80), DECODED.map(lambda item: bytes(peer.encode(item)))), st.data())
def test_invalid_encodings_are_rejected_like_the_peer(data: bytes, draw: st.DataObject) -> None:
    if data and draw.draw(st.booleans()):
        at = draw.draw(st.integers(0, len(data) - 1))
        data = data[:at] + draw.draw(st.binary(min_size=1, max_size=1)) + data[at + 1 :]
    try:
        expected = peer.decode(data, strict=True)
    except peer.exceptions.DecodingError:
        with pytest.raises(ValueError, match=r"^data: .* at offset [0-9]+$"):
            rlp_decode(data)
    else:
        assert rlp_decode(data) == expected


@pytest.mark.parametrize("number", [0, 1, 127, 128, 255, 256, 2**63 - 1, 2**63, 2**64, 2**256 - 1, 2**256, 2**8000])
def test_boundary_integers_round_trip(number: int) -> None:
    assert rlp_encode(number) == peer.encode(number)
    assert int.from_bytes(rlp_decode(rlp_encode([number]))[0]) == number  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [0, 1, 55, 56, 255, 256, 65535, 65536])
def test_boundary_lengths_round_trip(length: int) -> None:
    for item in (b"\x80" * length, [b"\x01"] * length):
        assert rlp_encode(item) == peer.encode(item)
        assert rlp_decode(rlp_encode(item)) == item


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("", "input too short at offset 0"),
        ("8100", "non-canonical single byte at offset 0"),
        ("c28100", "non-canonical single byte at offset 1"),
        ("b801ff", "non-canonical size at offset 0"),
        ("b90038" + "00" * 56, "leading zero at offset 0"),
        ("f800", "leading zero at offset 0"),
        ("f801c0", "non-canonical size at offset 0"),
        ("83ffff", "input too short at offset 0"),
        ("c382ffff80", "bytes after the end of the item at offset 4"),
        ("c483ffffff80", "bytes after the end of the item at offset 5"),
        ("c283ffffff", "input too short at offset 1"),
        ("bfffffffffffffffff", "input too short at offset 0"),
        ("ffffffffffffffffff", "input too short at offset 0"),
        ("c0c0", "bytes after the end of the item at offset 1"),
    ],
)
def test_non_canonical_encoding_is_rejected(data: str, reason: str) -> None:
    with pytest.raises(ValueError, match=f"^data: {reason}$"):
        rlp_decode(bytes.fromhex(data))
    with pytest.raises(ValueError, match=rf"^items\[1\]: {reason}$"):
        rlp_decode_batch([b"\x80", bytes.fromhex(data)])


@given(st.lists(ENCODABLE, max_size=10))
def test_batches_equal_their_items(items: list[Any]) -> None:
    encoded = rlp_encode_batch(items)
    assert encoded == [peer.encode(item) for item in items]
    assert rlp_decode_batch(encoded) == [peer.decode(item) for item in encoded]


def test_nesting_depth_is_limited_in_both_directions() -> None:
    deepest = rlp_encode(nested(MAX_DEPTH))
    assert rlp_encode(rlp_decode(deepest)) == deepest
    with pytest.raises(ValueError, match="item: nested deeper than 1024"):
        rlp_encode(nested(MAX_DEPTH + 1))
    with pytest.raises(ValueError, match="data: nested deeper than 1024"):
        rlp_decode(wrapped(deepest))


def test_self_referencing_list_is_rejected() -> None:
    item: Any = []
    item.append(item)
    with pytest.raises(ValueError, match="nested deeper"):
        rlp_encode(item)


def wrapped(encoded: bytes) -> bytes:
    """Return a list of the one item `encoded`, which is longer than 55 bytes."""
    length = len(encoded).to_bytes((len(encoded).bit_length() + 7) // 8)
    return bytes([0xF7 + len(length)]) + length + encoded


@pytest.mark.parametrize("wrong", ["dog", None, 1.5, {b"a": b"b"}, {1}, object()])
def test_unsupported_types_are_rejected(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"item: {type(wrong).__name__} has no RLP"):
        rlp_encode([b"", [wrong]])


@pytest.mark.parametrize("number", [-1, -(2**63), -(2**63) - 1, -(2**300)])
def test_negative_integers_are_rejected(number: int) -> None:
    with pytest.raises(ValueError, match=r"item: -[0-9]+ is negative"):
        rlp_encode([number])
