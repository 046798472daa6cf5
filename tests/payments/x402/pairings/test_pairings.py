"""Every buyer with every seller with every facilitator, stock and ours, on a node: each scheme is paid, once.

What is stock on all three sides is tried, like the other forms of our buyer, with FORESEAL_PAIRINGS=all (`make
pairings`): it shows what others do, which is worth knowing where one of the others fails.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from foreseal.payments.contracts.addresses import BATCH_SETTLEMENT
from payments.x402.pairings.clients import CLIENTS, FORMS
from payments.x402.pairings.facilitators import FACILITATORS
from payments.x402.pairings.prices import CHANNEL, PRICES
from payments.x402.pairings.servers import SERVERS
from payments.x402.world import BUYERS, SHOP, World

ALL = os.environ.get("FORESEAL_PAIRINGS") == "all"
PAIRS = [(seller, facilitator) for facilitator in FACILITATORS for seller in SERVERS]


@dataclass(frozen=True)
class Shop:
    """A seller, with the facilitator that settles for it."""

    url: str
    world: World
    stock: bool
    """Whether both are."""


@pytest.fixture(scope="module", params=PAIRS, ids=[f"{seller}-by-{facilitator}" for seller, facilitator in PAIRS])
def shop(
    request: pytest.FixtureRequest, node_of_x402: World, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shop]:
    seller, facilitator = request.param
    folder = tmp_path_factory.mktemp("shop")
    node_of_x402.finalize()  # stock facilitators look at `latest`, which knows nothing of what is pre-confirmed
    with (
        FACILITATORS[facilitator](node_of_x402, folder) as settles,
        SERVERS[seller](node_of_x402, settles, folder) as url,
    ):
        yield Shop(url, node_of_x402, (seller != "ours") and (facilitator != "ours"))
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
