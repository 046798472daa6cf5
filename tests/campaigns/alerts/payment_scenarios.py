"""Causes in the node, the payees and the webhook targets of a merchant service."""

import contextlib
import itertools
from collections.abc import Iterator
from pathlib import Path

from alerts.scenario import Scenario, Started, node_job, pay_job
from alerts.webhook_targets import gone_target, unavailable_targets
from foreseal.payments.contracts.development import TOKEN
from foreseal.ports import next_free_port
from link_proxy import LinkProxies, LinkState
from live import DEV_ACCOUNTS, live_node
from live.process import hung
from live.sending import Sender
from payments.api.serving import BUYERS, MERCHANT, Shopper, api_key, configure, serving
from payments.fake.contracts import call_data
from payments.logging_code import GAS, created_address, logging_code

# Blocks that a late service reads in ranges of 2,000, and the delay of each direction of its link.
_BLOCKS = 20_000
_DELAY_MS = 500
# Maximum bytes of a response of a node that does not return a receipt with 40,000 logs.
_SMALL_RESPONSE = str(4 << 20)
# Blocks for which the first transaction of an account waits longer after each repetition.
_WAIT_BLOCKS = 5
# Webhook targets, and orders that a repetition creates; each order has three events.
_TARGETS = 16


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
                node.rpc("anvil_mine", hex(_WAIT_BLOCKS))

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


@contextlib.contextmanager
def slow_steps(folder: Path) -> Iterator[Started]:
    """Capture on a node whose steps come every ten seconds."""
    with live_node("--payments", "--block-time", "20s", "--step", "10s") as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            keys = iter(range(1_000_000))

            def capture() -> None:
                number = next(keys)
                id = shopper.stored(f"o{number}", 1_000 + number, BUYERS[number % 3])
                shopper.post(f"/v1/orders/{id}/capture")

            yield Started(pay_job(service), capture)


@contextlib.contextmanager
def slow_link(folder: Path) -> Iterator[Started]:
    """Start a merchant service after thousands of blocks, on a link with a delay to the node."""
    with live_node("--payments", "--block-time", "1s") as node, contextlib.closing(LinkProxies()) as links:
        node.rpc("anvil_mine", hex(_BLOCKS))
        port = links.add("node", int(node.url.rpartition(":")[2]))
        config = configure(folder, f"http://127.0.0.1:{port}", f"sqlite:///{folder}/pay.db")
        links.set_state(["node"], LinkState(delay_ms=_DELAY_MS))
        with serving(config, "--log", "error") as service:
            yield Started(pay_job(service))


@contextlib.contextmanager
def failing_targets(folder: Path) -> Iterator[Started]:
    """Let many webhook targets answer 503, and create orders."""
    with live_node("--payments", "--block-time", "1s") as node, unavailable_targets(folder, _TARGETS) as hooks:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db", more=hooks)
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            keys = iter(range(1_000_000))

            def create() -> None:
                for number in itertools.islice(keys, _TARGETS):
                    shopper.stored(f"o{number}", 1_000 + number, BUYERS[number % 3])

            yield Started(pay_job(service), create)


@contextlib.contextmanager
def replaced_payee(folder: Path) -> Iterator[Started]:
    """Replace the key of the payee while an order is open."""
    with live_node("--payments", "--block-time", "1s") as node:
        database = f"sqlite:///{folder}/pay.db"
        config = configure(folder, node.url, database)
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            shopper.stored("a", 1_000, BUYERS[0])
        config = configure(folder, node.url, database, payee=DEV_ACCOUNTS[2])
        with serving(config, "--log", "error") as service:
            yield Started(pay_job(service))


@contextlib.contextmanager
def unread_receipt(folder: Path) -> Iterator[Started]:
    """Pay the merchant in a transaction whose receipt exceeds the limit of the node."""
    with live_node("--payments", "--block-time", "1s", "--max-response", _SMALL_RESPONSE) as node:
        config = configure(folder, node.url, f"sqlite:///{folder}/pay.db")
        payer, stranger = Sender(node.rpc, BUYERS[0]), Sender(node.rpc, DEV_ACCOUNTS[11])
        nonce = stranger.nonce()
        spender = created_address(DEV_ACCOUNTS[11].address, nonce)
        approval = call_data("approve(address,uint256)", spender, 5)
        payer.send(to=TOKEN, data="0x" + approval.hex(), gas=100_000)
        paid = call_data("transferFrom(address,address,uint256)", BUYERS[0].address, MERCHANT.address, 5)
        stranger.send(nonce=nonce, to=None, data="0x" + logging_code(paid).hex(), gas=GAS)
        with serving(config, "--log", "error") as service:
            yield Started(pay_job(service))


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
        frozenset(
            {
                "ForesealPayPayeeEmpty",
                "ForesealPayRejections",
                "ForesealPayWebhooksDead",
                "ForesealPayAccountBlocked",
            }
        ),
        merchant_without_ether,
    ),
    Scenario("a payee with little ether", frozenset({"ForesealPayPayeeLow"}), merchant_with_little_ether),
    Scenario("a chain without new blocks", frozenset({"ForesealPayNodeStale"}), chain_without_blocks),
    Scenario("a stopped merchant service", frozenset({"ForesealPayDown"}), stopped_merchant),
    Scenario("captures on a chain with slow steps", frozenset({"ForesealPaySlowCaptures"}), slow_steps),
    Scenario("a late start on a slow link to the node", frozenset({"ForesealPayBlocksBehind"}), slow_link),
    Scenario("webhook targets that fail", frozenset({"ForesealPayWebhookBacklog"}), failing_targets),
    Scenario("a receipt that the node does not return", frozenset({"ForesealPayTransfersSetAside"}), unread_receipt),
    Scenario(
        "a payee replaced while its order is open", frozenset({"ForesealPayOrdersWithoutDestination"}), replaced_payee
    ),
)
