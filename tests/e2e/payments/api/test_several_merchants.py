"""Two merchants in one process of `foreseal pay serve`, with a real node, on SQLite and on PostgreSQL."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from command import foreseal
from foreseal.merchant import AccessDenied, AsyncMerchantClient, MerchantClient
from foreseal.ports import next_free_port
from live import LiveNode, live_node
from live.accounts import DEV_ACCOUNTS
from live.blocks import wait_for
from live.process import hung, stopping
from payments.api.serving import BUYERS, MERCHANT, HostedServing, Shopper, api_key, configure, signature
from payments.postgresql import named_database
from payments.webhook_receiver import WebhookReceiver
from reconcile.scan import scan

SECONDS = 60.0
PAYEES = {"books": MERCHANT, "games": DEV_ACCOUNTS[2]}
AMOUNTS = {"books": 1_000, "games": 2_000}
POLICY = '[policy]\nconfirmed = "sealed"\n'
ORDERS = 8


@pytest.fixture
def chain() -> Iterator[LiveNode]:
    """Provide a development chain with payments on which blocks become final soon."""
    with live_node("--payments", "--block-time", "1s", "--safe-depth", "2", "--finalized-depth", "4") as node:
        yield node


class Merchants:
    """Configuration files of two merchants, with an address that a restart has again."""

    def __init__(self, folder: Path, nodes: dict[str, str], urls: dict[str, str], more: dict[str, str]) -> None:
        self.files: dict[str, Path] = {}
        port = next_free_port()
        for name, payee in PAYEES.items():
            (folder / name).mkdir()
            sections = f'{POLICY}[merchant]\nname = "{name}"\n{more.get(name, "")}'
            file = configure(folder / name, nodes[name], urls[name], more=sections, payee=payee)
            file.write_text(file.read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}"))
            self.files[name] = file
        self.keys = {name: api_key(file) for name, file in self.files.items()}

    def serving(self) -> HostedServing:
        return HostedServing(*self.files.values())

    def shopper(self, service: HostedServing, name: str, prefix: str = "") -> Shopper:
        return Shopper(f"{service.url}/{name}", self.keys[name], prefix)


def merchants(folder: Path, node: str, backend: str, request: pytest.FixtureRequest) -> Merchants:
    urls = {name: f"sqlite:///{folder}/{name}.db" for name in PAYEES}
    if backend == "postgresql":
        first = request.getfixturevalue("emptied")
        urls = {"books": first, "games": named_database(first, "other")}
    return Merchants(folder, dict.fromkeys(PAYEES, node), urls, {})


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
def test_payments_of_two_merchants_survive_a_kill(
    chain: LiveNode, tmp_path: Path, request: pytest.FixtureRequest, backend: str
) -> None:
    both = merchants(tmp_path, chain.url, backend, request)
    killed = both.serving()
    try:
        for name in PAYEES:
            assert f"  {name} at {killed.url}/{name}" in killed.printed
            with both.shopper(killed, name) as shopper:
                for number in range(ORDERS):
                    # Both merchants use the same ids and Idempotency-Keys.
                    shopper.stored(f"o{number}", AMOUNTS[name] + number, BUYERS[number % 7])
        for name in PAYEES:
            with both.shopper(killed, name, "capture ") as shopper:
                for number in range(ORDERS // 2):
                    shopper.made(f"/v1/orders/o{number}/capture")
    finally:
        killed.kill()
    with stopping(both.serving()) as service:  # SIGTERM stops it, and it must exit with 0
        for name in PAYEES:
            with both.shopper(service, name, "late ") as shopper:
                for number in range(ORDERS // 2, ORDERS):
                    shopper.made(f"/v1/orders/o{number}/capture")
        for name, payee in PAYEES.items():
            with both.shopper(service, name, "check ") as shopper:
                for number in range(ORDERS):
                    wait_for(
                        lambda number=number, shopper=shopper: (  # type: ignore[misc]
                            shopper.status(f"o{number}") == "Used, captured / final"
                        ),
                        SECONDS,
                        "a final capture",
                    )
                expected = [AMOUNTS[name] + number for number in range(ORDERS)]
                assert sorted(scan(chain.rpc, payee.address).received.values()) == expected
                assert shopper.get("/v1/balance")["faults"] == []
                assert {order["payee"] for order in shopper.get("/v1/orders")["items"]} == {payee.address}
        with httpx.Client(timeout=SECONDS) as client:
            assert statuses(client, service.url) == dict.fromkeys(PAYEES, "ok")


def test_client_library_works_below_the_path_of_a_merchant(chain: LiveNode, tmp_path: Path) -> None:
    urls = {name: f"sqlite:///{tmp_path}/{name}.db" for name in PAYEES}
    both = Merchants(tmp_path, dict.fromkeys(PAYEES, chain.url), urls, {})

    async def listed(url: str, key: str) -> list[str]:
        async with AsyncMerchantClient(url, key) as client:
            return [order["id"] async for order in client.iter_orders(limit=1)]

    with stopping(both.serving()) as service:
        for name in PAYEES:
            with MerchantClient(f"{service.url}/{name}/", both.keys[name]) as client:
                made = client.create_order(payer=BUYERS[0].address, amount="5", id=f"of {name}")
                client.submit_order_signature(f"of {name}", signature=signature(BUYERS[0], made["typed_data"]))
                assert client.get_health()["destinations"][0]["payee"]["address"] == PAYEES[name].address
                assert "captured" not in "".join(client.export_csv())
            assert asyncio.run(listed(f"{service.url}/{name}", both.keys[name])) == [f"of {name}"]
        with (
            MerchantClient(f"{service.url}/games", both.keys["books"]) as client,
            pytest.raises(AccessDenied, match="invalid_api_key"),
        ):
            client.get_order("of games")


def statuses(client: httpx.Client, url: str) -> dict[str, str]:
    """Return the status of each merchant, of which one may hang."""
    response = client.get(f"{url}/healthz")
    by_merchant = {name: str(each["status"]) for name, each in response.json()["merchants"].items()}
    assert response.json()["status"] == ("unhealthy" if "unhealthy" in by_merchant.values() else "ok")
    assert response.status_code == 200
    return by_merchant


def webhook(folder: Path, name: str, receiver: WebhookReceiver) -> str:
    secret = folder / f"{name}.secret"
    secret.write_text("whsec_" + "A" * 43 + "=")
    secret.chmod(0o600)
    return f'[[webhooks]]\nurl = "{receiver.url}"\nsecret_file = "{secret}"\nallow_private = true\n'


def test_hung_node_and_target_of_one_merchant_do_not_delay_another(chain: LiveNode, tmp_path: Path) -> None:
    async def never(_: Any) -> int:
        await asyncio.sleep(SECONDS * 10)
        return 204

    load = 100
    with live_node("--payments") as other_chain, WebhookReceiver(never) as silent, WebhookReceiver() as target:
        nodes = {"books": other_chain.url, "games": chain.url}
        urls = {name: f"sqlite:///{tmp_path}/{name}.db" for name in PAYEES}
        more = {"books": webhook(tmp_path, "books", silent), "games": webhook(tmp_path, "games", target)}
        both = Merchants(tmp_path, nodes, urls, more)
        # Each request waits for its own time-out.
        text = both.files["books"].read_text()
        both.files["books"].write_text(
            text.replace("poll_ms = 500", "poll_ms = 500\nbreaker_failures = 1000\ntimeout_ms = 10000")
        )
        with (
            stopping(both.serving()) as service,
            both.shopper(service, "games") as games,
            both.shopper(service, "books") as books,
        ):
            books.stored("before", 5, BUYERS[0])
            games.stored("warm", 5, BUYERS[0])
            with hung(other_chain.process), ThreadPoolExecutor(load) as pool, httpx.Client(timeout=SECONDS) as client:
                headers = {"authorization": f"Bearer {both.keys['books']}"}

                def post(number: int) -> int:
                    body = {"payer": BUYERS[0].address, "amount": "5"}
                    sent = {**headers, "idempotency-key": f"load {number}"}
                    return client.post(f"{service.url}/books/v1/orders", json=body, headers=sent).status_code

                pending = [pool.submit(post, number) for number in range(load)]
                slowest = 0.0
                for number in range(10):
                    began = time.monotonic()
                    games.made(f"/v1/orders/{games.stored(f'o{number}', 10 + number, BUYERS[1])}/capture")
                    slowest = max(slowest, time.monotonic() - began)
                    wait_for(
                        lambda number=number: games.status(f"o{number}").startswith("Used, captured"),  # type: ignore[misc]
                        SECONDS,
                        "a capture while another node hangs",
                    )
                # Requests of books wait for node.timeout_ms (10 s); three requests of games wait for none of them.
                assert slowest < 10.0
                assert not all(each.done() for each in pending)
                wait_for(lambda: "order.captured" in target.of("o9"), SECONDS, "webhooks of games")
                expected = {"books": "unhealthy", "games": "ok"}
                wait_for(lambda: statuses(client, service.url) == expected, SECONDS, "the health of each merchant")
                assert {each.result() for each in pending} == {503}
            books.made("/v1/orders/before/capture", key="after")
            wait_for(lambda: books.status("before").startswith("Used, captured"), SECONDS, "a capture after the hang")


def test_merchants_with_one_payee_do_not_start(tmp_path: Path) -> None:
    files = []
    for name in PAYEES:
        (tmp_path / name).mkdir()
        more = f'[merchant]\nname = "{name}"\n'
        files.append(configure(tmp_path / name, "http://127.0.0.1:1", f"sqlite:///{tmp_path}/{name}.db", more=more))
    ended = foreseal("pay", "serve", "--config", files[0], "--config", files[1])
    assert ended.returncode == 2
    assert f"{files[0]} and {files[1]}: the payee is {MERCHANT.address} on chain 31337 in both" in ended.stderr
