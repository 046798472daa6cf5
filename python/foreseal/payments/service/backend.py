"""A merchant with everything there is, made from the configuration."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from foreseal.client import Client
from foreseal.payments.cancellations import Cancellations
from foreseal.payments.captures import Captures
from foreseal.payments.chain import Node, RpcNode
from foreseal.payments.configuration import Configuration, TokenSection
from foreseal.payments.crash_points import Passed, unwatched
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders import Orders
from foreseal.payments.payouts import Payouts
from foreseal.payments.progress import Progress
from foreseal.payments.refunds import Refunds
from foreseal.payments.sending import Intents, Sender
from foreseal.payments.service import tables
from foreseal.payments.watching import Watch

# Imported for the tables alone: the database makes those that are known.
assert tables.api_keys is not None

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Backend:
    """What answers requests, and what the worker goes on with."""

    configuration: Configuration
    token: TokenSection
    clock: Clock
    """Seconds since 1970."""
    database: Database
    ledger: Ledger
    node: Node
    sender: Sender
    merchant: Merchant
    orders: Orders
    captures: Captures
    cancellations: Cancellations
    progress: Progress
    refunds: Refunds
    payouts: Payouts
    watch: Watch

    @classmethod
    def open(
        cls,
        configuration: Configuration,
        environment: Mapping[str, str],
        clock: Clock,
        node: Node | None = None,
        passed: Passed = unwatched,
    ) -> Self:
        """Open the database; the node is not asked yet.

        `node` stands in for the one that the configuration names. Raises `ConfigurationError`, `SecretError`,
        `WrongSchema`, and what the database raises.
        """
        token = configuration.need(configuration.token, "token")
        account = configuration.need(configuration.payee, "payee").secret().account(environment)
        policy, chain_id = configuration.policy, configuration.node.chain_id
        database = Database(configuration.database.url)
        ledger = Ledger(database, lambda: int(clock()), passed)
        merchant = Merchant(token.domain(chain_id), account.address, policy.margin_seconds, policy.refundable)
        node = node or RpcNode(Client(configuration.node.url))
        sender = Sender(ledger, node, Intents(chain_id, account), policy.policy(), policy.fees())
        watch = Watch(chain_id, token.address, merchant.payee, token.start_block, policy.policy())
        return cls(
            configuration,
            token,
            clock,
            database,
            ledger,
            node,
            sender,
            merchant,
            Orders(ledger, node, merchant),
            Captures(ledger, sender, merchant),
            Cancellations(ledger, sender, merchant),
            Progress(ledger, sender, merchant),
            Refunds(ledger, sender, merchant),
            Payouts(ledger, sender, merchant),
            watch,
        )

    def close(self) -> None:
        """Close the database."""
        self.database.close()
