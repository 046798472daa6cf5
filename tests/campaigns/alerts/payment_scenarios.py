"""Causes in the node, the payees and the webhook targets of a merchant service."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from alerts.scenario import Scenario, Started, node_job, pay_job
from alerts.webhook_targets import gone_target
from foreseal.ports import next_free_port
from live import live_node
from live.process import hung
from payments.api.serving import BUYERS, MERCHANT, Shopper, api_key, configure, serving


@contextlib.contextmanager
def hung_node(folder: Path) -> Iterator[Started]:
    """Stop the node of a merchant service with SIGSTOP."""
    with live_node("--payments", "--block-time", "1s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            shopper.stored("a", 1_000, BUYERS[0])
            keys = iter(range(1_000_000))

            def capture() -> None:
                shopper.post("/v1/orders/a/capture", key=f"capture {next(keys)}")

            with hung(node.process):
                yield Started(node_job(node) | pay_job(service), capture)


@contextlib.contextmanager
def merchant_without_ether(folder: Path) -> Iterator[Started]:
    """Take the ether of a payee, and let a target of webhooks answer 410."""
    with live_node("--payments", "--block-time", "1s") as node, gone_target(folder) as hooks:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db", more=hooks)
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            node.rpc("anvil_setBalance", MERCHANT.address, hex(0))
            keys = iter(range(1_000_000))

            def capture() -> None:
                number = next(keys)
                id = shopper.stored(f"o{number}", 1_000 + number, BUYERS[number % 3])
                shopper.post(f"/v1/orders/{id}/capture")

            yield Started(node_job(node) | pay_job(service), capture)


@contextlib.contextmanager
def merchant_with_little_ether(folder: Path) -> Iterator[Started]:
    """Leave ether for a few captures."""
    with live_node("--payments", "--block-time", "1s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service:
            fees = int(node.rpc("eth_gasPrice"), 16) * 100_000
            node.rpc("anvil_setBalance", MERCHANT.address, hex(60 * fees))
            yield Started(pay_job(service))


@contextlib.contextmanager
def chain_without_blocks(folder: Path) -> Iterator[Started]:
    """Let the node of a merchant service seal no block for two minutes."""
    with live_node("--payments", "--block-time", "120s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service:
            yield Started(node_job(node) | pay_job(service))


@contextlib.contextmanager
def stopped_merchant(folder: Path) -> Iterator[Started]:
    """Scrape a merchant service that does not run."""
    del folder
    yield Started({"foreseal-pay": [f"127.0.0.1:{next_free_port()}"]})


PAYMENT_SCENARIOS = (
    Scenario(
        "a node that hangs, with a merchant service",
        frozenset(
            {
                "ForesealNodeDown",
                "ForesealPayNodeDown",
                "ForesealPayBreakerOpen",
                "ForesealPayServerErrors",
                "ForesealPayWorkerStalled",
            }
        ),
        hung_node,
    ),
    Scenario(
        "a payee without ether, and a webhook target that is gone",
        frozenset({"ForesealPayPayeeEmpty", "ForesealPayRejections", "ForesealPayWebhooksDead"}),
        merchant_without_ether,
    ),
    Scenario("a payee with little ether", frozenset({"ForesealPayPayeeLow"}), merchant_with_little_ether),
    Scenario("a chain without new blocks", frozenset({"ForesealPayNodeStale"}), chain_without_blocks),
    Scenario("a stopped merchant service", frozenset({"ForesealPayDown"}), stopped_merchant),
)
