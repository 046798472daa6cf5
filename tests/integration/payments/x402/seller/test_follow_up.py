"""The age of a seller's follow-up of grants grows while it fails or hangs."""

import asyncio
from typing import Any

import pytest

from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.facilitator.facilitator import Facilitator, InProcessFacilitator
from foreseal.payments.x402.facilitator.settlements import Settlements
from foreseal.payments.x402.seller.denomination import Denomination
from foreseal.payments.x402.seller.payment_requirements import SellerSettings
from foreseal.payments.x402.seller.seller import Seller
from payments.fake.contracts import NAME, TOKEN, VERSION
from payments.shop import SHOP, Shop

pytestmark = pytest.mark.fake_chain


@pytest.fixture
def seller(shop: Shop) -> Seller:
    facilitator = InProcessFacilitator(Facilitator(Settlements(shop.ledger, shop.sender)))
    domain = Domain(NAME, VERSION, shop.chain.chain_id, TOKEN)
    settings = SellerSettings({}, SHOP.address, domain, denomination=Denomination(symbol="USDC", decimals=6), page=None)
    return Seller(shop.ledger, shop.rpc, facilitator, settings)


def test_complete_check_is_a_success(shop: Shop, seller: Seller) -> None:
    shop.chain.mine(90)
    assert seller.followed.age >= 90
    asyncio.run(seller.follow())
    assert seller.followed.age == 0


def test_failed_check_is_no_success(shop: Shop, seller: Seller, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> Any:
        raise KeyError("a defect")

    monkeypatch.setattr(seller.grants, "unfinished", fail)
    shop.chain.mine(90)
    with pytest.raises(KeyError):
        asyncio.run(seller.follow())
    assert seller.followed.age >= 90
