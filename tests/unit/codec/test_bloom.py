"""foreseal.codec's blooms against PyPI eth-bloom."""

import random

import pytest
from eth_bloom import BloomFilter
from hypothesis import given
from hypothesis import strategies as st

from foreseal.codec import bloom_contains, bloom_contains_batch, logs_bloom, logs_bloom_batch

Log = tuple[bytes, list[bytes]]
ADDRESS = b"\x11" * 20
TOPIC = b"\x22" * 32
LOGS = st.lists(
    st.tuples(
        st.binary(min_size=20, max_size=20),
        st.lists(st.binary(min_size=32, max_size=32), max_size=4),
    ),
    max_size=12,
)


def expected(logs: list[Log]) -> bytes:
    bloom = BloomFilter()
    for address, topics in logs:
        bloom.add(address)
        bloom.extend(topics)
    return int(bloom).to_bytes(256)


@given(LOGS)
def test_a_bloom_equals_the_peers(logs: list[Log]) -> None:
    assert logs_bloom(logs) == expected(logs)


@given(st.lists(LOGS, max_size=6))
def test_a_batch_equals_its_lists(lists: list[list[Log]]) -> None:
    assert logs_bloom_batch(lists) == [expected(logs) for logs in lists]


@given(LOGS, st.binary(max_size=40))
def test_membership_equals_the_peers(logs: list[Log], other: bytes) -> None:
    bloom = logs_bloom(logs)
    peer = BloomFilter(int.from_bytes(bloom))
    present = [value for address, topics in logs for value in (address, *topics)]
    assert all(bloom_contains(bloom, value) for value in present)
    assert bloom_contains(bloom, other) == (other in peer)


def test_membership_in_a_batch() -> None:
    generator = random.Random(5)
    lists = [[(generator.randbytes(20), [generator.randbytes(32)])] for _ in range(50)]
    wanted = lists[17][0][1][0]
    blooms = logs_bloom_batch(lists)
    assert bloom_contains_batch(blooms, wanted) == [bloom_contains(bloom, wanted) for bloom in blooms]
    assert bloom_contains_batch(blooms, wanted)[17]
    assert not all(bloom_contains_batch(blooms, wanted))


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ((ADDRESS[1:], []), "address has 19 bytes, not 20"),
        ((ADDRESS + b"\0", []), "address has 21 bytes, not 20"),
        ((ADDRESS, [TOPIC, TOPIC[1:]]), "topic 1 has 31 bytes, not 32"),
        ((ADDRESS, [TOPIC] * 5), "5 topics, at most 4"),
    ],
)
def test_wrong_values_are_named(log: Log, reason: str) -> None:
    with pytest.raises(ValueError, match=rf"^logs\[1\]: {reason}$"):
        logs_bloom([(ADDRESS, [TOPIC]), log])
    with pytest.raises(ValueError, match=rf"^lists\[1\]\[0\]: {reason}$"):
        logs_bloom_batch([[], [log]])


def test_a_bloom_has_256_bytes() -> None:
    with pytest.raises(ValueError, match=r"^bloom: a bloom has 256 bytes, got 255$"):
        bloom_contains(bytes(255), ADDRESS)
    with pytest.raises(ValueError, match=r"^blooms\[1\]: a bloom has 256 bytes, got 257$"):
        bloom_contains_batch([bytes(256), bytes(257)], ADDRESS)


@pytest.mark.parametrize("wrong", [None, [ADDRESS], [(ADDRESS,)], [(ADDRESS, None)], [(ADDRESS, ["22"])]])
def test_invalid_bloom_types_are_rejected(wrong: object) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        logs_bloom(wrong)  # type: ignore[arg-type]
    assert any("logs" in note for note in error.value.__notes__)
