"""Leases of grants: renewals, and the writes of a run that lost its lease."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from x402.schemas import PaymentPayload, SettleResponse

from foreseal.payments.ledger import ConcurrentUpdate, Database, GrantState, Ledger
from foreseal.payments.x402.models import GrantRecord
from foreseal.payments.x402.payment_key import Payment, PaymentKey
from foreseal.payments.x402.seller.grants import GrantedResponse, GrantLease, GrantRequest, Grants
from payments.x402.paying import demand
from payments.x402.world import CHAIN_ID, NETWORK, SHOP, TOKEN

RESPONSE = GrantedResponse(200, (), b"late")
SETTLED = SettleResponse(success=True, transaction="0x" + "11" * 32, network=NETWORK, payer=SHOP.address)
PAYMENT = Payment(PaymentKey(CHAIN_ID, TOKEN, SHOP.address, bytes(32)), TOKEN, SHOP.address, 1000, None)
REQUEST = GrantRequest(PAYMENT, PaymentPayload(payload={}, accepted=demand()), demand(), bytes(32))
LEASE = 60


class Processes:
    """Processes of a seller on one database, with one clock."""

    def __init__(self, url: str) -> None:
        self.now = 1_700_000_000
        self.database = Database(url)
        self.grants = Grants(Ledger(self.database, lambda: self.now), LEASE)

    def row(self) -> GrantRecord:
        row = self.grants.find(PAYMENT.key.name)
        assert row is not None
        return row

    def granted(self) -> GrantLease:
        lease = self.grants.grant(REQUEST)
        assert lease is not None
        return lease


@pytest.fixture
def processes(url: str) -> Iterator[Processes]:
    made = Processes(url)
    yield made
    made.database.close()


WRITES: dict[str, Callable[[Grants, GrantLease], object]] = {
    "answer": lambda grants, lease: grants.answer(lease, RESPONSE, 1000),
    "decline": lambda grants, lease: grants.decline(lease, replace(RESPONSE, status=500)),
    "settle": lambda grants, lease: grants.settle(lease, SETTLED),
    "end": lambda grants, lease: grants.end(lease, "no answer"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=list(WRITES))
def test_late_write_after_a_second_grant_fails(
    processes: Processes, write: Callable[[Grants, GrantLease], object]
) -> None:
    grants, late = processes.grants, processes.granted()
    processes.now += LEASE
    assert grants.release(processes.row(), "unsettled")
    second = processes.granted()
    assert second.fence > late.fence
    before = processes.row()
    with pytest.raises(ConcurrentUpdate, match="is lost"):
        write(grants, late)
    assert not grants.renew(late)
    assert not grants.release(processes.row(), "unsettled", late)
    assert processes.row() == before
    grants.answer(second, replace(RESPONSE, body=b"second"), 1000)
    assert grants.settle(second, SETTLED).body == b"second"


@pytest.mark.parametrize("write", [WRITES["settle"], WRITES["end"]], ids=["settle", "end"])
def test_late_write_after_another_process_settles_fails(
    processes: Processes, write: Callable[[Grants, GrantLease], object]
) -> None:
    grants, late = processes.grants, processes.granted()
    grants.answer(late, RESPONSE, 1000)
    processes.now += LEASE
    second = grants.lease(processes.row())
    assert second is not None
    before = processes.row()
    with pytest.raises(ConcurrentUpdate, match="is lost"):
        write(grants, late)
    assert processes.row() == before
    assert grants.settle(second, SETTLED).state is GrantState.SETTLED


def test_late_write_after_a_release_fails(processes: Processes) -> None:
    late = processes.granted()
    processes.now += LEASE
    assert processes.grants.release(processes.row(), "unsettled")
    with pytest.raises(ConcurrentUpdate, match="is lost"):
        processes.grants.answer(late, RESPONSE, 1000)
    assert processes.row().state is GrantState.RELEASED


def test_renewed_lease_is_neither_released_nor_leased(processes: Processes) -> None:
    grants, lease = processes.grants, processes.granted()
    for _ in range(5):
        processes.now += LEASE - 1
        assert not grants.release(processes.row(), "unsettled")
        assert grants.renew(lease)
    grants.answer(lease, RESPONSE, 1000)
    for _ in range(5):
        processes.now += LEASE - 1
        assert grants.lease(processes.row()) is None
        assert grants.renew(lease)
    assert grants.settle(lease, SETTLED).state is GrantState.SETTLED


def test_renewal_after_the_end_of_a_run_changes_nothing(processes: Processes) -> None:
    grants, lease = processes.grants, processes.granted()
    grants.end(lease)
    assert not grants.renew(lease)
    assert processes.row().lease == 0
    assert grants.release(processes.row(), "unsettled")


def test_release_of_a_row_read_before_a_renewal_does_nothing(processes: Processes) -> None:
    grants, lease = processes.grants, processes.granted()
    processes.now += LEASE
    stale = processes.row()
    assert grants.renew(lease)
    assert not grants.release(stale, "unsettled")
    grants.answer(lease, RESPONSE, 1000)
    assert not grants.release(stale, "unsettled", lease)
    assert processes.row().state is GrantState.ANSWERED
