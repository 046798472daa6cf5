"""A merchant with all services, on a chain: the basis of most payment tests."""

import dataclasses
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from sqlalchemy import select

from foreseal.payments.chain import ConfirmationPolicy, RpcNode
from foreseal.payments.chain.token import cancel_call
from foreseal.payments.disbursements.payouts import Payouts
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.group_operation import run_deferred
from foreseal.payments.ledger import Database, Ledger, OrderState
from foreseal.payments.ledger.models import OrderRecord, RefundRecord, TransferRecord
from foreseal.payments.ledger.queries import fetch_all
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payers import UnassignedTerms
from foreseal.payments.orders.payment_groups import PaymentGroups
from foreseal.payments.orders.payments import CheckedPayment, NewPayment, Payments
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.orders.terms import OrderTerms, PermitTerms, authorization, message_by
from foreseal.payments.transactions import FeeSettings, LocalSigner, TransactionIntents, TransactionSender
from foreseal.payments.transfers.balance import Balance, BalanceFault, balance
from foreseal.payments.transfers.settings import WatcherSettings
from foreseal.payments.transfers.watcher import TransferWatcher
from foreseal.payments.typed_data import Domain, Permit, ReceiveAuthorization, TransferAuthorization
from payments.fake.blocks import FakeChain
from payments.fake.contracts import NAME, TOKEN, VERSION, call_data
from payments.fake.node import Disturbed, FakeNode
from payments.people import BUYER, BUYERS, CHECKOUT, SHOP, account

AnyChain = Any
"""A `FakeChain`, or a `RealChain` with the same interface."""
Chains = Callable[[int], tuple[AnyChain, Disturbed]]
"""Makes a chain whose final block is this many blocks behind, and a node on it."""
FUNDS = 1_000_000
ADDRESS = to_checksum_address(TOKEN)


def make_fake_chain(finality: int) -> tuple[FakeChain, FakeNode]:
    """Return a chain of dictionaries in this process."""
    chain = FakeChain(finality=finality)
    return chain, FakeNode(chain)


class Killed(BaseException):
    """The process ended at a crash point. It is not an Exception: nothing in the library may catch it."""


class Crashes:
    """Crash points that end the process at the armed one, or after a number of others."""

    def __init__(self) -> None:
        self.armed: StrEnum | None = None
        self.after: int | None = None
        self.passed: list[StrEnum] = []

    def arm(self, point: StrEnum | None = None, after: int | None = None) -> None:
        self.armed, self.after = point, after

    def __call__(self, point: StrEnum) -> None:
        self.passed.append(point)
        if self.after is not None:
            self.after -= 1
        if point is self.armed or (self.after is not None and self.after < 0):
            self.arm()
            raise Killed(point)


@dataclasses.dataclass(frozen=True)
class ShopBalance:
    """The sums of the shop's one token."""

    received: int
    captured: int
    unmatched: int
    refunded: int
    reserved: int
    faults: tuple[BalanceFault, ...] = ()
    granted: int = 0

    @classmethod
    def from_balance(cls, ledger_balance: Balance) -> "ShopBalance":
        sums = ledger_balance.total()
        return cls(
            sums.received,
            sums.captured,
            sums.unmatched,
            sums.refunded,
            sums.reserved,
            ledger_balance.faults,
            sums.granted,
        )


class Shop:
    """The merchant; `restart` is a new process on the same database."""

    def __init__(
        self,
        url: str,
        policy: ConfirmationPolicy | None = None,
        finality: int = 40,
        chains: Chains | None = None,
        **settings: Any,
    ) -> None:
        self.url = url
        self.policy = policy or ConfirmationPolicy()
        self.settings = settings
        make: Chains = chains or make_fake_chain
        self.chain, self.node = make(finality)
        self.chain.change(lambda state: state.balances.update({each.address.lower(): FUNDS for each in BUYERS}))
        self.crashes = Crashes()
        self.progressed: list[tuple[int, int]] = []
        self.drawn = 0
        self.database = Database(url)
        self.restart()

    def restart(self) -> None:
        self.database.close()
        self.database = Database(self.url)
        self.ledger = Ledger(self.database, lambda: self.chain.time, self.crashes)
        self.rpc = RpcNode(self.node)
        domain = Domain(NAME, VERSION, self.chain.chain_id, ADDRESS)
        self.merchant = Merchant(domain, SHOP.address, checkout=CHECKOUT, **self.settings)
        intents = TransactionIntents(self.chain.chain_id, LocalSigner(SHOP))
        self.sender = TransactionSender(self.ledger, self.rpc, intents, self.policy, FeeSettings(patience_blocks=10))
        self.orders = Orders(self.ledger, self.rpc, self.merchant)
        self.captures = Captures(self.ledger, self.sender, self.merchant)
        self.payments = Payments(self.ledger, self.sender, self.merchant)
        self.groups = PaymentGroups(self.ledger, self.sender, [self.payments])
        self.progress = OrderReconciler(self.ledger, self.sender, self.merchant)
        self.cancellations = Cancellations(self.ledger, self.sender, self.merchant)
        self.refunds = Refunds(self.ledger, self.sender, self.merchant)
        self.payouts = Payouts(self.ledger, self.sender, self.merchant)
        contract = self.merchant.batch_capture
        watch = WatcherSettings(self.chain.chain_id, ADDRESS, SHOP.address, policy=self.policy, batch_capture=contract)
        self.watcher = TransferWatcher(self.ledger, self.rpc, watch, lambda *how: self.progressed.append(how))

    def close(self) -> None:
        self.database.close()
        self.chain.close()

    def terms(self, amount: int = 500, *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> OrderTerms:
        self.drawn += 1
        nonce = self.drawn.to_bytes(32, "big")
        return OrderTerms(buyer.address, amount, 0, self.chain.time + seconds, nonce)

    def permit_terms(self, maximum: int, *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> PermitTerms:
        self.drawn += 1
        return PermitTerms(buyer.address, maximum, self.chain.time + seconds, (self.drawn << 128).to_bytes(32))

    def signed(self, message: Any, buyer: LocalAccount = BUYER) -> bytes:
        signature: bytes = message.sign(self.merchant.domain, bytes(buyer.key))
        return signature

    def draft(self, id: str, amount: int = 500, **terms: Any) -> ReceiveAuthorization:
        return self.orders.draft(id, self.terms(amount, **terms))

    def unassigned(self, id: str, amount: int = 500, *, seconds: int = 3600) -> str:
        """Create an order without payer."""
        terms = self.terms(amount, seconds=seconds)
        unassigned = UnassignedTerms(terms.amount, terms.valid_after, terms.valid_before, terms.nonce)
        self.orders.draft_unassigned(id, unassigned)
        return id

    def signature_of(self, id: str, buyer: LocalAccount = BUYER) -> bytes:
        """Return a buyer's signature over an order, also of one without payer."""
        order = self.orders.get(id)
        return self.signed(message_by(order, self.orders.signer(order, buyer.address)), buyer)

    def accept(self, id: str, buyer: LocalAccount = BUYER) -> str:
        """Accept a buyer's signature of an order without payer."""
        self.orders.accept(id, self.signature_of(id, buyer), buyer.address)
        return id

    def stored(self, id: str, amount: int = 500, *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> str:
        message = self.draft(id, amount, buyer=buyer, seconds=seconds)
        self.orders.sign(id, self.signed(message, buyer))
        self.orders.store(id)
        return id

    def captured(self, id: str, amount: int = 500, **terms: Any) -> str:
        """Create an order whose capture is final."""
        self.captures.capture(self.stored(id, amount, **terms))
        self.settle()
        return id

    def pay_signed(self, amounts: dict[str, int], *, buyer: LocalAccount = BUYER, seconds: int = 3600) -> list[str]:
        """Store and send signed payments as one group, like the service. Return the ids of the stored ones."""
        return self.store_group([self.payment(id, amount, buyer, seconds) for id, amount in amounts.items()])

    def payment(self, id: str, amount: int, buyer: LocalAccount = BUYER, seconds: int = 3600) -> NewPayment:
        """Return a signed payment that is captured at once."""
        terms = self.terms(amount, buyer=buyer, seconds=seconds)
        unsigned = self.payments.new(id, terms, b"", capture=True)
        return dataclasses.replace(unsigned, signature=self.signed(authorization(unsigned), buyer))

    def check(self, payments: list[NewPayment]) -> list[Any]:
        """Check payments as one group, and those of wallets after the others."""
        return run_deferred(self.groups.check(payments))

    def store_group(self, payments: list[NewPayment]) -> list[str]:
        """Check, store and send payments as one group. Return the ids of the stored ones."""
        checked = self.check(payments)
        with self.database.transaction() as tx:
            stored = self.groups.store(tx, [each for each in checked if isinstance(each, CheckedPayment)])
        done = [each for each in stored if isinstance(each, StoredOrder)]
        self.groups.send(done)
        return [each.order.id for each in done]

    def cancel(self, id: str, buyer: LocalAccount = BUYER) -> OrderRecord:
        return self.cancellations.cancel(id, self.signed(self.cancellations.message(id), buyer))

    def pay(self, amount: int, memo: bytes | None = None, *, buyer: LocalAccount = BUYER) -> str:
        """Transfer to the merchant as a buyer and return the hash, once it is in a block."""
        if memo is None:
            data = call_data("transfer(address,uint256)", SHOP.address, amount)
        else:
            data = call_data("transferWithMemo(address,uint256,bytes32)", SHOP.address, amount, memo)
        sent = self.chain.inject(buyer.address.lower(), TOKEN, data)
        self.chain.mine()
        return str(sent.hash)

    def payer_cancels(self, id: str, buyer: LocalAccount = BUYER) -> None:
        """Submit the payer's own cancellation to the chain."""
        message = self.cancellations.message(id)
        data = cancel_call(message, self.signed(message, buyer))
        self.chain.inject(buyer.address.lower(), TOKEN, data)

    def pay_directly(self, id: str, buyer: LocalAccount = BUYER, *, amount: int | None = None) -> str:
        """Pay an order on the chain as a buyer, by TransferWithAuthorization with its nonce. Return the hash."""
        order = self.orders.get(id)
        return self.pay_by_nonce(order.nonce, amount or order.amount, buyer, order.payee)

    def pay_by_nonce(
        self, nonce: bytes, amount: int = 500, buyer: LocalAccount = BUYER, payee: str = SHOP.address
    ) -> str:
        """Pay on the chain by TransferWithAuthorization with a nonce. Return the hash."""
        terms = (buyer.address, payee, amount, 0, 2**63, nonce)
        signature = self.signed(TransferAuthorization(*terms), buyer)
        function = "transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)"
        sent = self.chain.inject(buyer.address.lower(), TOKEN, call_data(function, *terms, signature))
        self.chain.mine()
        return str(sent.hash)

    def submit_permit(self, message: Permit, signature: bytes, sender: LocalAccount) -> None:
        """Submit a permit to the chain as any account."""
        values = (message.owner, message.spender, message.value, message.deadline, signature)
        data = call_data("permit(address,address,uint256,uint256,bytes)", *values)
        self.chain.inject(sender.address.lower(), TOKEN, data)

    def go_on(self) -> None:
        """Run one round of the service's periodic work."""
        self.progress.resume()
        self.refunds.resume()
        self.payouts.resume()
        self.watcher.poll()

    def settle(self) -> None:
        """Wait until everything is final."""
        for _ in range(3):
            self.go_on()
            self.chain.mine(self.chain.finality + 1)
        self.go_on()

    def in_state(self, *states: OrderState) -> list[str]:
        """Return the ids of all orders in these states."""
        with self.database.reading() as tx:
            query = select(OrderRecord.id).where(OrderRecord.state.in_(states)).order_by(OrderRecord.id)
            return list(tx.execute(query).scalars())

    def refunds_of(self, order: str) -> list[RefundRecord]:
        """Return all refunds of an order."""
        with self.database.reading() as tx:
            return fetch_all(tx, select(RefundRecord).where(RefundRecord.order_id == order).order_by(RefundRecord.id))

    def status(self, id: str) -> str:
        """Return state and step of an order."""
        order = self.orders.get(id)
        return f"{order.state} / {order.step}"

    def rows(self) -> set[tuple[Any, ...]]:
        """Return the transfers in the ledger."""
        with self.database.reading() as tx:
            names = ("transaction_hash", "position", "block_hash", "block_number", "log_index", "sender", "amount")
            return {tuple(getattr(row, name) for name in names) for row in tx.execute(select(TransferRecord))}

    def balance(self) -> ShopBalance:
        with self.database.reading() as tx:
            return ShopBalance.from_balance(balance(tx))


__all__ = ["ADDRESS", "BUYER", "BUYERS", "FUNDS", "SHOP", "Crashes", "Killed", "Make", "Shop", "account"]

Make = Callable[..., Shop]
