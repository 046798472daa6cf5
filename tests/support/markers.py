"""Markers of tests by what they need, from their folder, their file and their fixtures."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from repository import ROOT

BY_PATH = {
    "campaigns": ("node", "slow"),
    "campaigns/alerts": ("proxy",),
    "campaigns/cluster_upgrade": ("proxy",),
    "campaigns/container": ("proxy",),
    "campaigns/differential": ("npm",),
    "campaigns/wheels": ("network",),
    "e2e": ("node",),
    "e2e/bench": ("slow",),
    "e2e/browser": ("browser",),
    "e2e/clients/test_ethers.py": ("npm",),
    "e2e/clients/test_stock_libraries.py": ("npm", "slow"),
    "e2e/clients/test_viem.py": ("npm",),
    "e2e/clients/test_web3_modules.py": ("slow",),
    "e2e/clients/test_web3js.py": ("npm",),
    "e2e/cluster": ("proxy",),
    "e2e/deploy": ("proxy",),
    "e2e/load": ("slow",),
    "e2e/payments/api/test_typescript_client.py": ("npm",),
    "e2e/payments/x402/pairings": ("npm", "slow"),
    "e2e/payments/x402/sdk/test_live_tests.py": ("slow",),
    "e2e/server/test_proxies.py": ("proxy",),
    "e2e/server/test_quiet_websockets.py": ("proxy",),
    "integration/deploy/test_rules.py": ("proxy",),
    "integration/openrpc": ("npm",),
    "integration/pages": ("npm",),
    "integration/payments/contracts/test_compiled.py": ("npm",),
    "integration/payments/ledger/test_poolers.py": ("proxy",),
}
"""Markers of all tests below a path."""


def needs(item: pytest.Item) -> Iterator[str]:
    """Yield the markers of a test."""
    path = Path(item.path)
    for start, names in BY_PATH.items():
        if path.is_relative_to(ROOT / "tests" / start):
            yield from names
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    if "postgresql" in getattr(item, "fixturenames", ()) or any(value == "postgresql" for value in parameters):
        yield "postgresql"
