"""Faults of the node and of the process in real use: the view of an operator in /healthz and /metrics.

The only bounds on time are those of the service, 1 s for /healthz and 3 s for a call to the node, with a margin for a
busy machine.
"""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import select

from altering_proxy import between
from foreseal.payments.api.models import RequestRecord
from foreseal.payments.ledger import Database
from foreseal.ports import next_free_port
from live import LiveNode, live_node
from live.blocks import wait_for
from live.process import hung
from payments.api.serving import BUYERS, MERCHANT, Serving, Shopper, api_key, configure, health, serving, signature

SECONDS = 60.0
# Seconds of a loaded machine, less than the time after which a client gives a call up.
MARGIN = 10.0
POLICY = """[policy]
confirmed = "sealed"
refundable = "confirmed"
"""
ETHER = 10**18


@pytest.fixture
def chain() -> Iterator[LiveNode]:
    """Provide a development chain with payments on which blocks become final soon."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "6", "--finalized-depth", "10") as node:
        yield node


def config_with(folder: Path, node: str, *changes: tuple[str, str]) -> Path:
    """Write a configuration with replaced lines."""
    config = configure(folder, node, f"sqlite:///{folder}/pay.db", more=POLICY)
    text = config.read_text()
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    config.write_text(text)
    return config


def codes(url: str) -> set[str]:
    return {reason["code"] for reason in health(url)["reasons"]}


def metric(url: str, name: str, **labels: str) -> float:
    """Return the sum of the samples with these labels."""
    text = httpx.get(f"{url}/metrics", timeout=SECONDS).text
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and sample.labels.items() >= labels.items()
    )


def test_payee_without_ether_is_reported_until_it_has_some(chain: LiveNode, tmp_path: Path) -> None:
    config = config_with(tmp_path, chain.url)
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
        chain.rpc("anvil_setBalance", MERCHANT.address, hex(0))
        wait_for(lambda: codes(service.url) == {"payee_empty"}, SECONDS, "the reason payee_empty")
        payee = health(service.url)["destinations"][0]["payee"]
        assert (payee["status"], payee["balance"], payee["captures_left"]) == ("empty", "0", 0)
        ids = [shopper.stored(f"o{number}", 1_000 + number, BUYERS[number]) for number in range(3)]
        for id in ids:
            shopper.made(f"/v1/orders/{id}/capture")
        orders = [shopper.get(f"/v1/orders/{id}")["order"] for id in ids]
        assert {order["tx_status"] for order in orders} == {"intended"}
        assert all("insufficient" in order["last_error"].lower() for order in orders)
        assert metric(service.url, "foreseal_pay_rejections_total", reason="insufficient_funds") >= 3
        assert metric(service.url, "foreseal_pay_payee_balance_wei") == 0
        wait_for(lambda: "the node rejected a transaction" in service.printed, SECONDS, "a line of the log")
        chain.rpc("anvil_setBalance", MERCHANT.address, hex(ETHER))
        for id in ids:
            wait_for(
                lambda id=id: shopper.status(id).startswith("Used, captured"),
                SECONDS,
                "a capture",  # type: ignore[misc]
            )
            assert shopper.get(f"/v1/orders/{id}")["order"]["last_error"] is None
        wait_for(lambda: "payee_empty" not in codes(service.url), SECONDS, "a payee with ether")
        assert metric(service.url, "foreseal_pay_payee_captures_left") > 0


def test_hung_node_fails_requests_fast_and_recovers(chain: LiveNode, tmp_path: Path) -> None:
    config = config_with(tmp_path, chain.url)
    with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
        shopper.stored("a", 1_000, BUYERS[0])
        wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
        with hung(chain.process):
            began = time.monotonic()
            refused = shopper.post("/v1/orders/a/capture", key="capture a")
            assert time.monotonic() - began < 3.0 + MARGIN
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "node_unreachable")
            assert int(refused.headers["retry-after"]) >= 1
            wait_for(lambda: codes(service.url) == {"node_unreachable"}, SECONDS, "the reason node_unreachable")
            wait_for(lambda: health(service.url)["node"]["breaker"] != "closed", SECONDS, "an open breaker")
            assert metric(service.url, "foreseal_pay_node_failures_total", kind="timeout") >= 3
            assert metric(service.url, "foreseal_pay_node_breaker_openings_total") >= 1
            assert metric(service.url, "foreseal_pay_node_up") == 0
            # Many requests fail at once and do not occupy the threads that other requests need.
            with ThreadPoolExecutor(16) as pool:
                statuses = [pool.submit(_capture_status, service.url, shopper, number) for number in range(64)]
                assert health(service.url)["status"] == "unhealthy"
                assert {status.result() for status in statuses} == {503}
        wait_for(lambda: health(service.url)["node"]["breaker"] == "closed", SECONDS, "a closed breaker")
        wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
        made = wait_for(lambda: _ok(shopper.post("/v1/orders/a/capture", key="capture a")), SECONDS, "a capture")
        assert len(made["transactions"]) == 1
        wait_for(lambda: shopper.status("a").startswith("Used, captured"), SECONDS, "a capture on the chain")


def _capture_status(url: str, shopper: Shopper, number: int) -> int:
    headers = {"authorization": shopper.client.headers["authorization"], "idempotency-key": f"many {number}"}
    return httpx.post(f"{url}/v1/orders/a/capture", json={}, headers=headers, timeout=SECONDS).status_code


def _ok(response: httpx.Response) -> Any:
    return response.json() if response.status_code == 200 else None


def test_killed_node_is_reported(tmp_path: Path) -> None:
    with live_node("--payments", "--block-time", "1s") as chain:
        config = config_with(tmp_path, chain.url)
        with serving(config, "--log", "error") as service:
            wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
            chain.stop()
            wait_for(lambda: "node_unreachable" in codes(service.url), SECONDS, "the reason node_unreachable")
            wait_for(lambda: "worker_failing" in codes(service.url), SECONDS, "the reason worker_failing")
            assert metric(service.url, "foreseal_pay_node_failures_total", kind="connection") >= 1
            assert metric(service.url, "foreseal_pay_worker_passes_total", outcome="failed") >= 3
            # The database still answers, and the last balance is still reported.
            wait_for(lambda: health(service.url)["database"]["reachable"], SECONDS, "the database")
            report = health(service.url)
            assert (report["database"]["reachable"], report["destinations"][0]["payee"]["status"]) == (True, "ok")


def test_reorganization_under_load_ends_with_final_captures(chain: LiveNode, tmp_path: Path) -> None:
    config = config_with(tmp_path, chain.url)
    with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
        ids = [shopper.stored(f"r{number}", 1_000 + number, BUYERS[number % 7]) for number in range(14)]
        stopping = threading.Event()

        def reorganize() -> int:
            count = 0
            while True:
                chain.rpc("anvil_reorg", 2)
                count += 1
                if stopping.wait(0.5):
                    return count

        with ThreadPoolExecutor(1) as pool:
            reorganizing = pool.submit(reorganize)
            try:
                for number, id in enumerate(ids):
                    wait_for(
                        lambda id=id, number=number: _ok(  # type: ignore[misc]
                            shopper.post(f"/v1/orders/{id}/capture", key=f"capture {number}")
                        ),
                        SECONDS,
                        "a capture",
                    )
            finally:
                stopping.set()
            assert reorganizing.result() >= 1
        for id in ids:
            wait_for(
                lambda id=id: shopper.status(id) == "Used, captured / final",
                SECONDS,
                "a final capture",  # type: ignore[misc]
            )
        assert shopper.get("/v1/balance")["faults"] == []
        wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
        assert metric(service.url, "foreseal_pay_transitions_total", object="order", event="finalize") == len(ids)
        assert metric(service.url, "foreseal_pay_capture_seconds_count") >= len(ids)


def test_killed_service_continues_its_interrupted_request_at_once(chain: LiveNode, tmp_path: Path) -> None:
    listen = ('listen = "127.0.0.1:0"', f'listen = "127.0.0.1:{next_free_port()}"')
    patient = ("poll_ms = 500", "poll_ms = 500\ntimeout_ms = 60000")
    config = config_with(tmp_path, chain.url, listen, ("lease_seconds = 2", "lease_seconds = 3600"), patient)
    key = api_key(config)
    first = Serving(config)
    try:
        with Shopper(first.url, key) as shopper, ThreadPoolExecutor(1) as pool:
            shopper.stored("a", 1_000, BUYERS[0])
            shopper.made("/v1/orders/a/void")
            message = shopper.get("/v1/orders/a/typed-data?purpose=cancel")
            cancellation = {"signature": signature(BUYERS[0], message)}
            with hung(chain.process):
                waiting = pool.submit(shopper.post, "/v1/orders/a/cancel", cancellation, "cancel a")
                wait_for(lambda: _is_claimed(tmp_path / "pay.db"), SECONDS, "a request that waits for the node")
                assert not waiting.done()
                os.kill(first.process.pid, signal.SIGKILL)
                assert isinstance(waiting.exception(), httpx.TransportError)
            second = Serving(config)
            try:
                answers = [shopper.post("/v1/orders/a/cancel", cancellation, "cancel a") for _ in range(2)]
                assert [answer.status_code for answer in answers] == [200, 200]
                # A third process with the same name does not start while the second one lives.
                with pytest.raises(RuntimeError, match="another process with the name"):
                    Serving(config)
            finally:
                second.kill()
    finally:
        first.kill()


def _is_claimed(path: Path) -> bool:
    """Return True once the request with the key `cancel a` has begun."""
    database = Database(f"sqlite:///{path}")
    try:
        with database.reading() as tx:
            return tx.execute(select(RequestRecord.key).where(RequestRecord.key == "cancel a")).first() is not None
    finally:
        database.close()


def test_slow_node_delays_requests_and_fails_none(chain: LiveNode, tmp_path: Path) -> None:
    slow = threading.Event()

    def delay(call: dict[str, Any], answer: dict[str, Any]) -> Any:
        slow.wait(1.0)  # never set: the node takes a second
        return answer

    with between(chain.url, {"eth_estimateGas": delay, "eth_chainId": delay}) as url:
        # The proxy is in this process, which a busy machine may delay as well.
        config = config_with(tmp_path, url, ("poll_ms = 500", "poll_ms = 500\ntimeout_ms = 30000"))
        with serving(config, "--log", "error") as service, Shopper(service.url, api_key(config)) as shopper:
            shopper.made(f"/v1/orders/{shopper.stored('a', 1_000, BUYERS[0])}/capture")
            wait_for(lambda: health(service.url)["status"] == "ok", SECONDS, "a healthy service")
            assert health(service.url)["node"]["breaker"] == "closed"
            assert metric(service.url, "foreseal_pay_node_failures_total") == 0
            route = {"route": "/v1/orders/{id}/capture", "status": "200"}
            assert metric(service.url, "foreseal_pay_request_seconds_sum", **route) >= 1.0
            wait_for(lambda: shopper.status("a").startswith("Used, captured"), SECONDS, "a capture")
