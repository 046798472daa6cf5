"""All components of a merchant, built from the configuration."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from foreseal.client import Client
from foreseal.payments.chain import BatchClient, ChainNode, NodeQuery, RpcNode, Token, find_forbidden_account
from foreseal.payments.chain.prefetch import prefetch_node
from foreseal.payments.configuration import Configuration, TokenSection
from foreseal.payments.crash_points import OnCrashPoint, ignore_crash_point
from foreseal.payments.disbursements.payouts import Payouts
from foreseal.payments.disbursements.refunds import Refunds
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.authorizations import Orders
from foreseal.payments.orders.cancellations import Cancellations
from foreseal.payments.orders.captures import Captures, build_capture_call, capture_parties
from foreseal.payments.orders.reconciler import OrderReconciler
from foreseal.payments.transactions import TransactionIntents, TransactionSender
from foreseal.payments.transfers.authorization_logs import is_used
from foreseal.payments.transfers.watcher import WatcherSettings

BackendClock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backend:
    """Components behind the HTTP service and the worker."""

    configuration: Configuration
    token: TokenSection
    clock: BackendClock
    """Unix time in seconds."""
    database: Database
    ledger: Ledger
    client: BatchClient
    node: ChainNode
    sender: TransactionSender
    merchant: Merchant
    orders: Orders
    captures: Captures
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
    ) -> Self:
        """Open the database. The node is not contacted yet.

        `client` replaces the client of the configured node. Raises `ConfigurationError`, `SecretError`, `WrongSchema`
        and the database's errors.
        """
        token = configuration.need(configuration.token, "token")
        account = configuration.need(configuration.payee, "payee").secret().account(environment)
        policy, chain_id = configuration.policy, configuration.node.chain_id
        database = Database(configuration.database.url)
        ledger = Ledger(database, lambda: int(clock()), passed)
        merchant = Merchant(
            token.domain(chain_id),
            account.address,
            policy.margin_seconds,
            policy.refundable,
            configuration.serve.checkout,
        )
        client = client or Client(configuration.node.url)
        node = RpcNode(client)
        sender = TransactionSender(ledger, node, TransactionIntents(chain_id, account), policy.policy(), policy.fees())
        watch = WatcherSettings(chain_id, token.address, merchant.payee, token.start_block, policy.policy())
        return cls(
            configuration,
            token,
            clock,
            database,
            ledger,
            client,
            node,
            sender,
            merchant,
            Orders(ledger, node, merchant),
            Captures(ledger, sender, merchant),
            Cancellations(ledger, sender, merchant),
            OrderReconciler(ledger, sender, merchant),
            Refunds(ledger, sender, merchant),
            Payouts(ledger, sender, merchant),
            watch,
        )

    def prefetch_draft(self, payer: str) -> tuple[Orders, ChainNode]:
        """Return orders and a node that has prefetched the queries for a new order of this payer."""
        node = self.prefetch(
            [
                lambda node: node.head("pending"),
                lambda node: node.head("latest"),
                lambda node: node.head("finalized"),
                lambda node: Token(node, self.merchant.domain.contract).permit_nonce(payer, "pending"),
            ]
        )
        return Orders(self.ledger, node, self.merchant), node

    def prefetch_capture(self, id: str, amount: int | None) -> Captures:
        """Return captures whose node has prefetched the queries for a capture of this order. Raises `UnknownRecord`."""
        order, account = self.orders.get(id), self.sender.account.address
        queries: list[NodeQuery] = [
            lambda node: node.chain_id(),
            lambda node: node.head("pending"),
            lambda node: node.code(order.payer, "pending"),
            lambda node: node.priority_fee(),
            lambda node: node.transaction_count(account, "pending"),
            lambda node: Token(node, order.token).domain_separator("pending"),
            lambda node: is_used(node, order, "pending"),
            lambda node: Token(node, order.token).paused("pending"),
            lambda node: find_forbidden_account(Token(node, order.token), capture_parties(order), "pending"),
            lambda node: Token(node, order.token).balance(order.payer, "pending"),
        ]
        if order.signature is not None:
            queries.append(lambda node: node.estimate_gas(account, *build_capture_call(order, amount), "pending"))
        return Captures(self.ledger, self.sender.with_node(self.prefetch(queries)), self.merchant)

    def prefetch(self, queries: Sequence[NodeQuery]) -> ChainNode:
        """Return a node for one operation, with these queries prefetched."""
        return prefetch_node(self.client, queries)

    def close(self) -> None:
        """Close the database."""
        self.database.close()
