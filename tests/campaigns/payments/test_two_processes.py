"""Two processes on one database run all operations at once on all data, during reorganizations and lost responses.

Each has its own connections, like a process; the chain is behind a lock, like a node. A seed determines the operations
but not their interleaving: a failure names the seed and is reproduced by repetition.
"""

import os
import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import LedgerError, OrderState
from foreseal.payments.orders.cancellations import NotCancelable
from foreseal.payments.orders.capture_checks import NotCapturable
from foreseal.payments.orders.reconciler import NotExpired
from foreseal.payments.transactions import SendingError
from payments.fake.node import FakeNode
from payments.people import BATCH_CAPTURE
from payments.scan import incoming, paid
from payments.shop import Make, Shop

pytestmark = pytest.mark.fake_chain
ORDERS = 6
ROUNDS = int(os.environ.get("FORESEAL_PAYMENT_ROUNDS", "25"))
REFUSALS = (ChainError, LedgerError, SendingError, NotCapturable, NotCancelable, NotExpired)


class Shared(FakeNode):
    """One node for several threads."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.lock = threading.RLock()

    def request(self, method: str, *params: Any) -> Any:
        with self.lock:
            return super().request(method, *params)


def acts(shop: Shop, draw: random.Random) -> list[Callable[[], object]]:
    id = f"o{draw.randrange(ORDERS)}"
    return [
        lambda: shop.captures.capture(id),
        lambda: shop.captures.capture(id),
        lambda: shop.orders.void(id),
        lambda: shop.cancel(id),
        lambda: shop.refunds.refund(f"{id} {draw.randrange(3)}", id, 200),
        lambda: shop.progress.advance(id),
        lambda: shop.progress.expire(id),
        shop.progress.resume,
        shop.refunds.resume,
        shop.watcher.poll,
        shop.watcher.poll,
    ]


def process(shop: Shop, seed: int, failed: list[BaseException]) -> None:
    draw = random.Random(seed)
    try:
        for _ in range(ROUNDS):
            try:
                draw.choice(acts(shop, draw))()
            except REFUSALS:
                continue
    except BaseException as error:  # a thread's error would be lost
        failed.append(error)


@pytest.mark.parametrize("contract", [None, BATCH_CAPTURE], ids=["single", "batch"])
@pytest.mark.parametrize("seed", range(3))
def test_two_processes_lose_and_double_no_payment(make: Make, seed: int, contract: str | None) -> None:
    first = make(finality=15, batch_capture=contract)
    first.node = Shared(first.chain)
    first.restart()
    second = make(finality=15, batch_capture=contract)
    second.chain, second.node = first.chain, first.node
    second.restart()
    for number in range(ORDERS // 2):
        first.stored(f"o{number}", 500, seconds=10**5)
    rest = [first.payment(f"o{number}", 500, seconds=10**5) for number in range(ORDERS // 2, ORDERS)]
    assert len(first.store_group(rest)) == len(rest)
    draw = random.Random(seed)
    failed: list[BaseException] = []
    threads = [
        threading.Thread(target=process, args=(shop, 100 * seed + number, failed))
        for number, shop in enumerate((first, second))
    ]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        with first.node.lock:
            match draw.randrange(10):
                case 0:
                    first.chain.reorganize(draw.randrange(1, 15), dropped=draw.random() < 0.3, late=draw.randrange(3))
                case 1:
                    first.node.losses.append(("eth_sendRawTransaction", draw.random() < 0.5))
                case 2:
                    first.node.losses.append(("eth_getTransactionReceipt", True))
                case 3:
                    first.chain.drop()
                case _:
                    first.chain.mine(draw.randrange(1, 4))
        threads[0].join(0.01)
    assert failed == []
    first.node.losses.clear()
    for _ in range(4):
        first.settle()
    check(first)


def check(shop: Shop) -> None:
    balance = shop.balance()
    assert balance.faults == ()
    assert balance.reserved == 0
    # The expected rows come from an independent scan of the chain.
    came = incoming(shop.chain)
    assert shop.rows() == {each.row() for each in came}
    assert balance.received == sum(each.amount for each in came)
    assert balance.refunded == sum(each.amount for each in paid(shop.chain))
    nonces = Counter(each.nonce for each in came)
    assert set(nonces.values()) <= {1}
    captured = shop.in_state(OrderState.CAPTURED)
    assert len(captured) == len(nonces)
    for id in captured:
        assert sum(row.amount for row in shop.refunds_of(id)) <= 500
    assert {shop.status(f"o{number}") for number in range(ORDERS)} <= {
        "Stored, unused / idle",
        "Stored, unused / failed",
        "Used, captured / final",
        "Voided offchain / idle",
        "Voided offchain / failed",
        "Canceled / final",
    }
