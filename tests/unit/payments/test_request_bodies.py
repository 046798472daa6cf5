"""The memory for request bodies: counted by chunks, and free again at the end of each request."""

import pytest

from foreseal.payments.request_bodies import BodiesFull, BodyMemory


def test_bytes_of_all_requests_have_one_bound() -> None:
    memory = BodyMemory(100)
    with memory.request() as first, memory.request() as second:
        first.add(60)
        second.add(40)
        assert memory.held == 100
        with pytest.raises(BodiesFull, match="100 bytes"):
            second.add(1)
        assert memory.held == 60, "the rejected request holds nothing"
        second.add(40)
    assert memory.held == 0


def test_bytes_are_free_after_a_failure() -> None:
    memory = BodyMemory(100)

    def fail() -> None:
        with memory.request() as held:
            held.add(100)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert memory.held == 0


def test_no_more_bytes_are_removed_than_were_added() -> None:
    memory = BodyMemory(100)
    with memory.request() as held, memory.request() as other:
        other.add(10)
        held.add(20)
        held.remove(5)
        assert memory.held == 25
        held.remove(50)
        held.clear()
        assert memory.held == 10
