"""`foreseal pay demo`: every state of the specification is reached, and every forbidden transition is rejected."""

import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from command import foreseal
from foreseal.client.requests import Request
from foreseal.errors import RpcError
from foreseal.payments.demo import DemoEnvironment, DemoPlayer, NotDevelopment, Surprise
from foreseal.payments.ledger import Database, Finality, OrderState, TransitionNotAllowed
from foreseal.payments.testing import with_payments
from foreseal.testing import Chain, ChainSettings
from live import live_node

# Names of the specification, plus the Expired that it leaves open; steps are the ledger's own.
STATES = ["Drafted", "Signed, unused", "Stored, unused", "Used, captured", "Voided offchain", "Canceled", "Expired"]
WAYS = {
    "order": [
        *(("Drafted", "idle"), ("Signed, unused", "idle"), ("Stored, unused", "idle")),
        *(("Used, captured", step) for step in ("provisional", "confirmed", "final")),
    ],
    "maximum": [
        *(("Drafted", "idle"), ("Signed, unused", "idle"), ("Stored, unused", "idle")),
        ("Used, captured", "provisional"),
    ],
    "void": [
        *(("Drafted", "idle"), ("Signed, unused", "idle"), ("Stored, unused", "idle"), ("Voided offchain", "idle")),
        *(("Canceled", step) for step in ("provisional", "final")),
    ],
    "late": [
        *(("Drafted", "idle"), ("Signed, unused", "idle"), ("Stored, unused", "idle")),
        ("Expired", "idle"),
    ],
}
# Allowed operations per state, of sign, store, capture, void and cancel; a permit cannot be canceled.
ALLOWED = {"Drafted": 1, "Signed, unused": 1, "Stored, unused": 2, "Voided offchain": 1}
REFUSED = sum((4 if name == "maximum" else 5) - ALLOWED.get(state, 0) for name, way in WAYS.items() for state, _ in way)


class InProcess:
    """A chain in this process with the interface of a client."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def request(self, method: str, *params: Any) -> Any:
        return self.chain.rpc(method, *params)

    def batch(self, requests: Sequence[Request[Any]], *, return_errors: bool = False) -> list[Any]:
        return [self._outcome(request) for request in requests]

    def _outcome(self, request: Request[Any]) -> Any:
        try:
            return self.request(request.method, *request.params)
        except RpcError as error:
            return error


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/demo.db")
    yield database
    database.close()


@pytest.fixture
def chain() -> Iterator[Chain]:
    with Chain(with_payments(ChainSettings(automine=False))) as chain:
        yield chain


def stage_on(chain: Chain, database: Database) -> DemoEnvironment:
    accounts = [Account.from_key(account.key) for account in chain.accounts]
    ticks = iter(range(10**6))
    return DemoEnvironment(InProcess(chain), database, accounts, chain.step, lambda: float(next(ticks)))


def test_demo_reaches_each_state_in_order_and_rejects_others(chain: Chain, database: Database) -> None:
    told: list[str] = []
    stage = stage_on(chain, database)
    # The chain may have earlier runs of the demo.
    DemoPlayer(stage, lambda _: None).capture_less()
    walk = DemoPlayer(stage, told.append)
    walk.play()
    for name, way in WAYS.items():
        states = [(state.value, step.value) for id, state, step in walk.reached if id == f"{walk.name}-{name}"]
        assert states == way
    assert {state for _, state, _ in walk.reached} == set(OrderState)
    assert [state.value for state in OrderState] == STATES
    assert walk.refused == REFUSED
    assert walk.blocks == 12
    text = "\n".join(told)
    for line in (
        "25000000 units: 10000000 remain of the capture",
        "reverts: FiatTokenV2: authorization is used or canceled",
        "reverts: FiatTokenV2: authorization is expired",
        "7 of 7 states reached",
        "The books balance: 49.68 USDC captured, 15.00 USDC refunded, 0.00 USDC unmatched",
    ):
        assert line in text


def test_unexpected_state_stops_the_demo(chain: Chain, database: Database) -> None:
    stage = stage_on(chain, database)
    walk = DemoPlayer(stage, lambda _: None)
    id = walk._stored("order", 5)
    with pytest.raises(Surprise, match=f"{id} is Stored, unused .idle., not Used, captured .final."):
        walk._expect(id, OrderState.CAPTURED, Finality.FINAL)
    with pytest.raises(Surprise, match="void was not rejected"):
        walk._refuse("void", lambda: stage.orders.void(id))
    with pytest.raises(TransitionNotAllowed):
        stage.orders.void(id)


def test_another_chain_is_rejected(database: Database) -> None:
    with Chain(ChainSettings()) as chain, pytest.raises(NotDevelopment, match="foreseal dev --payments"):
        stage_on(chain, database)
    with Chain(with_payments(ChainSettings())) as chain:
        accounts = [Account.from_key(account.key) for account in chain.accounts]
        with pytest.raises(NotDevelopment, match="the checkout's merchant is"):
            DemoEnvironment(InProcess(chain), database, accounts[1:], chain.step, time.perf_counter)
    poor = foreseal("pay", "demo", "--node", "http://127.0.0.1:1")
    assert (poor.returncode, poor.stdout) == (1, "")
    assert "Connection refused" in poor.stderr


def test_demo_runs_on_an_existing_node_and_its_own() -> None:
    with live_node("--payments", "--chain-id", "84532") as node:
        played = foreseal("pay", "demo", "--node", node.url)
        assert (played.returncode, played.stderr) == (0, "")
        assert "7 of 7 states reached" in played.stdout
    own = foreseal("pay", "demo")
    assert (own.returncode, own.stderr) == (0, "")
    delays = [int(delay) for delay in re.findall(r"(\d+) ms after the submission", own.stdout)]
    # A step comes every 200 ms; the additional delay depends on the machine.
    assert len(delays) == 2
    assert min(delays) < 2_000
