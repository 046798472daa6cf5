"""`foreseal pay facilitator`: verifies and settles x402 payments for sellers until it is stopped."""

import os
import time
from pathlib import Path

from eth_account.signers.local import LocalAccount

from foreseal.cli.pay_check import opening, read_configuration, require_chain
from foreseal.cli.pay_db import print_progress
from foreseal.cli.pay_serve import serve_application
from foreseal.client import Client
from foreseal.payments.chain import CircuitBreaker, GuardedClient, RpcNode, StrangerCalls, stranger_options
from foreseal.payments.configuration import Configuration
from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.periodic_thread import PeriodicThread
from foreseal.payments.transactions import LocalSigner, TransactionIntents
from foreseal.payments.x402.facilitator.app import facilitator_app
from foreseal.payments.x402.facilitator.bounds import FacilitatorBounds
from foreseal.payments.x402.facilitator.facilitator import Facilitator
from foreseal.payments.x402.facilitator.health import FacilitatorHealth
from foreseal.payments.x402.facilitator.settlements import Settlements, Waiter


def facilitate(config: Path, *, upgrade: bool) -> None:
    """Serve the facilitator of a configuration file until SIGINT or SIGTERM."""
    configuration = read_configuration(config)
    with opening(config):
        section = configuration.need(configuration.facilitator, "facilitator")
        account = section.secret().account(os.environ)
        database = Database(configuration.database.url, upgrade=upgrade, report=print_progress)
    node = configuration.node
    for_strangers = Client(node.url, stranger_options(node.options()))
    with Client(node.url, node.options()) as client, for_strangers:
        try:
            breaker = CircuitBreaker(node.breaker())
            gas = configuration.policy.stranger_gas()
            strangers = StrangerCalls(for_strangers, CircuitBreaker(node.breaker()), gas)
            rpc = RpcNode(GuardedClient(client, breaker), strangers.node)
            facilitator = _made(configuration, database, rpc, account)
            host, port = section.listen
            health = FacilitatorHealth(
                facilitator, breaker, node, configuration.policy.min_captures, time.time, time.monotonic
            )
            with health, PeriodicThread("following", facilitator.follow, node.poll_ms / 1000):
                app = facilitator_app(facilitator, health=health.health)
                serve_application(app, host, port, "foreseal pay facilitator")
        finally:
            database.close()


def _made(configuration: Configuration, database: Database, node: RpcNode, account: LocalAccount) -> Facilitator:
    """Return the facilitator. Raise ClickException if the node does not respond or has another chain."""
    require_chain(configuration, node)
    section = configuration.need(configuration.facilitator, "facilitator")
    ledger = Ledger(database, lambda: int(time.time()))
    intents = TransactionIntents(configuration.node.chain_id, LocalSigner(account))
    sender = configuration.policy.sender(ledger, node, intents)
    patience = Waiter(seconds=section.wait_seconds)
    own = frozenset() if configuration.token is None else frozenset({configuration.token.address})
    bounds = FacilitatorBounds(frozenset(section.tokens) or own, frozenset(section.payees), own)
    return Facilitator(Settlements(ledger, sender, patience, bounds.trusts), bounds)
