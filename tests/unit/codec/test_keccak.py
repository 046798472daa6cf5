"""foreseal.codec.keccak against pycryptodome."""

import pytest
from Crypto.Hash import keccak as peer
from hypothesis import given
from hypothesis import strategies as st

from foreseal.codec import keccak, keccak_batch

BLOCK = 136  # bytes absorbed per permutation: padding is decided around its multiples
EDGES = [
    0,
    1,
    31,
    32,
    33,
    BLOCK - 1,
    BLOCK,
    BLOCK + 1,
    2 * BLOCK - 1,
    2 * BLOCK,
    2 * BLOCK + 1,
    532,
    6143,
    6144,
    6145,
]


def expected(data: bytes) -> bytes:
    return peer.new(digest_bits=256, data=data).digest()


def test_empty_input_has_the_published_hash() -> None:
    assert keccak(b"").hex() == "c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"


@pytest.mark.parametrize("length", EDGES)
def test_lengths_around_the_block_size_are_hashed(length: int) -> None:
    data = bytes(i * 7 % 256 for i in range(length))
    assert keccak(data) == expected(data)
    assert keccak(bytearray(data)) == expected(data)


@given(st.binary(max_size=1024))
def test_random_bytes_have_the_hash_of_the_peer(data: bytes) -> None:
    assert keccak(data) == expected(data)


@given(st.lists(st.binary(max_size=300), max_size=40))
def test_a_batch_equals_its_items(items: list[bytes]) -> None:
    assert keccak_batch(items) == [expected(item) for item in items]


def test_batch_of_mixed_lengths_preserves_its_order() -> None:
    items = [bytes([i % 256]) * (i % 150) for i in range(1000)]
    assert keccak_batch(items) == [expected(item) for item in items]
    assert keccak_batch(tuple(items)) == keccak_batch(items)
    assert keccak_batch([]) == []


@pytest.mark.parametrize("wrong", ["00", 0, None, [1, 2], memoryview(b"")])
def test_non_bytes_input_is_rejected(wrong: object) -> None:
    with pytest.raises(TypeError) as error:
        keccak(wrong)  # type: ignore[arg-type]
    assert type(wrong).__name__ in str(error.value)
    assert any("data" in note for note in error.value.__notes__)
    with pytest.raises(TypeError) as error:
        keccak_batch([b"", wrong])  # type: ignore[list-item]
    assert any("items" in note for note in error.value.__notes__)
