"""Markers of tests by what they need, from their folder, their file and their fixtures."""

from collections.abc import Iterable, Iterator
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

NIGHTLY = (
    "campaigns/alerts",
    "campaigns/capacity",
    "campaigns/cluster",
    "campaigns/cluster_upgrade",
    "campaigns/container",
    "campaigns/day",
    "campaigns/hostile/test_deployment.py",
    "campaigns/hostile/test_patterns.py",
    "campaigns/optimism_chain",
    "campaigns/payments/test_killed_processes.py",
    "campaigns/payments/test_random_runs.py",
    "campaigns/readers",
    "campaigns/soak",
    "e2e/bench/test_command.py",
    "e2e/browser/checkout/test_button.py",
    "e2e/browser/checkout/test_failures.py",
    "e2e/browser/checkout/test_hostile.py",
    "e2e/browser/dashboard/test_actions.py",
    "e2e/browser/dashboard/test_order_page.py",
    "e2e/browser/dashboard/test_overview_and_export.py",
    "e2e/browser/dashboard/test_payouts.py",
    "e2e/browser/dashboard/test_several_merchants.py",
    "e2e/browser/dashboard/test_sign_in.py",
    "e2e/browser/dashboard/test_transfers.py",
    "e2e/browser/dashboard/test_webhooks.py",
    "e2e/browser/explorer/test_address.py",
    "e2e/browser/explorer/test_hostile.py",
    "e2e/browser/explorer/test_large_steps.py",
    "e2e/browser/explorer/test_logs_and_pool.py",
    "e2e/browser/explorer/test_navigation.py",
    "e2e/browser/explorer/test_outages.py",
    "e2e/browser/explorer/test_transaction.py",
    "e2e/browser/shop/test_purchase.py",
    "e2e/cli/test_db.py",
    "e2e/cli/test_repair_from.py",
    "e2e/cli/test_top.py",
    "e2e/client/test_large_steps.py",
    "e2e/clients/test_stock_libraries.py",
    "e2e/clients/test_viem.py",
    "e2e/deploy",
    "e2e/docs",
    "e2e/load",
    "e2e/optimism/test_model.py",
    "e2e/optimism/test_pool_build.py",
    "e2e/payments/api/test_faults.py",
    "e2e/payments/api/test_several_merchants.py",
    "e2e/payments/api/test_telemetry.py",
    "e2e/payments/api/test_typescript_client.py",
    "e2e/payments/test_demo.py",
    "e2e/payments/test_shop_demo.py",
    "e2e/payments/x402/pairings",
    "e2e/payments/x402/sdk",
    "e2e/payments/x402/test_facilitator_faults.py",
    "e2e/server/test_random_bodies.py",
    "e2e/workers/test_stalled_processes.py",
    "integration/cli/test_pay_account.py",
    "integration/supervisor/test_stalled_processes.py",
)
"""Tests that `make test` leaves to `make nightly`: long, and each guarantee has a shorter test in the gate."""

ON_POSTGRESQL = (
    "campaigns/payments/test_two_processes.py",
    "e2e/payments/x402/test_concurrent_sellers.py",
    "integration/payments/ledger",
    "integration/payments/transactions",
    "integration/payments/transfers",
    "integration/payments/workers/test_process_names.py",
    "integration/payments/workers/test_worker.py",
    "integration/payments/x402/seller",
)
"""Tests that `make test` also runs on PostgreSQL, whose locks and types differ from SQLite's; the others by night."""


def below(path: Path, starts: Iterable[str]) -> bool:
    """Return True for a test file below one of the paths."""
    return any(path.is_relative_to(ROOT / "tests" / start) for start in starts)


def needs(item: pytest.Item) -> Iterator[str]:
    """Yield the markers of a test."""
    path = Path(item.path)
    for start, names in BY_PATH.items():
        if below(path, (start,)):
            yield from names
    parameters = (
        item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
    )
    on_postgresql = "postgresql" in getattr(item, "fixturenames", ()) or "postgresql" in parameters
    if on_postgresql:
        yield "postgresql"
    if below(path, NIGHTLY) or (on_postgresql and not below(path, ON_POSTGRESQL)):
        yield "nightly"
