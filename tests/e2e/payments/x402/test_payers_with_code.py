"""Payers with code at the facilitator: they decide neither the gas of a settlement nor that it reverts."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from enum import StrEnum

import pytest
from sqlalchemy import select
from x402.schemas import PaymentRequirements

from foreseal.payments.chain import TemporaryRejection, TooManyCalls
from foreseal.payments.ledger.models import TransactionRecord
from foreseal.payments.signatures import SignerPath
from foreseal.payments.transactions import FeeSettings, read_lost_gas
from foreseal.payments.transactions.code_gas import read_code_gas
from foreseal.payments.x402.crash_points import PaidPoint
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.settlements import MAX_PAYER_SETTLEMENTS, SettlementRequest, Settlements
from foreseal.payments.x402.payment_key import settled
from live import wait_for
from payments.contracts.wallet_code import spending_wallet, unpriced_wallet
from payments.x402.paying import demand, over_permit2, pay
from payments.x402.world import BUYERS, CHAIN_ID, FACILITATOR, PATIENT, STRANGER, TOKEN, World

WALLET, ORDINARY = BUYERS[20], BUYERS[21]
DEMANDS = [demand(1000), over_permit2(1100), demand(1000, "upto")]
each_scheme = pytest.mark.parametrize("asked", DEMANDS, ids=["eip3009", "permit2", "upto"])


@pytest.fixture
def changed(world: World) -> Iterator[World]:
    """Provide the node, whose chain is restored after the test."""
    with world.rollback():
        yield world


@pytest.fixture
def facilitator(changed: World, sqlite: Callable[[], str]) -> Facilitator:
    return changed.facilitator(sqlite())


def become(world: World, code: bytes) -> None:
    """Give the buyer code."""
    world.rpc("anvil_setCode", WALLET.address, "0x" + code.hex())


@each_scheme
def test_dear_wallet_is_rejected_and_others_pay(
    changed: World, facilitator: Facilitator, asked: PaymentRequirements
) -> None:
    become(changed, spending_wallet(2_000_000))
    payment, sent = pay(WALLET, asked), changed.sent_by(FACILITATOR.address)
    verified = facilitator.verify(payment, asked)
    assert (verified.is_valid, verified.invalid_reason) == (False, "gas_too_high")
    settlement = facilitator.settle(payment, asked)
    assert (settlement.success, settlement.error_reason, settlement.transaction) == (False, "gas_too_high", "")
    for message in (verified.invalid_message, settlement.error_message):
        assert "for payers without code, and payer_code_gas = 500000" in str(message)
    assert facilitator.settlements.find(settled(payment, asked).key) is None
    assert changed.sent_by(FACILITATOR.address) == sent
    assert facilitator.settle(pay(ORDINARY, asked), asked).success


@each_scheme
def test_wallet_within_the_maximum_pays(changed: World, facilitator: Facilitator, asked: PaymentRequirements) -> None:
    become(changed, spending_wallet(300_000))
    payment = pay(WALLET, asked)
    verified = facilitator.verify(payment, asked)
    assert verified.is_valid, verified
    settlement = facilitator.settle(payment, asked)
    assert settlement.success, settlement
    assert int(changed.receipt(settlement.transaction)["gasUsed"], 16) > 300_000


@each_scheme
def test_wallet_that_accepts_only_without_a_price_is_rejected(
    changed: World, facilitator: Facilitator, asked: PaymentRequirements
) -> None:
    become(changed, unpriced_wallet())
    payment, sent = pay(WALLET, asked), changed.sent_by(FACILITATOR.address)
    assert not facilitator.verify(payment, asked).is_valid
    assert not facilitator.settle(payment, asked).success
    assert facilitator.settlements.find(settled(payment, asked).key) is None
    assert changed.sent_by(FACILITATOR.address) == sent


def test_missing_ether_is_no_failure_of_the_payment(changed: World, facilitator: Facilitator) -> None:
    become(changed, spending_wallet(1_000))
    changed.rpc("anvil_setBalance", FACILITATOR.address, "0x0")
    asked = demand(1000)
    payment = pay(WALLET, asked)
    for act in (facilitator.verify, facilitator.settle):
        with pytest.raises(TemporaryRejection, match="cannot pay the gas: eth_call: insufficient funds"):
            act(payment, asked)


@each_scheme
def test_payer_that_makes_settlements_revert_loses_its_budget(
    changed: World, facilitator: Facilitator, asked: PaymentRequirements
) -> None:
    become(changed, spending_wallet(1_000))
    sender = facilitator.settlements.sender
    sender.fees = FeeSettings(payer_lost_gas=1, code_lost_gas=10**9)
    settlements = facilitator.settlements
    ledger = settlements.ledger

    def rejecting(point: StrEnum) -> None:
        if point is PaidPoint.SETTLEMENT_STORED:
            become(changed, unpriced_wallet())

    settlements.ledger = replace(ledger, passed=rejecting)
    reverted = pay(WALLET, asked)
    assert not facilitator.settle(reverted, asked).success
    facilitator.follow()
    settlements.ledger = ledger
    become(changed, spending_wallet(1_000))
    payment, sent = pay(WALLET, asked), changed.sent_by(FACILITATOR.address)
    verified, settlement = facilitator.verify(payment, asked), facilitator.settle(payment, asked)
    assert (verified.is_valid, verified.invalid_reason) == (False, "gas_budget_spent")
    assert (settlement.success, settlement.error_reason) == (False, "gas_budget_spent")
    # Without code, it has spent its budget all the same.
    become(changed, b"")
    assert facilitator.verify(pay(WALLET, asked), asked).invalid_reason == "gas_budget_spent"
    assert changed.sent_by(FACILITATOR.address) == sent
    assert facilitator.settle(pay(ORDINARY, asked), asked).success
    # The budget is renewed, not for the payment that reverted.
    sender.fees = FeeSettings()
    become(changed, spending_wallet(1_000))
    assert facilitator.settle(pay(WALLET, asked), asked).success
    changed.finalize()
    facilitator.follow()
    sent = changed.sent_by(FACILITATOR.address)
    again = facilitator.verify(reverted, asked), facilitator.settle(reverted, asked)
    assert (again[0].invalid_reason, again[1].error_reason) == ("gas_budget_spent", "gas_budget_spent")
    assert changed.sent_by(FACILITATOR.address) == sent


class Wallets:
    """Payers with code. Each settlement is stored before the one that was stored before it is sent."""

    def __init__(self, world: World, facilitator: Facilitator) -> None:
        self.world, self.facilitator, self.asked = world, facilitator, demand(1000)
        self.payers = BUYERS[:4]
        self.ledger = facilitator.settlements.ledger
        self.become(spending_wallet(1_000))
        assert facilitator.settle(pay(WALLET, self.asked), self.asked).success
        with self.ledger.database.reading() as tx:
            gas = tx.execute(select(TransactionRecord.gas)).scalar_one()
        # Signatures with more zero bytes cost less gas.
        self.budget = 2 * gas + 1_000
        fees = FeeSettings(payer_lost_gas=10**9, payer_code_gas=100_000, code_lost_gas=self.budget)
        facilitator.settlements.sender.fees = fees

    def become(self, code: bytes) -> None:
        for each in (*self.payers, WALLET):
            self.world.rpc("anvil_setCode", each.address, "0x" + code.hex())

    @property
    def in_flight(self) -> int:
        with self.ledger.database.reading() as tx:
            return read_code_gas(tx, CHAIN_ID)

    @property
    def lost(self) -> int:
        with self.ledger.database.reading() as tx:
            return read_lost_gas(tx, CHAIN_ID, self.ledger.clock()).by_code

    def settle_at_once(self, before_sending: Callable[[], None] = lambda: None) -> list[TooManyCalls]:
        """Settle a payment of each payer. Return the errors of those that were not stored."""
        waiting, refused = iter(self.payers), list[TooManyCalls]()

        def settle_next() -> None:
            for payer in waiting:
                try:
                    self.facilitator.settle(pay(payer, self.asked), self.asked)
                except TooManyCalls as error:
                    refused.append(error)
            before_sending()

        def passed(point: StrEnum) -> None:
            if point is PaidPoint.SETTLEMENT_STORED:
                settle_next()

        self.facilitator.settlements.ledger = replace(self.ledger, passed=passed)
        settle_next()
        self.facilitator.settlements.ledger = self.ledger
        return refused

    def follow(self) -> None:
        """Wait for the receipts of all settlements."""

        def followed() -> bool:
            self.facilitator.follow()
            return self.in_flight == 0

        wait_for(followed, 20, "receipts")


def test_wallets_at_once_lose_at_most_the_budget(changed: World, url: str) -> None:
    facilitator = changed.facilitator(url, seconds=0.5)
    wallets = Wallets(changed, facilitator)
    refused: list[int] = []
    for _ in range(3):
        wallets.become(spending_wallet(1_000))
        refused.append(len(wallets.settle_at_once(lambda: wallets.become(unpriced_wallet()))))
        assert wallets.in_flight + wallets.lost <= wallets.budget
        wallets.follow()
        assert 0 < wallets.lost <= wallets.budget
    assert refused[0] == 2
    wallets.become(spending_wallet(1_000))
    settlement = facilitator.settle(pay(wallets.payers[0], wallets.asked), wallets.asked)
    assert (settlement.success, settlement.error_reason) == (False, "gas_budget_spent")
    assert facilitator.settle(pay(ORDINARY, wallets.asked), wallets.asked).success


def test_receipts_make_room_for_honest_wallets(changed: World, url: str) -> None:
    facilitator = changed.facilitator(url, seconds=0.5)
    wallets = Wallets(changed, facilitator)
    refused = wallets.settle_at_once()
    assert [("in flight" in str(each), each.retry_after) for each in refused] == [(True, 1.0)] * 2
    wallets.follow()
    assert wallets.lost == 0
    for payer in wallets.payers[2:]:
        assert facilitator.settle(pay(payer, wallets.asked), wallets.asked).success
        assert wallets.in_flight == 0


@pytest.mark.parametrize("trusted", [False, True])
def test_token_of_a_stranger_counts_until_the_receipt(changed: World, facilitator: Facilitator, trusted: bool) -> None:
    trusting, counted = facilitator.settlements, list[int]()

    def passed(point: StrEnum) -> None:
        if point is PaidPoint.SETTLEMENT_STORED:
            with trusting.ledger.database.reading() as tx:
                counted.append(read_code_gas(tx, CHAIN_ID))

    ledger = replace(trusting.ledger, passed=passed)
    settlements = Settlements(ledger, trusting.sender, PATIENT, lambda token: trusted)
    assert Facilitator(settlements).settle(pay(ORDINARY, demand(1000)), demand(1000)).success
    assert [gas > 0 for gas in counted] == [not trusted]
    with trusting.ledger.database.reading() as tx:
        assert read_code_gas(tx, CHAIN_ID) == 0


def test_calls_about_channels_have_no_budget(facilitator: Facilitator) -> None:
    """Their reverts are not recorded either: they have several payers."""
    payment = settled(pay(ORDINARY, demand(1000)), demand(1000))
    path = SignerPath(facilitator.node, has_code=True)
    requests = [SettlementRequest(replace(payment, amount=amount), b"", path) for amount in (1000, None)]
    assert [facilitator.settlements._counts_code(each) for each in requests] == [True, False]


def test_settlements_of_one_payer_hold_few_threads(changed: World, facilitator: Facilitator) -> None:
    asked, settlements = demand(1000), facilitator.settlements
    with ExitStack() as counted:
        for _ in range(MAX_PAYER_SETTLEMENTS):
            counted.enter_context(settlements._counting(ORDINARY.address))
        with pytest.raises(TooManyCalls, match="8 settlements of this payer are in progress") as error:
            facilitator.settle(pay(ORDINARY, asked), asked)
        assert error.value.retry_after == 1.0
        assert facilitator.settle(pay(BUYERS[19], asked), asked).success
    assert facilitator.settle(pay(ORDINARY, asked), asked).success


def test_payer_whose_turn_does_not_come_is_not_rejected(changed: World, sqlite: Callable[[], str]) -> None:
    facilitator, asked = changed.facilitator(sqlite(), seconds=0.2), demand(1000)
    settlements, payment = facilitator.settlements, pay(ORDINARY, asked)
    key = settled(payment, asked).key
    assert settlements._lock_count(key) == 0
    with settlements.ledger.database.transaction() as tx:
        assert settlements._acquire(tx, replace(key, nonce=bytes(32)), 0)
    with pytest.raises(TooManyCalls, match="turn of"):
        facilitator.settle(payment, asked)


def test_token_of_a_stranger_has_the_budget_of_code(changed: World, facilitator: Facilitator) -> None:
    trusting, asked = facilitator.settlements, demand(1000)
    trusting.sender.fees = FeeSettings(payer_lost_gas=10**9, code_lost_gas=1)

    def empty(point: StrEnum) -> None:
        if point is PaidPoint.SETTLEMENT_STORED:
            held = changed.balance(ORDINARY.address)
            changed.act(ORDINARY, "transfer(address,uint256)", STRANGER.address, held)

    losing = Settlements(replace(trusting.ledger, passed=empty), trusting.sender, PATIENT, lambda token: False)
    distrusting = Facilitator(losing)
    assert not distrusting.settle(pay(ORDINARY, asked), asked).success
    distrusting.follow()
    # The payer need not have signed anything for such a token.
    trusting.sender.fees = FeeSettings(payer_lost_gas=1, code_lost_gas=10**9)
    assert trusting.sender.lost_gas.find_spent([ORDINARY.address]) == {}
    assert list(trusting.sender.lost_gas.find_spent([TOKEN])) == [TOKEN]
    trusting.sender.fees = FeeSettings(payer_lost_gas=10**9, code_lost_gas=1)
    losing.ledger = trusting.ledger
    payment = pay(BUYERS[19], asked)
    assert distrusting.verify(payment, asked).invalid_reason == "gas_budget_spent"
    assert distrusting.settle(payment, asked).error_reason == "gas_budget_spent"
    assert facilitator.settle(payment, asked).success
