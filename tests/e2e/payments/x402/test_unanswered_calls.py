"""A facilitator whose node leaves one call unanswered: a call may fail, but no payment becomes an invalid one."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from x402.schemas import PaymentRequirements

from foreseal.client.errors import TimedOut
from foreseal.client.requests import Request
from foreseal.payments.chain import ConfirmationPolicy, NoResponse, RpcNode
from foreseal.payments.transactions import (
    FeeSettings,
    FeeTooHigh,
    LocalSigner,
    TransactionIntents,
    TransactionSender,
)
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.settlements import Settlements
from foreseal.payments.x402.payment_key import PENDING
from payments.x402.paying import demand, over_permit2, pay
from payments.x402.world import BUYERS, CHAIN_ID, FACILITATOR, PATIENT, SHOP, World

SCHEMES = pytest.mark.parametrize(
    "asked", [demand(1000), over_permit2(1000), demand(1000, "upto")], ids=["eip3009", "permit2", "upto"]
)


class SilentClient:
    """Client of a node that leaves one call without an answer."""

    def __init__(self, world: World) -> None:
        self._client = world.client
        self.calls = 0
        self.silent: int | None = None
        """Ordinal of that call."""

    def request(self, method: str, *params: Any) -> Any:
        self._count(method)
        return self._client.request(method, *params)

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        self._count("a batch")
        return self._client.batch(requests, return_errors=return_errors)

    def restart(self, silent: int | None) -> None:
        self.calls, self.silent = 0, silent

    def _count(self, method: str) -> None:
        self.calls += 1
        if self.calls == self.silent:
            raise TimedOut(f"{method}: no answer")


def made(world: World, url: str, client: SilentClient, fees: FeeSettings | None = None) -> Facilitator:
    ledger, intents = world.ledger(url), TransactionIntents(CHAIN_ID, LocalSigner(FACILITATOR))
    sender = TransactionSender(ledger, RpcNode(client), intents, ConfirmationPolicy(), fees or FeeSettings())
    return Facilitator(Settlements(ledger, sender, PATIENT))


@SCHEMES
def test_verify_without_an_answer_never_reports_an_invalid_payment(
    world: World, sqlite: Callable[[], str], asked: PaymentRequirements
) -> None:
    client = SilentClient(world)
    facilitator, payment = made(world, sqlite(), client), pay(BUYERS[0], asked)
    assert facilitator.verify(payment, asked).is_valid
    calls, failed = client.calls, 0
    for silent in range(1, calls + 1):
        client.restart(silent)
        try:
            assert facilitator.verify(payment, asked).is_valid
        except NoResponse:
            failed += 1
    assert failed > 0


@SCHEMES
def test_settle_without_an_answer_never_reports_a_definite_failure(
    world: World, sqlite: Callable[[], str], asked: PaymentRequirements
) -> None:
    client = SilentClient(world)
    facilitator = made(world, sqlite(), client)
    silent, failed, reached = 0, 0, True
    while reached:
        silent += 1
        payment, before = pay(BUYERS[0], asked), world.balance(SHOP.address)
        client.restart(silent)
        try:
            settlement = facilitator.settle(payment, asked)
            assert settlement.success or (settlement.error_reason == PENDING and settlement.transaction), settlement
        except NoResponse:
            failed += 1
        reached = client.calls >= silent
        client.restart(None)
        assert facilitator.settle(payment, asked).success
        assert world.balance(SHOP.address) == before + 1000
    assert failed > 0


def test_fee_above_the_limit_is_no_failure_of_the_payment(world: World, sqlite: Callable[[], str]) -> None:
    asked, url = demand(1000), sqlite()
    payment = pay(BUYERS[1], asked)
    expensive = made(world, url, SilentClient(world), FeeSettings(max_fee=1))
    with pytest.raises(FeeTooHigh):
        expensive.settle(payment, asked)
    assert made(world, url, SilentClient(world)).settle(payment, asked).success
