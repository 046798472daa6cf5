"""Step intervals of the measurement of the quorum journal."""

import pytest
from benches.cluster.quorum_cost import MAX_RATE, step_ms


@pytest.mark.parametrize(("size", "interval"), [(100, 200), (1_000, 200), (5_000, 500)])
def test_larger_steps_are_longer_at_the_maximum_rate(size: int, interval: int) -> None:
    assert step_ms(size) == interval
    assert size * 1000 / interval <= MAX_RATE
