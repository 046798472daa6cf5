"""The short form of the campaign: honest clients get responses during attacks, and memory is bounded.

No delay is asserted, because the machine of the default tests is busy. `make hostile` measures delays.
"""

import pytest

from hostile.build import TRANSPORTS, Build
from hostile.campaign import Campaign, Plan
from hostile.patterns import PATTERNS
from hostile.trial import GATE_BOUNDS

SHORT = ("call-keccak", "trailers", "ping-unread", "two-byte-chunks", "half-head", "batch-heavy", "pool-gaps")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_honest_clients_are_answered_next_to_hostile_ones(transport: str) -> None:
    # granian answers pings itself and queues the pongs: docs/transports.md names the proxy that prevents this.
    names = tuple(name for name in SHORT if (name, transport) != ("ping-unread", "asgi"))
    plan = Plan(names, (2,), (transport,), seconds=1.0, calm=1.0, bounds=GATE_BOUNDS)
    trials = Campaign(Build.beside(), plan).run()
    assert [trial.pattern for trial in trials] == list(names)
    assert {f"{trial.pattern}: {failure}" for trial in trials for failure in trial.failures} == set()
    for trial in trials:
        assert all(delays.calls for delays in trial.after.reads.values()), trial.pattern


def test_campaign_has_at_least_sixty_described_patterns() -> None:
    assert len(PATTERNS) >= 60
    assert {pattern.group for pattern in PATTERNS.values()} == {
        "envelopes", "execution", "framing", "pool", "reading", "tls", "tracing", "websocket",
    }  # fmt: skip
    assert all(pattern.description and set(pattern.transports) <= set(TRANSPORTS) for pattern in PATTERNS.values())
