"""Payers with code choose what the check of their signature costs: their gas has a maximum, and is simulated."""

import pytest

from foreseal.payments.chain import Reverted, TemporaryRejection
from foreseal.payments.chain.batch_capture import batch_capture_call, max_batch_gas
from foreseal.payments.orders.capture_checks import CaptureObstacle, NotCapturable
from foreseal.payments.orders.terms import authorization
from foreseal.payments.transactions import FeeSettings, GasTooHigh
from foreseal.payments.transactions.ordinary_gas import ordinary_gas
from payments.batching import transactions
from payments.contracts.wallet_code import spending_wallet, unpriced_wallet, wallet_against
from payments.people import BATCH_CAPTURE
from payments.shop import BUYER, BUYERS, SHOP, Make, Shop

pytestmark = [pytest.mark.real_contracts, pytest.mark.sqlite_only]


@pytest.fixture(params=[None, BATCH_CAPTURE], ids=["alone", "batch"])
def selling(make: Make, request: pytest.FixtureRequest) -> Shop:
    """Return a merchant that captures each order alone, or through the batch capture contract."""
    return make(batch_capture=request.param, finality=10)


def become(shop: Shop, code: bytes) -> None:
    """Give the buyer code."""
    shop.chain.rpc("anvil_setCode", BUYER.address, "0x" + code.hex())


def test_wallet_above_the_maximum_is_rejected_and_others_pay(selling: Shop) -> None:
    shop = selling
    become(shop, spending_wallet(2_000_000))
    dear, ordinary = shop.payment("dear", 1_000), shop.payment("ordinary", 100, BUYERS[1])
    rejected, _ = shop.check([dear, ordinary])
    assert isinstance(rejected, GasTooHigh)
    assert "the maximum is 595000: 95000 for payers without code, and payer_code_gas = 500000" in str(rejected)
    is_batched = shop.merchant.batch_capture is not None
    limit = max_batch_gas(batch_capture_call([authorization(dear)], [dear.signature or b""], 595_000))
    added = f"; the transaction of the batch capture contract around this call may have {limit}"
    assert str(rejected).endswith("payer_code_gas = 500000" + (added if is_batched else ""))
    assert shop.store_group([dear]) == []
    assert transactions(shop) == []
    assert shop.store_group([dear, ordinary]) == ["ordinary"]
    shop.settle()
    assert shop.status("ordinary") == "Used, captured / final"
    assert len(transactions(shop)) == 1
    # The setting decides.
    shop.sender.fees = FeeSettings(payer_code_gas=3_000_000)
    assert shop.store_group([dear]) == ["dear"]


def test_wallet_within_the_maximum_pays(selling: Shop) -> None:
    shop = selling
    become(shop, spending_wallet(450_000))
    payment = shop.payment("wallet", 1_000)
    (checked,) = shop.check([payment])
    assert not isinstance(checked, Exception)
    assert checked.call is not None
    # A reserve of 25 % above the estimate would exceed the maximum.
    assert checked.call.gas == (ordinary_gas(checked.call.data) or 0) + 500_000
    assert shop.store_group([payment]) == ["wallet"]
    shop.settle()
    assert shop.status("wallet") == "Used, captured / final"


@pytest.mark.parametrize("code", [unpriced_wallet(), wallet_against(SHOP.address)], ids=["price", "origin"])
def test_wallet_that_rejects_the_transaction_is_found_before(make: Make, code: bytes) -> None:
    """The estimate of a capture through the contract has no fees, and the contract as its origin."""
    shop = make(batch_capture=BATCH_CAPTURE)
    become(shop, code)
    (rejected,) = shop.check([shop.payment("a", 1_000)])
    assert isinstance(rejected, NotCapturable)
    assert (rejected.obstacle, rejected.detail) == (CaptureObstacle.REVERTS, "FiatTokenV2: invalid signature")
    assert shop.store_group([shop.payment("b", 1_000)]) == []
    assert "eth_sendRawTransaction" not in shop.node.calls


def test_wallet_that_accepts_only_without_a_price_is_rejected(shop: Shop) -> None:
    become(shop, unpriced_wallet())
    id = shop.stored("a")
    with pytest.raises(NotCapturable, match="would revert: FiatTokenV2: invalid signature"):
        shop.captures.capture(id)
    assert shop.status(id) == "Stored, unused / idle"
    assert transactions(shop) == []


def test_permit_of_a_dear_wallet_is_not_captured(shop: Shop) -> None:
    become(shop, spending_wallet(2_000_000))
    message = shop.orders.draft_permit("a", shop.permit_terms(1_000))
    shop.orders.accept("a", shop.signed(message))
    with pytest.raises(GasTooHigh, match="the maximum is 676000: 176000 for payers without code"):
        shop.captures.capture("a", 700)
    become(shop, unpriced_wallet())
    with pytest.raises(NotCapturable, match="would revert: EIP2612: invalid signature"):
        shop.captures.capture("a", 700)
    become(shop, spending_wallet(100_000))
    shop.captures.capture("a", 700)
    shop.settle()
    assert shop.status("a") == "Used, captured / final"


def test_cancellation_of_a_dear_wallet_is_not_relayed(shop: Shop) -> None:
    shop.orders.void(shop.stored("a"))
    become(shop, spending_wallet(2_000_000))
    with pytest.raises(GasTooHigh, match="the maximum is 560000"):
        shop.cancel("a")
    become(shop, unpriced_wallet())
    with pytest.raises(Reverted, match="FiatTokenV2: invalid signature"):
        shop.cancel("a")
    assert transactions(shop) == []
    assert shop.status("a") == "Voided offchain / idle"


def test_missing_ether_has_its_own_error(selling: Shop) -> None:
    """The simulation needs the ether of the transaction; it must not read as a wallet that rejects its signature."""
    shop = selling
    become(shop, spending_wallet(1_000))
    shop.chain.rpc("anvil_setBalance", SHOP.address, "0x0")
    wallet, ordinary = shop.check([shop.payment("a", 100), shop.payment("b", 100, BUYERS[1])])
    assert isinstance(wallet, TemporaryRejection)
    assert f"{SHOP.address} cannot pay the gas: eth_call: insufficient funds" in str(wallet)
    assert not isinstance(ordinary, Exception)


def test_payers_without_code_need_no_further_request(selling: Shop) -> None:
    shop = selling
    shop.check([shop.payment("a", 100)])
    calls = list(shop.node.calls)
    shop.node.calls.clear()
    become(shop, spending_wallet(1_000))
    shop.check([shop.payment("b", 100)])
    # The wallet's own check of the signature, and the simulation.
    assert shop.node.calls.count("eth_call") == calls.count("eth_call") + 2
