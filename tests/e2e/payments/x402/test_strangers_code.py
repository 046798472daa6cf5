"""Code of payers and tokens that does not end: the facilitator rejects its payments, and serves all others."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from x402.schemas import PaymentRequirements

from foreseal.client.errors import TimedOut
from foreseal.client.requests import Request
from foreseal.payments.chain import (
    BreakerState,
    CircuitBreaker,
    CodeTimeout,
    ConfirmationPolicy,
    GuardedClient,
    RpcNode,
    StrangerCalls,
)
from foreseal.payments.transactions import FeeSettings, LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.x402.facilitator.bounds import FacilitatorBounds
from foreseal.payments.x402.facilitator.facilitator import Facilitator, InProcessFacilitator, _Writing
from foreseal.payments.x402.facilitator.settlements import Settlements
from foreseal.payments.x402.payment_key import PaymentKey, settled
from payments.contracts.wallet_code import endless_wallet, spending_wallet
from payments.x402.paying import demand, manual_payment, over_permit2, pay
from payments.x402.selling import Selling
from payments.x402.world import BUYERS, CHAIN_ID, FACILITATOR, PATIENT, TOKEN, World

WALLET, HONEST = BUYERS[18], BUYERS[19]
TOKEN_OF_STRANGER = "0x00000000000000000000000000000000000050Ce"
DEMANDS = [demand(1000), over_permit2(1100), demand(1000, "upto")]
each_scheme = pytest.mark.parametrize("asked", DEMANDS, ids=["eip3009", "permit2", "upto"])


class StrangersClient:
    """The client for strangers' calls, which does not return while it is slow."""

    def __init__(self, world: World) -> None:
        self._client = world.client
        self.begun, self.ended = threading.Semaphore(0), threading.Event()
        self.slow = False
        self.calls = 0

    def request(self, method: str, *params: Any) -> Any:
        self._wait()
        return self._client.request(method, *params)

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        self._wait()
        return self._client.batch(requests, return_errors=return_errors)

    def _wait(self) -> None:
        self.calls += 1
        if self.slow:
            self.begun.release()
            assert self.ended.wait(60)
            raise TimedOut("no response within 1 s")


class Limited:
    """A facilitator with both paths to the node."""

    def __init__(self, world: World, url: str) -> None:
        self.world, self.url = world, url
        self.client = StrangersClient(world)
        self.breaker = CircuitBreaker()
        strangers = StrangerCalls(self.client, CircuitBreaker())
        node = RpcNode(GuardedClient(world.client, self.breaker), strangers.node)
        ledger, intents = world.ledger(url), TransactionIntents(CHAIN_ID, LocalSigner(FACILITATOR))
        sender = TransactionSender(ledger, node, intents, ConfirmationPolicy(), FeeSettings())
        bounds = FacilitatorBounds(trusted=frozenset({TOKEN}))
        self.facilitator = Facilitator(Settlements(ledger, sender, PATIENT), bounds)

    def serves(self, asked: PaymentRequirements) -> None:
        """Check that a payment of an account with a key is settled."""
        payment, calls = pay(HONEST, asked), self.client.calls
        assert self.facilitator.verify(payment, asked).is_valid
        assert self.facilitator.settle(payment, asked).success
        assert self.client.calls == calls, "no call of an account with a key has the path for strangers"
        assert (self.breaker.state, self.breaker.openings) == (BreakerState.CLOSED, 0)


@pytest.fixture
def limited(world: World, sqlite: Callable[[], str]) -> Iterator[Limited]:
    """Provide the facilitator on a node, whose chain is restored after the test."""
    with world.rollback():
        one = Limited(world, sqlite())
        yield one
        one.client.ended.set()


def become(world: World, address: str, code: bytes) -> None:
    world.rpc("anvil_setCode", address, "0x" + code.hex())


@each_scheme
def test_wallet_that_uses_all_gas_is_rejected(world: World, limited: Limited, asked: PaymentRequirements) -> None:
    become(world, WALLET.address, endless_wallet())
    payment = pay(WALLET, asked)
    for _ in range(5):
        assert not limited.facilitator.verify(payment, asked).is_valid
    assert not limited.facilitator.settle(payment, asked).success
    assert limited.facilitator.settlements.find(settled(payment, asked).key) is None
    limited.serves(asked)


@each_scheme
def test_slow_wallet_delays_no_other_payment(world: World, limited: Limited, asked: PaymentRequirements) -> None:
    become(world, WALLET.address, spending_wallet(1_000))
    first, second = pay(WALLET, asked), pay(WALLET, asked)
    limited.client.slow = True
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(limited.facilitator.verify, first, asked)
        assert limited.client.begun.acquire(timeout=30)
        limited.serves(asked)
        assert not waiting.done()
        limited.client.ended.set()
        verification = waiting.result(timeout=30)
    assert (verification.is_valid, verification.invalid_reason) == (False, "code_timeout")
    calls = limited.client.calls
    response = limited.facilitator.settle(second, asked)
    assert (response.success, response.error_reason) == (False, "code_timeout")
    assert limited.client.calls == calls, "the wallet is not called again at once"
    assert limited.facilitator.settlements.find(settled(second, asked).key) is None


def test_slow_wallet_does_not_hide_a_settlement_on_the_chain(
    world: World, limited: Limited, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request settles the payment after this one has looked for its transaction."""
    become(world, WALLET.address, spending_wallet(1_000))
    asked = over_permit2(1_100)
    payment = pay(WALLET, asked)
    settled_before = limited.facilitator.settle(payment, asked)
    assert settled_before.success
    find, rows = _Writing.get, iter([None])
    monkeypatch.setattr(_Writing, "get", lambda self, key: next(rows, find(self, key)))
    limited.client.slow = True
    limited.client.ended.set()
    response = limited.facilitator.settle(payment, asked)
    assert (response.success, response.error_reason) == (True, None)
    assert response.transaction == settled_before.transaction


def test_wallet_pays(world: World, limited: Limited) -> None:
    become(world, WALLET.address, spending_wallet(100_000))
    for asked in DEMANDS:
        payment = pay(WALLET, asked)
        assert limited.facilitator.verify(payment, asked).is_valid
        assert limited.facilitator.settle(payment, asked).success
    assert limited.client.calls > 0


def test_token_of_a_stranger_delays_no_other_payment(world: World, limited: Limited) -> None:
    become(world, TOKEN_OF_STRANGER, endless_wallet())
    strange = demand(1000, asset=TOKEN_OF_STRANGER)
    payment = manual_payment(HONEST, strange)
    assert not limited.facilitator.verify(payment, strange).is_valid
    assert limited.client.calls > 0
    limited.client.slow = True
    limited.client.ended.set()
    verification = limited.facilitator.verify(payment, strange)
    assert (verification.is_valid, verification.invalid_reason) == (False, "code_timeout")
    with pytest.raises(CodeTimeout, match=TOKEN_OF_STRANGER):
        limited.facilitator.status(PaymentKey(CHAIN_ID, TOKEN_OF_STRANGER, HONEST.address, bytes(32)), 1)
    limited.serves(demand(1000))


def test_seller_serves_others_while_a_wallet_is_slow(world: World, limited: Limited) -> None:
    become(world, WALLET.address, spending_wallet(1_000))
    selling = Selling(world, limited.url, InProcessFacilitator(limited.facilitator))
    hostile, honest = selling.bought(WALLET, "/report"), selling.bought(HONEST, "/report")
    limited.client.slow = True
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(selling.get, "/report", hostile)
        assert limited.client.begun.acquire(timeout=30)
        assert selling.get("/report", honest).status_code == 200
        assert not waiting.done()
        limited.client.ended.set()
        assert waiting.result(timeout=30).status_code == 402
    assert selling.runs["/report"] == 1
    assert limited.breaker.openings == 0
