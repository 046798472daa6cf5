"""A chain for wallets, and a facilitator with a seller on it, driven without waiting."""

import threading
from collections.abc import Callable
from typing import Any

from eth_utils.address import to_checksum_address

from foreseal.payments.chain import ConfirmationPolicy, RpcNode
from foreseal.payments.contracts import x402_alloc
from foreseal.payments.ledger import Ledger
from foreseal.payments.transactions import FeeSettings, LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.typed_data import Domain
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.settlements import Settlements, Waiter
from payments.fake.contracts import NAME, TOKEN, VERSION
from payments.fake.node import Disturbed
from payments.real.chain import CHAIN_ID, RealChain
from payments.real.node import RealNode
from payments.shop import Chains
from wallets.paid_shop import PaidShop
from wallets.people import FACILITATOR, SPONSOR

ETHER = 10**20
"""Ether in wei of each account that sends transactions."""
DOMAIN = Domain(NAME, VERSION, CHAIN_ID, to_checksum_address(TOKEN))


class LockedNode(RealNode):
    """The node for the threads of a service and of a seller, one request at a time."""

    def __init__(self, chain: RealChain) -> None:
        super().__init__(chain)
        self._lock = threading.RLock()

    def request(self, method: str, *params: Any) -> Any:
        with self._lock:
            return super().request(method, *params)


class SteppedTime:
    """Time of a waiting facilitator: each pause builds a step of the chain, and counts as a tenth of its patience."""

    def __init__(self, step: Callable[[], object]) -> None:
        self._step = step
        self._now = 0.0

    def now(self) -> float:
        return self._now

    def sleep(self, _seconds: float) -> None:
        self._now += 1
        self._step()

    def waiter(self) -> Waiter:
        return Waiter(seconds=10.0, now=self.now, sleep=self.sleep)


def chains_at(clock: int) -> Chains:
    """Return a factory of chains with the contracts of x402, whose first time is near `clock` in seconds since 1970."""

    def make(finality: int) -> tuple[RealChain, Disturbed]:
        chain = RealChain(finality, x402_alloc(), clock)
        chain.rpc("anvil_autoImpersonateAccount", True)
        for each in (FACILITATOR, SPONSOR):
            chain.rpc("anvil_setBalance", each.address, hex(ETHER))
        return chain, LockedNode(chain)

    return make


class PaidServices:
    """One process of a facilitator and of a seller."""

    def __init__(self, ledger: Ledger, node: Disturbed, chain: RealChain, fees: FeeSettings | None = None) -> None:
        intents = TransactionIntents(chain.chain_id, LocalSigner(FACILITATOR))
        reads = RpcNode(node)
        self.sender = TransactionSender(ledger, reads, intents, ConfirmationPolicy(), fees)
        self.facilitator = Facilitator(Settlements(ledger, self.sender, SteppedTime(chain.step).waiter()))
        self.shop = PaidShop(ledger, reads, self.facilitator, DOMAIN)
