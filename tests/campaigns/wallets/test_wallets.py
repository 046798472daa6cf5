"""Short forms of the campaign: honest and hostile wallets at some entrances, and the gas of hostile sales."""

import pytest

from wallets import campaign, sales
from wallets.kinds import KINDS
from wallets.trial import Trial

NAMES = ("batch capture", "cancel", "permit2", "channel deposit and claim")


@pytest.mark.parametrize("wallet", ["7702_undelegated", "proxy_to_burning"])
@pytest.mark.timeout(240)
def test_wallet_costs_bounded_gas_and_delays_nobody(wallet: str) -> None:
    trials: list[Trial] = []
    report = campaign.run([wallet], NAMES, trials.append)
    assert report.faults == []
    assert {trial.operation for trial in trials} == set(NAMES)
    assert {trial.is_batched for trial in trials} == {False, True}
    assert all(trial.control_done for trial in trials)
    assert {trial.done for trial in trials} == {KINDS[wallet].honest}
    # An honest wallet pays for all goods; a wallet that changes after the check makes its transactions revert.
    reverts = KINDS[wallet].switched is not None and not KINDS[wallet].honest
    assert any(trial.gas.reverted for trial in trials) == reverts


@pytest.mark.timeout(240)
def test_hostile_sales_cost_at_most_the_maximum() -> None:
    report = sales.run(10, 3)
    assert (report.sales, report.faults) == (10, [])
    assert report.reverted > 0
    assert 0 < report.most_of_maximum <= 1
