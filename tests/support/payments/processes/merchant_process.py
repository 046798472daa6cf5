"""A merchant's whole life as a separate process, on a live node: a restart resumes where it was killed."""

import contextlib
import os
import signal
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from eth_account import Account

from foreseal.client import Client
from foreseal.payments.chain import ChainReorganized, ConfirmationPolicy, NoResponse, RpcNode
from foreseal.payments.contracts.development import CHECKOUT, NAME, PAYOUTS, TOKEN, VERSION
from foreseal.payments.disbursements.payouts import Payouts
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.ledger import (
    Database,
    DisbursementState,
    DuplicateRecord,
    Finality,
    Ledger,
    OrderState,
    TransitionNotAllowed,
)
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.reconciler import NotExpired, OrderReconciler
from foreseal.payments.orders.terms import OrderTerms, PermitTerms, message
from foreseal.payments.transactions import (
    FeeSettings,
    LocalSigner,
    TransactionIntents,
    TransactionSender,
    building_head,
)
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.typed_data import Domain, random_nonce

LIMIT = 200
"""Maximum number of rounds; a run that is not complete by then has failed."""
AMOUNT, MAXIMUM, ACTUAL, REFUND = 500, 400, 123, 200
LEGS = (30, 40)
ENDS = {
    "captured": OrderState.CAPTURED,
    "permit": OrderState.CAPTURED,
    "canceled": OrderState.CANCELED,
    "expired": OrderState.EXPIRED,
}
TRANSACTIONS = 5
"""Number of the merchant's transactions: two captures, a cancellation, a refund, a payout."""


@dataclass(frozen=True)
class Plan:
    """Parameters of a process."""

    node: str
    database: str
    merchant: str
    """Private keys, 0x hex."""
    buyer: str
    recipients: tuple[str, str]
    start: int
    """First block whose transfers are watched."""
    batch: bytes
    """Reference of the payout."""
    point: str | None = None
    """Name of the crash point at which it is killed."""


def live(plan: Plan) -> None:
    """Start or resume a life; the process ends at the plan's crash point."""
    with Client(plan.node) as client:
        database = Database(plan.database)
        Merchandise(plan, client, database).live()
        database.close()


class Merchandise:
    """All operations of the merchant; each takes effect once, however often it is started."""

    def __init__(self, plan: Plan, client: Client, database: Database) -> None:
        self.plan = plan
        self.client = client
        self.buyer = Account.from_key(plan.buyer)
        key = Account.from_key(plan.merchant)
        self.node = RpcNode(client)
        domain = Domain(NAME, VERSION, self.node.chain_id(), TOKEN)
        self.merchant = Merchant(domain, key.address, checkout=CHECKOUT)
        self.ledger = Ledger(database, lambda: building_head(self.node).timestamp, self._passed)
        # Pending transactions are replaced at once, so that replacements are covered as well.
        sender = TransactionSender(
            self.ledger,
            self.node,
            TransactionIntents(domain.chain_id, LocalSigner(key)),
            ConfirmationPolicy(),
            FeeSettings(patience_blocks=0),
        )
        self.orders = Orders(self.ledger, self.node, self.merchant)
        self.captures = Captures(self.ledger, sender, self.merchant)
        self.progress = OrderReconciler(self.ledger, sender, self.merchant)
        self.cancellations = Cancellations(self.ledger, sender, self.merchant)
        self.refunds = Refunds(self.ledger, sender, self.merchant)
        self.payouts = Payouts(self.ledger, sender, self.merchant)
        self.watcher = TransferWatcher(
            self.ledger, self.node, WatcherSettings(domain.chain_id, TOKEN, key.address, plan.start)
        )

    def live(self) -> None:
        self.go_on()
        for id in ("captured", "canceled", "expired"):
            self._store(id)
        self._store_permit("permit")
        self._once(lambda: self.orders.void("canceled"))
        self._once(lambda: self.captures.capture("captured"))
        self._once(lambda: self.captures.capture("permit", ACTUAL))
        self._once(lambda: self.cancellations.cancel("canceled", self._signed(self.cancellations.message("canceled"))))
        self._until(lambda: all(self._ended(id) for id in ("captured", "permit", "canceled")))
        self._once(lambda: self.refunds.refund("refund", "captured", REFUND))
        legs, batch = list(zip(self.plan.recipients, LEGS, strict=True)), "0x" + self.plan.batch.hex()
        self._once(lambda: self.payouts.prepare(self.plan.batch, PAYOUTS, legs))
        self._once(lambda: self.payouts.advance(batch))
        paid = ((self.refunds, "refund"), (self.payouts, batch))
        self._until(lambda: all(each.get(id).step is Finality.FINAL for each, id in paid))
        assert all(each.get(id).state is DisbursementState.COMPLETE for each, id in paid)
        self._until(self._expired)

    def go_on(self) -> None:
        """Run one round of the service's periodic work."""
        self.progress.resume()
        self.refunds.resume()
        self.payouts.resume()
        with contextlib.suppress(ChainReorganized, NoResponse):
            self.watcher.poll()

    def _passed(self, point: StrEnum) -> None:
        if point.name == self.plan.point:
            os.kill(os.getpid(), signal.SIGKILL)

    def _store(self, id: str) -> None:
        now = building_head(self.node).timestamp
        terms = OrderTerms(self.buyer.address, AMOUNT, now - 1, now + 100_000, random_nonce())
        if id == "expired":
            terms = replace(terms, valid_before=now + 5_000)
        self._once(lambda: self.orders.draft(id, terms))
        self._sign_and_store(id)

    def _store_permit(self, id: str) -> None:
        deadline = building_head(self.node).timestamp + 100_000
        terms = PermitTerms(self.buyer.address, MAXIMUM, deadline, random_nonce())
        self._once(lambda: self.orders.draft_permit(id, terms))
        self._sign_and_store(id)

    def _sign_and_store(self, id: str) -> None:
        self._once(lambda: self.orders.sign(id, self._signed(message(self.orders.get(id)))))
        self._once(lambda: self.orders.store(id))

    def _signed(self, given: Any) -> bytes:
        signature: bytes = given.sign(self.merchant.domain, bytes(self.buyer.key))
        return signature

    def _once(self, act: Callable[[], object]) -> None:
        """Repeat the call like a client does, until a busy node responds in time."""
        for _ in range(LIMIT):
            with contextlib.suppress(NoResponse, ChainReorganized):
                with contextlib.suppress(TransitionNotAllowed, DuplicateRecord):  # it was done in an earlier life
                    act()
                return
        raise AssertionError("the node does not answer")

    def _ended(self, id: str) -> bool:
        order = self.orders.get(id)
        return order.state is ENDS[id] and order.step is Finality.FINAL

    def _expired(self) -> bool:
        if self.orders.get("expired").state is OrderState.EXPIRED:
            return True
        self.client.request("evm_increaseTime", 1_000)
        with contextlib.suppress(NotExpired):
            self.progress.expire("expired")
        return False

    def _until(self, done: Callable[[], bool]) -> None:
        for _ in range(LIMIT):
            if done():
                return
            self.client.request("anvil_mine", "0x2")
            self.go_on()
        raise AssertionError("it does not come to its end")
