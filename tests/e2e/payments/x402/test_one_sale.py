"""A seller and orders with one payee and one database on a real node: one authorization pays one of them."""

from collections.abc import Callable
from typing import Any

import pytest
from eth_utils.crypto import keccak
from sqlalchemy import select

from foreseal.payments.ledger import DuplicateRecord, Ledger, OrderState
from foreseal.payments.ledger.models import TransferRecord, UnmatchedTransferRecord
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.payers import Signer, UnassignedTerms
from foreseal.payments.orders.terms import message_by
from foreseal.payments.transfers.balance import balance
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.typed_data import TransferAuthorization
from payments.x402.paying import manual_payment
from payments.x402.selling import Selling, settlement
from payments.x402.world import BUYERS, CHAIN_ID, DOMAIN, SHOP, TOKEN, World

BUYER = BUYERS[20]


class OrderService:
    """Orders and the watcher of `foreseal pay serve` for the payee of the seller."""

    def __init__(self, world: World, ledger: Ledger, nonce: bytes) -> None:
        self._world = world
        self._ledger = ledger
        self._orders = Orders(ledger, world.node(), Merchant(DOMAIN, SHOP.address))
        world.rpc("anvil_mine", "0x1")  # transfers of other tests are below the first block
        watch = WatcherSettings(CHAIN_ID, TOKEN, SHOP.address, start=world.pending)
        self._watcher = TransferWatcher(ledger, world.node(), watch)
        now = world.time()
        self._orders.draft_unassigned("a", UnassignedTerms(1000, 0, now + 3600, nonce))

    def accept(self) -> None:
        order = self._orders.get("a")
        signature = message_by(order, Signer(BUYER.address, None)).sign(DOMAIN, bytes(BUYER.key))
        self._orders.accept("a", signature, BUYER.address)

    def poll(self) -> OrderState:
        """Read the chain. Return the state of the order."""
        self._watcher.poll()
        return self._orders.get("a").state

    def reasons(self) -> list[str]:
        """Return the reasons of the unmatched transfers. The books must balance."""
        with self._ledger.database.reading() as tx:
            assert balance(tx).faults == ()
            return [row.reason.value for row in fetch_all(tx, select(UnmatchedTransferRecord))]

    def granted(self) -> int:
        """Return the number of transfers that pay grants."""
        with self._ledger.database.reading() as tx:
            return len(fetch_all(tx, select(TransferRecord).where(TransferRecord.grant_id.is_not(None))))


@pytest.fixture
def nonce(request: pytest.FixtureRequest) -> bytes:
    """Return a nonce of this test alone: all tests share the chain."""
    return keccak(text=request.node.name)


@pytest.fixture
def selling(world: World, url: str) -> Selling:
    return Selling(world, url)


@pytest.fixture
def service(world: World, selling: Selling, nonce: bytes) -> OrderService:
    return OrderService(world, selling.seller.ledger, nonce)


def test_payment_with_the_nonce_of_an_order_pays_the_response_alone(
    selling: Selling, service: OrderService, nonce: bytes
) -> None:
    payment = manual_payment(BUYER, selling.demand("/report"), nonce=nonce)
    assert selling.get("/report", payment).status_code == 200
    with pytest.raises(DuplicateRecord, match="belongs to an x402 payment"):
        service.accept()
    assert service.poll() is OrderState.DRAFTED
    assert (service.granted(), service.reasons(), selling.runs) == (1, [], {"/report": 1})


def test_authorization_of_an_order_buys_no_response(
    world: World, selling: Selling, service: OrderService, nonce: bytes
) -> None:
    service.accept()
    payment, before = manual_payment(BUYER, selling.demand("/report"), nonce=nonce), world.balance(SHOP.address)
    response = selling.get("/report", payment)
    assert (response.status_code, response.json()["error"]) == (402, "authorization_pays_an_order")
    assert (selling.runs, world.balance(SHOP.address)) == ({}, before)
    assert service.poll() is OrderState.STORED


def test_transfer_that_lands_while_the_handler_runs_pays_the_response_alone(
    world: World, selling: Selling, service: OrderService, nonce: bytes
) -> None:
    """The payer submits its authorization itself, and signs the order afterwards."""
    payment = manual_payment(BUYER, selling.demand("/report"), nonce=nonce)
    raw = payment.payload["authorization"]
    terms = TransferAuthorization(BUYER.address, SHOP.address, 1000, 0, int(raw["validBefore"]), nonce)

    def submit() -> None:
        signature = terms.sign(DOMAIN, bytes(BUYER.key))
        values = (BUYER.address, SHOP.address, 1000, 0, int(raw["validBefore"]), nonce, signature)
        function = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
        world.act(BUYER, function, *values)
        service.poll()
        with pytest.raises(DuplicateRecord):
            service.accept()

    selling.during = submit
    before = world.balance(SHOP.address)
    response = selling.get("/report", payment)
    assert world.balance(SHOP.address) == before + 1000
    assert response.status_code in (200, 402)
    assert (selling.get("/report", payment).status_code, selling.runs) == (200, {"/report": 1})
    assert service.poll() is OrderState.DRAFTED
    assert (service.granted(), service.reasons()) == (1, [])


@pytest.mark.parametrize("path", ["/permit2", "/upto/300"])
@pytest.mark.parametrize("watches_first", [True, False], ids=["watcher first", "seller first"])
def test_settlement_through_permit2_is_no_unmatched_transfer(
    selling: Selling, service: OrderService, path: str, watches_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    grants = selling.seller.grants
    settle: Callable[..., Any] = grants.settle

    def settle_later(*given: Any) -> Any:
        service.poll()
        assert service.reasons() == ["shared_payee"]
        return settle(*given)

    if watches_first:
        monkeypatch.setattr(grants, "settle", settle_later)
    response = selling.get(path, selling.bought(BUYER, path))
    assert settlement(response).success
    service.poll()
    assert (service.granted(), service.reasons()) == (1, [])
