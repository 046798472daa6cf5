"""Health of a facilitator: a database without writes, follow-up work that hangs, and an account that waits."""

from typing import Any

import pytest

from foreseal.payments.chain import BreakerSettings, CircuitBreaker
from foreseal.payments.configuration.sections import NodeSection
from foreseal.payments.transactions.lost_gas import LOST_GAS_PERIOD
from foreseal.payments.workers.health_report import MAX_TASK_AGE
from foreseal.payments.workers.write_check import MAX_WRITE_AGE
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.health import FacilitatorHealth
from foreseal.payments.x402.facilitator.settlements import Settlements
from payments.batching import lose_gas
from payments.shop import SHOP, Shop
from payments.write_lock import limit_writes, without_writes

pytestmark = pytest.mark.fake_chain


class Monitored:
    """A facilitator whose account is the shop's; its checks run on request."""

    def __init__(self, shop: Shop) -> None:
        self.now = 1_000.0
        self.facilitator = Facilitator(Settlements(shop.ledger, shop.sender), monotonic=self._clock)
        node = NodeSection.model_validate({"url": "http://127.0.0.1:1", "chain_id": shop.chain.chain_id})
        breaker = CircuitBreaker(BreakerSettings(), self._clock)
        self._health = FacilitatorHealth(
            self.facilitator, breaker, node, 1, lambda: float(shop.chain.time), self._clock
        )
        limit_writes(self._health._writes, 0.05)

    def _clock(self) -> float:
        return self.now

    def health(self) -> Any:
        """Return the health after a check."""
        self._health.run_checks()
        return self._health.health()


def codes(health: Any) -> list[str]:
    return [reason["code"] for reason in health["reasons"]]


@pytest.fixture
def monitored(shop: Shop) -> Monitored:
    return Monitored(shop)


def test_database_without_writes_is_unhealthy_until_they_succeed(shop: Shop, monitored: Monitored) -> None:
    assert (monitored.health()["status"], monitored.health()["database"]["last_write"]) == ("ok", 0.0)
    with without_writes(shop.url):
        monitored.now += MAX_WRITE_AGE + 1
        health = monitored.health()
        assert (health["status"], codes(health)) == ("unhealthy", ["database_not_writable"])
        assert health["database"]["reachable"] is True
    assert codes(monitored.health()) == []


def test_follow_up_that_hangs_is_degraded(monitored: Monitored) -> None:
    assert monitored.health()["settlements"]["followed"] == 0.0
    monitored.now += MAX_TASK_AGE + 6
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["following_stalled"])
    assert health["settlements"]["followed"] == MAX_TASK_AGE + 6
    monitored.facilitator.follow()
    assert codes(monitored.health()) == []


def test_failed_follow_up_is_no_success(shop: Shop, monitored: Monitored, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise KeyError("a defect")

    monkeypatch.setattr(monitored.facilitator.settlements, "resume", fail)
    monitored.now += 7
    with pytest.raises(KeyError):
        monitored.facilitator.follow()
    assert monitored.facilitator.followed.age == 7


def test_account_that_waits_for_one_transaction_is_degraded(shop: Shop, monitored: Monitored) -> None:
    assert monitored.health()["account"]["oldest_transaction_blocks"] == 0
    shop.node.poor.add(SHOP.address.lower())
    shop.captures.capture(shop.stored("a", seconds=10**6))
    shop.chain.mine(51)
    assert codes(monitored.health()) == []
    shop.chain.mine()
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["account_blocked"])
    assert health["account"]["oldest_transaction_blocks"] == 51
    assert f"--account {SHOP.address} --free 0`" in health["reasons"][0]["message"]


def test_budget_of_payers_with_code_that_is_spent_is_degraded(shop: Shop, monitored: Monitored) -> None:
    lose_gas(shop.database, shop.chain.chain_id, shop.chain.time)
    health = monitored.health()
    assert (health["status"], codes(health)) == ("degraded", ["gas_budget_spent"])
    shop.chain.advance(LOST_GAS_PERIOD + 1)
    assert codes(monitored.health()) == []
