"""The short form of the campaign: honest clients get responses during attacks, and memory is bounded.

No delay is asserted, because the machine of the default tests is busy. `make hostile` measures delays.
"""

import pytest

from hostile.build import TRANSPORTS, Build
from hostile.campaign import Campaign, Plan
from hostile.patterns import PATTERNS
from hostile.trial import GATE_BOUNDS

SHORT = (
    "call-keccak",
    "trailers",
    "ping-unread",
    "two-byte-chunks",
    "half-head",
    "batch-heavy",
    "pool-gaps",
    "data-slots-written",
)


# granian answers pings itself and queues the pongs: docs/operate/transports.md names the proxy that prevents this.
CASES = [
    (transport, pattern)
    for transport in TRANSPORTS
    for pattern in SHORT
    if (transport, pattern) != ("asgi", "ping-unread")
]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("transport", "pattern"), CASES)
def test_honest_clients_are_answered_next_to_hostile_ones(transport: str, pattern: str) -> None:
    plan = Plan((pattern,), (2,), (transport,), seconds=1.0, calm=1.0, bounds=GATE_BOUNDS)
    (trial,) = Campaign(Build.beside(), plan).run()
    assert trial.pattern == pattern
    assert trial.failures == []
    assert all(delays.calls for delays in trial.after.reads.values())


def test_campaign_has_sixty_or_more_described_patterns() -> None:
    assert len(PATTERNS) >= 60
    assert {pattern.group for pattern in PATTERNS.values() if not pattern.group.startswith("chain-")} == {
        "envelopes", "execution", "framing", "pool", "reading", "tls", "tracing", "websocket",
    }  # fmt: skip
    assert all(pattern.description and set(pattern.transports) <= set(TRANSPORTS) for pattern in PATTERNS.values())
