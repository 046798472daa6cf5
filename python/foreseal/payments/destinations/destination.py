"""A destination: one token and one payee's key, with the components that act for them."""

from dataclasses import dataclass
from typing import Self

from foreseal.payments.chain import ChainNode
from foreseal.payments.configuration import ConfiguredDestination, PolicySection
from foreseal.payments.destinations.label import DestinationLabel
from foreseal.payments.disbursements.payouts import Payouts
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.ledger import Ledger
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.auto_captures import AutoCaptures
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.drafts import Drafts
from foreseal.payments.orders.payments import Payments
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.transactions import TransactionIntents, TransactionSender, TransactionSigner
from foreseal.payments.transfers.settings import WatcherSettings


@dataclass(frozen=True, slots=True)
class DestinationContext:
    """Components that all destinations of a service share."""

    ledger: Ledger
    node: ChainNode
    chain_id: int
    policy: PolicySection


@dataclass(frozen=True, slots=True)
class Destination:
    """Components that act for one token with one key."""

    label: DestinationLabel
    payouts_contract: str | None
    merchant: Merchant
    sender: TransactionSender
    orders: Orders
    drafts: Drafts
    captures: Captures
    auto_captures: AutoCaptures
    payments: Payments
    cancellations: Cancellations
    progress: OrderReconciler
    refunds: Refunds
    payouts: Payouts
    watcher_settings: WatcherSettings

    @classmethod
    def build(cls, configured: ConfiguredDestination, signer: TransactionSigner, context: DestinationContext) -> Self:
        """Build the components of a configured destination. Raises ValueError for contradicting addresses."""
        policy, token = context.policy, configured.token
        merchant = Merchant(
            token.domain(context.chain_id),
            signer.address,
            policy.margin_seconds,
            policy.refundable,
            configured.checkout,
            configured.batch_capture,
            token.min_transfer,
        )
        intents = TransactionIntents(context.chain_id, signer)
        sender = policy.sender(context.ledger, context.node, intents)
        watch = WatcherSettings(
            context.chain_id,
            token.address,
            merchant.payee,
            token.start_block,
            policy.policy(),
            batch_capture=merchant.batch_capture,
            min_transfer=token.min_transfer,
        )
        label = DestinationLabel(configured.name, token, merchant.payee, merchant.receivers)
        return cls._compose(label, configured.payouts, merchant, sender, watch)

    def with_node(self, node: ChainNode) -> "Destination":
        """Return the destination with components that use another node, or `CachedHeads` of the same one."""
        sender = self.sender.with_node(node)
        return self._compose(self.label, self.payouts_contract, self.merchant, sender, self.watcher_settings)

    @property
    def name(self) -> str:
        """Unique name."""
        return self.label.name

    @classmethod
    def _compose(
        cls,
        label: DestinationLabel,
        payouts_contract: str | None,
        merchant: Merchant,
        sender: TransactionSender,
        watch: WatcherSettings,
    ) -> Self:
        ledger = sender.ledger
        return cls(
            label,
            payouts_contract,
            merchant,
            sender,
            Orders(ledger, sender.node, merchant),
            Drafts(ledger, sender.node, merchant),
            Captures(ledger, sender, merchant),
            AutoCaptures(ledger, sender, merchant),
            Payments(ledger, sender, merchant),
            Cancellations(ledger, sender, merchant),
            OrderReconciler(ledger, sender, merchant),
            Refunds(ledger, sender, merchant),
            Payouts(ledger, sender, merchant),
            watch,
        )
