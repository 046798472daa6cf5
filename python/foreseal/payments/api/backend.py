"""All components of a merchant, built from the configuration."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from foreseal.client import Client
from foreseal.payments.chain import BatchClient, ChainNode, CircuitBreaker, GuardedClient, RpcNode
from foreseal.payments.configuration import Configuration, TokenSection
from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.disbursements.payouts import Payouts
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.auto_captures import AutoCaptures
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures
from foreseal.payments.orders.drafts import Drafts
from foreseal.payments.orders.payments import Payments
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.transactions import TransactionIntents, TransactionSender
from foreseal.payments.transfers.settings import WatcherSettings

BackendClock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backend:
    """Components behind the HTTP service and the worker."""

    configuration: Configuration
    token: TokenSection
    clock: BackendClock
    """Unix time in seconds."""
    monotonic: BackendClock
    """Monotonic time in seconds."""
    database: Database
    ledger: Ledger
    breaker: CircuitBreaker
    """Circuit breaker of the node."""
    node: ChainNode
    sender: TransactionSender
    merchant: Merchant
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
    def open(
        cls,
        configuration: Configuration,
        environment: Mapping[str, str],
        clock: BackendClock,
        client: BatchClient | None = None,
        passed: OnCrashPoint = ignore_crash_point,
        monotonic: BackendClock = time.monotonic,
    ) -> Self:
        """Open the database. The node is not contacted yet.

        `client` replaces the client of the configured node. `monotonic` is a clock in seconds for time limits. Raises
        `ConfigurationError`, `SecretError`, `WrongSchema` and the database's errors.
        """
        token = configuration.need(configuration.token, "token")
        signer = configuration.need(configuration.payee, "payee").signer(environment)
        policy, chain_id = configuration.policy, configuration.node.chain_id
        database = Database(configuration.database.url)
        ledger = Ledger(database, lambda: int(clock()), passed)
        merchant = Merchant(
            token.domain(chain_id),
            signer.address,
            policy.margin_seconds,
            policy.refundable,
            configuration.serve.checkout,
            configuration.serve.batch_capture,
        )
        breaker = CircuitBreaker(configuration.node.breaker(), monotonic)
        client = client or Client(configuration.node.url, configuration.node.options())
        node = RpcNode(GuardedClient(client, breaker))
        sender = TransactionSender(ledger, node, TransactionIntents(chain_id, signer), policy.policy(), policy.fees())
        watch = WatcherSettings(
            chain_id,
            token.address,
            merchant.payee,
            token.start_block,
            policy.policy(),
            batch_capture=merchant.batch_capture,
        )
        return cls(
            configuration,
            token,
            clock,
            monotonic,
            database,
            ledger,
            breaker,
            node,
            sender,
            merchant,
            Orders(ledger, node, merchant),
            Drafts(ledger, node, merchant),
            Captures(ledger, sender, merchant),
            AutoCaptures(ledger, sender, merchant),
            Payments(ledger, sender, merchant),
            Cancellations(ledger, sender, merchant),
            OrderReconciler(ledger, sender, merchant),
            Refunds(ledger, sender, merchant),
            Payouts(ledger, sender, merchant),
            watch,
        )

    def close(self) -> None:
        """Close the database."""
        self.database.close()
