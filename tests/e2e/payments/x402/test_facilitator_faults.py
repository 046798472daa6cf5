"""Faults of the node under `foreseal pay facilitator`: every call ends soon, and /healthz reports the reason.

The only bounds on time are those of the facilitator, 1 s for /healthz and its time limit of a call to the node, with a
margin for a busy machine.
"""

import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from x402.schemas import PaymentPayload, PaymentRequirements

from live.blocks import wait_for
from live.process import Served, hung, stopping
from payments.api.serving import health
from payments.x402.paying import demand, pay
from payments.x402.world import BUYERS, CHAIN_ID, FACILITATOR, SHOP, World, world

SECONDS = 60.0
# Seconds of a loaded machine, less than the time after which a client gives a call up.
MARGIN = 10.0
CONFIG = """
[node]
url = "{node}"
chain_id = {chain_id}
poll_ms = 100
timeout_ms = 2000

[database]
url = "sqlite:///{folder}/facilitator.db"

[facilitator]
key_file = "{folder}/facilitator.key"
listen = "127.0.0.1:0"

[policy]
min_captures = 10
"""

pytestmark = pytest.mark.sqlite_only


class FacilitatorProcess(Served):
    """A running `foreseal pay facilitator`."""

    READY = "/healthz"


@pytest.fixture
def chain(tmp_path: Path) -> Iterator[World]:
    """Provide a node that a test may stop; a settlement is not final soon."""
    with world(tmp_path, "--finalized-depth", "64") as made:
        yield made


@contextmanager
def facilitating(chain: World, folder: Path) -> Iterator[str]:
    """Run a facilitator of the chain and provide its URL."""
    key, config = folder / "facilitator.key", folder / "pay.toml"
    key.write_text("0x" + bytes(FACILITATOR.key).hex())
    key.chmod(0o600)
    config.write_text(CONFIG.format(node=chain.url, chain_id=CHAIN_ID, folder=folder))
    command = [sys.executable, "-m", "foreseal", "pay", "facilitator", "--config", str(config)]
    with stopping(FacilitatorProcess(command)) as process:
        yield process.url


def codes(url: str) -> set[str]:
    return {reason["code"] for reason in health(url)["reasons"]}


def call(url: str, path: str, payment: PaymentPayload, asked: PaymentRequirements) -> httpx.Response:
    body = {
        "x402Version": 2,
        "paymentPayload": payment.model_dump(by_alias=True, exclude_none=True, mode="json"),
        "paymentRequirements": asked.model_dump(by_alias=True, exclude_none=True, mode="json"),
    }
    return httpx.post(f"{url}{path}", json=body, timeout=SECONDS)


def is_settled(url: str, payment: PaymentPayload, asked: PaymentRequirements) -> bool:
    response = call(url, "/settle", payment, asked)
    return response.status_code == 200 and response.json()["success"]


def test_hung_node_fails_calls_fast_and_the_payment_settles_once(chain: World, tmp_path: Path) -> None:
    asked = demand(1000)
    payment, before = pay(BUYERS[0], asked), chain.balance(SHOP.address)
    with facilitating(chain, tmp_path) as url:
        wait_for(lambda: health(url)["status"] == "ok", SECONDS, "a healthy facilitator")
        assert call(url, "/verify", payment, asked).json()["isValid"]
        with hung(chain.live.process):
            began = time.monotonic()
            refused = call(url, "/settle", payment, asked)
            assert time.monotonic() - began < 2.0 + MARGIN
            assert refused.status_code == 503, refused.text
            assert int(refused.headers["retry-after"]) >= 1
            wait_for(lambda: codes(url) == {"node_unreachable"}, SECONDS, "the reason node_unreachable")
            wait_for(lambda: health(url)["node"]["breaker"] != "closed", SECONDS, "an open breaker")
            # Many calls fail at once and do not occupy the threads that other calls need.
            with ThreadPoolExecutor(16) as pool:
                verified = [pool.submit(call, url, "/verify", payment, asked) for _ in range(64)]
                assert health(url)["status"] == "unhealthy"
                assert {response.result().status_code for response in verified} == {503}
            wait_for(lambda: health(url)["database"]["reachable"], SECONDS, "the database")
        wait_for(lambda: health(url)["status"] == "ok", SECONDS, "a healthy facilitator")
        wait_for(lambda: health(url)["node"]["breaker"] == "closed", SECONDS, "a closed breaker")
        wait_for(lambda: is_settled(url, payment, asked), SECONDS, "a settlement")
        assert chain.balance(SHOP.address) == before + 1000
        assert health(url)["account"]["address"] == FACILITATOR.address


def test_killed_node_is_reported_and_calls_return_503(chain: World, tmp_path: Path) -> None:
    asked = demand(1000)
    payment = pay(BUYERS[1], asked)
    with facilitating(chain, tmp_path) as url:
        wait_for(lambda: health(url)["status"] == "ok", SECONDS, "a healthy facilitator")
        wait_for(lambda: is_settled(url, payment, asked), SECONDS, "a settlement")
        wait_for(lambda: health(url)["settlements"]["open"] == 1, SECONDS, "a settlement that is not final")
        chain.live.stop()
        wait_for(lambda: codes(url) == {"node_unreachable"}, SECONDS, "the reason node_unreachable")
        wait_for(lambda: health(url)["node"]["breaker"] != "closed", SECONDS, "an open breaker")
        for path in ("/verify", "/settle"):
            assert call(url, path, pay(BUYERS[2], asked), asked).status_code == 503
        # The database still answers, and the last balance is still reported.
        wait_for(lambda: health(url)["database"]["reachable"], SECONDS, "the database")
        report = health(url)
        assert (report["database"]["reachable"], report["account"]["status"]) == (True, "ok")
        assert report["settlements"]["open"] == 1


def test_account_without_ether_is_reported_until_it_has_some(chain: World, tmp_path: Path) -> None:
    with facilitating(chain, tmp_path) as url:
        wait_for(lambda: health(url)["status"] == "ok", SECONDS, "a healthy facilitator")
        chain.rpc("anvil_setBalance", FACILITATOR.address, hex(0))
        wait_for(lambda: codes(url) == {"account_empty"}, SECONDS, "the reason account_empty")
        account = health(url)["account"]
        assert (account["status"], account["balance"], account["settlements_left"]) == ("empty", "0", 0)
        chain.rpc("anvil_setBalance", FACILITATOR.address, hex(10**21))
        wait_for(lambda: health(url)["status"] == "ok", SECONDS, "an account with ether")
