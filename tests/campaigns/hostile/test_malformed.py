"""The short form of `make hostile`."""

import pytest

from hostile.malformed.campaign import Campaign
from live import live_node

MALFORMED, HELD = 3000, 1500


@pytest.mark.timeout(300)
def test_node_survives_malformed_requests_and_a_full_accept_queue() -> None:
    with live_node("--step", "200ms") as node:
        campaign = Campaign(node, [node.process.pid], seed=1)
        summary = campaign.run(MALFORMED, HELD, rate=0, calm=2, seconds=2)
    assert summary.faults == []
    assert sum(summary.answers.values()) >= MALFORMED
    # The memory that the second attack needs is already allocated by the first one.
    first, second = (summary.memory[turn]["resident KB"] for turn in ("held", "held again"))
    assert second - first < 40 * 1024
