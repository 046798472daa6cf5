"""The service in real use: `foreseal pay serve` with `foreseal dev --payments`, also as two processes."""

import http.server
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from jsonschema import Draft202012Validator

from foreseal.payments.api.webhook_signature import verify
from foreseal.payments.contracts.development import PAYOUTS, TOKEN
from foreseal.ports import next_free_port
from http_thread import running_server
from live import LiveNode, live_node
from live.blocks import wait_for
from live.sending import Sender
from payments.api.serving import BUYERS, MERCHANT, Serving, Shopper, api_key, configure, health, serving, signature
from reconcile.campaign import Campaign, Summary
from reconcile.scan import scan

SECONDS = 60.0
HOOK_SECRET = "whsec_" + "A" * 43 + "="
POLICY = """[policy]
confirmed = "sealed"
"""


@pytest.fixture(scope="module")
def chain() -> Iterator[LiveNode]:
    """Provide a development chain with payments on which blocks become final soon."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as node:
        yield node


class Hooks(http.server.ThreadingHTTPServer):
    """A target of webhooks."""

    def __init__(self) -> None:
        self.got: list[tuple[dict[str, str], bytes]] = []
        got = self.got

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                got.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(204)
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def hooks() -> Iterator[Hooks]:
    target = Hooks()
    with running_server(target):
        yield target


def test_an_order_is_paid_notified_and_refunded(chain: LiveNode, tmp_path: Path, hooks: Hooks) -> None:
    secret = tmp_path / "hook.secret"
    secret.write_text(HOOK_SECRET)
    secret.chmod(0o600)
    target = (
        f'[[webhooks]]\nurl = "http://127.0.0.1:{hooks.server_port}/"\nsecret_file = "{secret}"\nallow_private = true\n'
    )
    config = configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db", more=POLICY + target)
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        shopper.made(f"/v1/orders/{shopper.stored('a', 1_500_000, BUYERS[0])}/capture")
        wait_for(lambda: shopper.status("a") == "Used, captured / final", SECONDS, "a final capture")
        shopper.made("/v1/orders/a/refunds", {"amount": "500000", "id": "r"})
        wait_for(lambda: shopper.get("/v1/refunds/r")["refund"]["finality"] == "final", SECONDS, "a final refund")
        moved = scan(chain.rpc, MERCHANT.address)
        assert (1_500_000 in moved.received.values(), 500_000 in moved.sent.values()) == (True, True)

        told = len(shopper.get("/v1/orders/a/timeline")["items"]) + len(shopper.get("/v1/refunds/r/timeline")["items"])
        wait_for(lambda: len(hooks.got) >= told, SECONDS, "all webhooks")
        for headers, body in hooks.got:
            verify(HOOK_SECRET, headers, body, orjson.loads(body)["created"], tolerance=SECONDS)
        events = [orjson.loads(body) for _, body in hooks.got]
        ids = [int(event["id"].removeprefix("evt_")) for event in events if event["type"].startswith("order.")]
        assert ids == sorted(set(ids))

        response = httpx.get(f"{service.url}/healthz", timeout=SECONDS)
        assert (response.status_code, response.json()["worker"]["synced"]) == (200, True)
        document = httpx.get(f"{service.url}/v1/openapi.json", timeout=SECONDS).json()
        schema = {"$ref": "#/components/schemas/Health", "components": document["components"]}
        Draft202012Validator(schema).validate(response.json())


def test_order_with_a_maximum_is_captured_and_paid_out(chain: LiveNode, tmp_path: Path) -> None:
    config = configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db", more=POLICY)
    # approve(PAYOUTS, 1000), before the service uses the key.
    approval = "0x095ea7b3" + PAYOUTS[2:].lower().rjust(64, "0") + f"{1_000:064x}"
    Sender(chain.rpc, MERCHANT).send(to=TOKEN, data=approval, gas=100_000)
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        body = {"id": "m", "payer": BUYERS[1].address, "maximum": "900000", "valid_seconds": 600}
        made = shopper.made("/v1/orders", body)
        assert made["order"]["checkout"] is not None
        shopper.made("/v1/orders/m/signature", {"signature": signature(BUYERS[1], made["typed_data"])})
        refused = shopper.post("/v1/orders/m/capture", {"amount": "900001"})
        assert (refused.status_code, refused.json()["error"]["argument"]) == (400, "amount")
        shopper.made("/v1/orders/m/capture", {"amount": "345678"})
        wait_for(lambda: shopper.status("m").startswith("Used, captured"), SECONDS, "a capture")
        assert shopper.get("/v1/orders/m")["order"]["payment"]["amount"] == "345678"
        legs = [{"recipient": BUYERS[2].address, "amount": "600"}, {"recipient": BUYERS[3].address, "amount": "400"}]
        paid = shopper.made("/v1/payouts", {"recipients": legs})["payout"]["id"]
        wait_for(lambda: shopper.get(f"/v1/payouts/{paid}")["payout"]["finality"] == "final", SECONDS, "a payout")
        rows = [row for row in shopper.client.get("/v1/export.csv").text.splitlines() if row.startswith("paid_out")]
        moved = scan(chain.rpc, MERCHANT.address).sent
        for row, amount in zip(rows, (600, 400), strict=True):
            assert moved[row.split(",")[1], int(row.split(",")[2])] == amount


def test_order_with_a_maximum_is_paid_by_the_wallet_that_signs(chain: LiveNode, tmp_path: Path) -> None:
    config = configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db", more=POLICY)
    with serving(config) as service, Shopper(service.url, api_key(config)) as shopper:
        made = shopper.made("/v1/orders", {"id": "m", "maximum": "900000", "valid_seconds": 600})
        assert (made["order"]["payer"], made["payer_required"]) == (None, True)
        assert list(made["typed_data"]["message"]) == ["spender", "value", "deadline"]
        buyer = BUYERS[4]
        typed = shopper.get(f"/v1/orders/m/typed-data?payer={buyer.address}")
        assert typed["message"].items() > made["typed_data"]["message"].items()
        given = {"signature": signature(buyer, typed), "payer": buyer.address}
        assert shopper.made("/v1/orders/m/signature", given)["order"]["payer"] == buyer.address
        shopper.made("/v1/orders/m/capture", {"amount": "345678"})
        wait_for(lambda: shopper.status("m").startswith("Used, captured"), SECONDS, "a capture")
        paid = shopper.get("/v1/orders/m")["order"]["payment"]
        assert (paid["sender"], paid["amount"]) == (buyer.address, "345678")


def test_service_without_a_node_reports_unready(tmp_path: Path) -> None:
    config = configure(tmp_path, f"http://127.0.0.1:{next_free_port()}", f"sqlite:///{tmp_path}/pay.db")
    with serving(config, "--log", "error") as service:
        response = httpx.get(f"{service.url}/healthz", timeout=SECONDS)
        assert (response.status_code, response.json()["status"]) == (503, "unhealthy")
        (reason,) = response.json()["reasons"]
        assert reason["code"] == "node_unreachable"
        assert "ConnectError" in reason["message"]
        with Shopper(service.url, api_key(config, "cashier")) as shopper:
            refused = shopper.post("/v1/orders", {"payer": BUYERS[0].address, "amount": "1"})
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "node_unreachable")


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_orders_of_two_processes_survive_the_death_of_one(
    chain: LiveNode, tmp_path: Path, request: pytest.FixtureRequest, backend: str
) -> None:
    url = f"sqlite:///{tmp_path}/pay.db" if backend == "sqlite" else request.getfixturevalue("emptied")
    config = configure(tmp_path, chain.url, url, more=POLICY)
    key = api_key(config)
    first, second = Serving(config), Serving(config)
    try:
        count = 12
        with Shopper(first.url, key, "draft ") as shopper:
            typed = {}
            for number in range(count):
                body = {"id": f"o{number}", "payer": BUYERS[number % 7].address, "amount": str(1_000 + number)}
                typed[number] = shopper.made("/v1/orders", body)["typed_data"]

        def settle(number: int, url: str) -> tuple[int, int]:
            """Sign and capture through one process, with idempotency keys that the other process receives as well."""
            signed = {"signature": signature(BUYERS[number % 7], typed[number])}
            with Shopper(url, key) as shopper:
                return (
                    _until_done(shopper, f"/v1/orders/o{number}/signature", signed, f"sign {number}"),
                    _until_done(shopper, f"/v1/orders/o{number}/capture", None, f"capture {number}"),
                )

        with ThreadPoolExecutor(8) as pool:
            both = [pool.submit(settle, number, process.url) for number in range(count) for process in (first, second)]
            # One process dies during a capture; the other one resumes its work.
            wait_for(lambda: sum(each.done() for each in both) > count // 2, SECONDS, "some captures")
            first.kill()
            answers = [each.exception() or each.result() for each in both]
        assert {each for each in answers if isinstance(each, tuple)} == {(200, 200)}
        with Shopper(second.url, key, "end ") as shopper:
            for number in range(count):
                signed = {"signature": signature(BUYERS[number % 7], typed[number])}
                _until_done(shopper, f"/v1/orders/o{number}/signature", signed, f"sign {number}")
                _until_done(shopper, f"/v1/orders/o{number}/capture", None, f"capture {number}")
                wait_for(
                    lambda id=f"o{number}": shopper.status(id) == "Used, captured / final", SECONDS, "a final capture"
                )
                assert len(shopper.get(f"/v1/orders/o{number}")["transactions"]) == 1
            assert shopper.get("/v1/balance")["faults"] == []
            rows = shopper.client.get("/v1/export.csv").text.splitlines()
            assert sum(row.startswith("captured,") for row in rows) == count
            # A process that was suspended for longer than its lease is counted again with its next heartbeat.
            wait_for(lambda: health(second.url)["processes"] == 1, SECONDS, "one process")
        assert second.stop() == 0, second.printed
    finally:
        first.kill()
        second.kill()


def _until_done(shopper: Shopper, path: str, body: Any, key: str) -> int:
    """Repeat a request with one key until there is a response: another process works on it, or did."""

    def attempt() -> httpx.Response | None:
        response = shopper.post(path, body, key)
        busy = response.status_code == 503 or (
            response.status_code == 409 and response.json()["error"]["code"] == "in_progress"
        )
        return None if busy else response

    response = wait_for(attempt, SECONDS, f"an answer to {key}")
    assert response.status_code == 200, response.text
    return response.status_code


def test_export_matches_the_chain(tmp_path: Path) -> None:
    """The short form of `make reconcile`."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as node:
        policy = POLICY + 'refundable = "confirmed"\n'
        config = configure(tmp_path, node.url, f"sqlite:///{tmp_path}/pay.db", more=policy)
        summary = Summary(40, "SQLite")
        with serving(config) as service:
            Campaign(node, service, api_key(config), summary).run()
    assert summary.faults == []
    assert summary.exported["captured"] + summary.exported["unmatched"] == summary.on_chain["received"] > 0
    assert summary.exported["refunded"] == summary.on_chain["sent"] > 0
    assert summary.rows == 40 - 2 + 4
