"""A payer that makes transactions revert after their last check has a budget of gas."""

from collections.abc import Callable

import pytest
from eth_account.signers.local import LocalAccount
from sqlalchemy import select

from foreseal.payments.group_operation import run_deferred
from foreseal.payments.ledger.models import LostGasRecord
from foreseal.payments.orders.acceptances import PayerSignature
from foreseal.payments.orders.auto_captures import AutoCaptures, CheckedAcceptance
from foreseal.payments.orders.payments import CheckedPayment
from foreseal.payments.transactions import FeeSettings, GasBudgetSpent
from foreseal.payments.transactions.lost_gas import LOST_GAS_PERIOD
from payments.batching import fund
from payments.contracts.wallet_code import spending_wallet, unpriced_wallet
from payments.people import BATCH_CAPTURE
from payments.shop import BUYER, BUYERS, FUNDS, Make, Shop


@pytest.fixture(params=[None, BATCH_CAPTURE], ids=["alone", "batch"])
def selling(make: Make, request: pytest.FixtureRequest) -> Shop:
    """Return a merchant that captures each order alone, or through the batch capture contract."""
    return limited(make(batch_capture=request.param), payer=1)


def limited(shop: Shop, *, payer: int = 10**9, code: int = 10**9) -> Shop:
    """Set the budgets of a payer, and of payers with code, in gas."""
    shop.sender.fees = FeeSettings(payer_lost_gas=payer, code_lost_gas=code)
    return shop


def lost(shop: Shop) -> list[tuple[str, bool, bool]]:
    """Return for each revert the payer, and True if it counts and if the payer has code."""
    with shop.database.reading() as tx:
        rows = tx.execute(select(LostGasRecord.payer, LostGasRecord.gas, LostGasRecord.has_code)).all()
    return [(payer, gas > 0, has_code) for payer, gas, has_code in rows]


def before_sending(shop: Shop, act: Callable[[], None]) -> None:
    """Let something happen on the chain between the last check of a transaction and its sending."""

    def hook(method: str) -> None:
        if method == "eth_sendRawTransaction":
            shop.node.hook = None
            act()

    shop.node.hook = hook


def revert(shop: Shop, id: str, act: Callable[[], None], buyer: LocalAccount = BUYER) -> None:
    """Store and send a payment that reverts because of `act`."""
    before_sending(shop, act)
    assert shop.store_group([shop.payment(id, 500, buyer)]) == [id]
    shop.chain.mine()
    shop.go_on()


def auto_capture(shop: Shop, id: str, buyer: LocalAccount = BUYER) -> CheckedAcceptance:
    """Check the signature of an order that is captured as soon as it is signed."""
    shop.orders.draft(id, shop.terms(500, buyer=buyer), auto_capture=True)
    automatic = AutoCaptures(shop.ledger, shop.sender, shop.merchant)
    (acceptance,) = automatic.check([PayerSignature(id, shop.signature_of(id, buyer))])
    assert isinstance(acceptance, CheckedAcceptance)
    return acceptance


def test_payer_whose_budget_is_spent_is_captured_only_on_request(selling: Shop) -> None:
    shop = selling
    revert(shop, "first", lambda: fund(shop, BUYER, 0))
    shop.go_on()
    assert lost(shop) == [(BUYER.address, True, False)]
    fund(shop, BUYER, FUNDS)
    spent, other = shop.groups.check([shop.payment("a", 100), shop.payment("b", 100, BUYERS[1])])
    assert isinstance(spent, GasBudgetSpent)
    assert BUYER.address in str(spent)
    assert "payer_lost_gas = 1" in str(spent)
    assert isinstance(other, CheckedPayment)
    waiting = auto_capture(shop, "c")
    assert isinstance(waiting.capture, GasBudgetSpent)
    assert not isinstance(auto_capture(shop, "d", BUYERS[1]).capture, Exception)
    # The merchant may decide to take the risk.
    shop.captures.capture(shop.stored("e"))
    shop.chain.mine()
    shop.go_on()
    assert shop.status("e").startswith("Used, captured")


def test_worker_waits_until_the_period_is_over(shop: Shop) -> None:
    limited(shop, payer=1)
    revert(shop, "first", lambda: fund(shop, BUYER, 0))
    fund(shop, BUYER, FUNDS)
    automatic = AutoCaptures(shop.ledger, shop.sender, shop.merchant)
    message = shop.orders.draft("a", shop.terms(500, seconds=2 * LOST_GAS_PERIOD), auto_capture=True)
    shop.orders.accept("a", shop.signed(message))
    assert isinstance(automatic.attempt("a"), GasBudgetSpent)
    assert "payer_lost_gas" in str(shop.orders.get("a").last_error)
    assert shop.status("a") == "Stored, unused / idle"
    shop.chain.advance(LOST_GAS_PERIOD + 1)
    shop.chain.mine()
    assert automatic.attempt("a") is None
    assert shop.orders.get("a").last_error is None
    assert shop.status("a") == "Stored, unused / broadcast"


@pytest.mark.fake_chain
def test_reverts_that_the_payer_did_not_cause_do_not_count(shop: Shop) -> None:
    limited(shop, payer=1)

    def pause(*, paused: bool) -> None:
        shop.chain.change(lambda state: setattr(state, "paused", paused))

    revert(shop, "paused", lambda: pause(paused=True))
    pause(paused=False)
    revert(shop, "late", lambda: shop.chain.advance(3_600), BUYERS[1])
    blocked = BUYERS[2].address.lower()
    revert(shop, "blocked", lambda: shop.chain.change(lambda state: state.blacklisted.add(blocked)), BUYERS[2])
    assert sorted(lost(shop)) == sorted((buyer.address, False, False) for buyer in BUYERS)
    assert isinstance(shop.groups.check([shop.payment("a", 100)])[0], CheckedPayment)


@pytest.mark.real_contracts
@pytest.mark.sqlite_only
def test_payers_with_code_have_a_common_budget(selling: Shop) -> None:
    shop = limited(selling, code=1)

    def become(buyer: LocalAccount, code: bytes) -> None:
        shop.chain.rpc("anvil_setCode", buyer.address, "0x" + code.hex())

    become(BUYER, spending_wallet(1_000))
    become(BUYERS[1], spending_wallet(1_000))
    revert(shop, "first", lambda: become(BUYER, unpriced_wallet()))
    # Another wallet with code, and an account with a key.
    checked = shop.groups.check([shop.payment("a", 100, BUYERS[1]), shop.payment("b", 100, BUYERS[2])])
    spent, ordinary = run_deferred(checked)
    assert isinstance(spent, GasBudgetSpent)
    assert "code_lost_gas = 1" in str(spent)
    assert isinstance(ordinary, CheckedPayment)
    assert lost(shop) == [(BUYER.address, True, True)]


@pytest.mark.real_contracts
@pytest.mark.sqlite_only
def test_code_that_is_removed_afterwards_counts(shop: Shop) -> None:
    limited(shop, code=1)

    def become(code: bytes) -> None:
        shop.chain.rpc("anvil_setCode", BUYER.address, "0x" + code.hex())

    become(spending_wallet(1_000))
    shop.chain.mine()
    before_sending(shop, lambda: become(unpriced_wallet()))
    shop.store_group([shop.payment("first", 500)])
    shop.chain.mine()
    become(b"")
    shop.go_on()
    assert lost(shop) == [(BUYER.address, True, True)]
