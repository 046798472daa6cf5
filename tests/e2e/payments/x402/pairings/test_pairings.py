"""Every buyer with every seller with every facilitator, stock and ours, on a node: each scheme is paid once.

All-stock combinations, like the other forms of our buyer, run with FORESEAL_PAIRINGS=all (`make pairings`): they show
the behaviour of the others if one of the mixed combinations fails.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from x402.mechanisms.evm.signers import EthAccountSignerWithRPC

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from foreseal.payments.ledger import Finality, PurchaseState
from foreseal.payments.x402.buyer import PayingTransport
from payments.x402.buyers import Buyers, policy
from payments.x402.pairings.clients import CLIENTS, FORMS
from payments.x402.pairings.facilitators import FACILITATORS
from payments.x402.pairings.prices import BROKEN, CHANNEL, PRICES
from payments.x402.pairings.servers import SERVERS
from payments.x402.pairings.serving import sealed
from payments.x402.world import BUYERS, SHOP, STRANGER, World, account

ALL = os.environ.get("FORESEAL_PAIRINGS") == "all"
# The table tests run on the other database.
pytestmark = pytest.mark.sqlite_only
PAIRS = [(seller, facilitator) for facilitator in FACILITATORS for seller in SERVERS]


@dataclass(frozen=True)
class Shop:
    """A seller, with the facilitator that settles for it."""

    name: str
    url: str
    world: World
    facilitator: str

    @property
    def stock(self) -> bool:
        """True if both are stock."""
        return "ours" not in (self.name, self.facilitator)


@pytest.fixture(scope="module", params=PAIRS, ids=[f"{seller}-by-{facilitator}" for seller, facilitator in PAIRS])
def shop(
    request: pytest.FixtureRequest, node_of_x402: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    seller, facilitator = request.param
    folder = tmp_path_factory.mktemp("shop")
    sealed(node_of_x402)
    with (
        FACILITATORS[facilitator](node_of_x402, folder) as settles,
        SERVERS[seller](node_of_x402, settles, folder) as url,
    ):
        yield Shop(seller, url, node_of_x402, facilitator)
    node_of_x402.close()


@pytest.mark.parametrize("buyer", CLIENTS | FORMS if ALL else CLIENTS)
def test_every_scheme_is_paid_once(shop: Shop, buyer: str, tmp_path: Path) -> None:
    if shop.stock and buyer != "ours" and not ALL:
        pytest.skip("stock on all three sides: FORESEAL_PAIRINGS=all")
    clients = CLIENTS | FORMS
    key = BUYERS[list(clients).index(buyer)]
    paid, had, deposits = (shop.world.balance(each) for each in (SHOP.address, key.address, BATCH_SETTLEMENT))
    prices = (*PRICES, CHANNEL, CHANNEL, CHANNEL)
    answers = clients[buyer](key, [shop.url + price.path for price in prices], tmp_path)
    assert [answer.status for answer in answers] == [200] * len(prices), answers
    for answer, price in zip(answers, prices, strict=True):
        assert json.loads(answer.text) == {"from": price.path}
        assert answer.settled is not None
        assert answer.settled["success"]
        transaction = answer.settled["transaction"]
        assert not transaction or shop.world.receipt(transaction)["status"] == "0x1"
    # A deposit and two vouchers, which go to the chain when the seller claims them.
    assert [bool(answer.settled["transaction"]) for answer in answers if answer.settled] == [True] * 4 + [False] * 2
    taken = sum(price.taken for price in PRICES)
    deposit = 500 if buyer.startswith("our") else 10 * CHANNEL.amount
    assert shop.world.balance(SHOP.address) == paid + taken
    assert shop.world.balance(BATCH_SETTLEMENT) == deposits + deposit
    assert shop.world.balance(key.address) == had - taken - deposit


def test_payment_rejected_by_the_seller_is_released(shop: Shop, buyers: Buyers) -> None:
    """A buyer without tokens, and one without an allowance for Permit2."""
    answers = [_get(buyers, STRANGER, shop.url + price.path) for price in PRICES]
    # @x402/express uses a separate status for the allowance.
    allowance = 412 if shop.name == "typescript" else 402
    assert [answer.status_code for answer in answers] == [402, allowance, allowance]
    assert [(row.state, row.step) for row in buyers.rows()] == [(PurchaseState.RETURNED, Finality.PROVISIONAL)] * len(
        PRICES
    )
    assert buyers.day() == 0


def test_payment_without_a_response_stays_reserved(shop: Shop, buyers: Buyers) -> None:
    """It charges nothing for an error, but does not report it."""
    answer = _get(buyers, BUYERS[7], shop.url + BROKEN.path)
    assert (answer.status_code, answer.json()) == (500, {"from": BROKEN.path})
    assert buyers.states() == [PurchaseState.PRESENTED]
    assert buyers.day() == BROKEN.amount


def test_permit2_needs_no_allowance_where_the_facilitator_submits_a_permit(shop: Shop, buyers: Buyers) -> None:
    if shop.name != "ours":
        pytest.skip("a stock seller offers that only where it is told to")
    newcomer = account(9000 + len(shop.facilitator))
    shop.world.act(BUYERS[23], "transfer(address,uint256)", newcomer.address, 5000)
    signer = EthAccountSignerWithRPC(newcomer, shop.world.url)
    taken = 0
    for price in PRICES[1:]:
        sealed(shop.world)
        assert _get(buyers, signer, shop.url + price.path).status_code == 200
        taken += price.taken
        assert shop.world.balance(newcomer.address) == 5000 - taken
    assert buyers.day() == taken


def _get(buyers: Buyers, key: Any, url: str) -> httpx.Response:
    with httpx.Client(transport=PayingTransport(buyers.buyer(policy(per_request=1200), key=key)), timeout=30) as client:
        return client.get(url)
