"""Blocks by time."""

from types import SimpleNamespace
from typing import Any

import pytest

from foreseal.payments.chain import Incomplete
from foreseal.payments.chain.block_times import first_block_at


class Headers:
    """A node with the headers from `oldest` on; block n has the time `times[n]`, the last one is pending."""

    def __init__(self, times: list[int], oldest: int = 0) -> None:
        self.times = times
        self.oldest = oldest

    def head(self, block: Any) -> Any:
        number = len(self.times) - 1 if block == "pending" else block
        return SimpleNamespace(number=number, timestamp=self.times[number]) if number >= self.oldest else None


@pytest.mark.parametrize("lowest", [0, 2])
def test_first_block_at_agrees_with_a_linear_search(lowest: int) -> None:
    times = [0, 3, 3, 3, 8, 9, 9, 20]
    for time in range(25):
        expected = next((number for number in range(lowest, 8) if times[number] >= time), 8)
        assert first_block_at(Headers(times), time, lowest) == expected  # type: ignore[arg-type]


def test_time_before_the_history_of_the_node_is_an_error() -> None:
    node: Any = Headers(list(range(0, 40, 2)), oldest=12)
    assert [first_block_at(node, time, 0) for time in (25, 26, 38, 39)] == [13, 13, 19, 20]
    for time in (0, 10, 24):
        with pytest.raises(Incomplete, match="the node has no block 11"):
            first_block_at(node, time, 0)
