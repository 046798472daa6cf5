"""The Python examples of docs/merchants/client.md, executed in order against a running service."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest

from distribution.pages import blocks
from foreseal.merchant import (
    AccessDenied,
    AsyncMerchantClient,
    MerchantClient,
    PaymentAuthorization,
    RequestUnprocessable,
    TokenDomain,
)
from foreseal.payments.contracts.development import NAME, TOKEN, VERSION
from live import LiveNode, live_node
from live.accounts import key_of
from live.blocks import wait_for
from payments.api.serving import BUYERS, MERCHANT, Serving, api_key, configure, serving, signature
from repository import DOCS

PAGE = DOCS / "merchants" / "client.md"
SECONDS = 60.0
VALID_BEFORE = 1 << 40


@pytest.fixture(scope="module")
def chain() -> Iterator[LiveNode]:
    """Provide a development chain with payments."""
    with live_node("--payments") as node:
        yield node


@pytest.fixture
def config(chain: LiveNode, tmp_path: Path) -> Path:
    return configure(tmp_path, chain.url, f"sqlite:///{tmp_path}/pay.db")


@pytest.fixture
def service(config: Path) -> Iterator[Serving]:
    with serving(config) as one:
        yield one


class LostResponses(httpx.HTTPTransport):
    """A network that loses the response of every first request."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent += 1
        response = super().handle_request(request)
        if self.sent % 2:
            response.read()
            response.close()
            raise httpx.ReadError("lost", request=request)
        return response


def test_examples_of_the_guide_work(service: Serving, config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {
        "url": service.url,
        "api_key": api_key(config),
        "buyer": BUYERS[0].address,
        "payee": MERCHANT.address,
        "token": TOKEN,
        "sign": lambda typed_data: signature(BUYERS[0], typed_data),
    }
    examples = [block.text for block in blocks(PAGE) if block.language == "python"]
    assert len(examples) >= 4
    for example in examples:
        exec(compile(example, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "Stored, unused 12.34 USDC"
    assert "Stored, unused intended" in printed
    assert "not_found id" in printed
    assert "['9', '8', '7']" in printed


def test_lost_responses_store_each_payment_once(service: Serving, config: Path) -> None:
    network = LostResponses()
    with MerchantClient(service.url, api_key(config), sleep=lambda _: None, transport=network) as client:
        token = TokenDomain(TOKEN, 31337, NAME, VERSION)
        for number in range(3):
            terms = PaymentAuthorization(token, BUYERS[1].address, MERCHANT.address, 100 + number, VALID_BEFORE)
            signed = terms.payment(signature(BUYERS[1], terms.typed_data()))
            client.create_payment(**signed, id=f"lost {number}", capture=True)
        assert network.sent == 6
        stored = [order["id"] for order in client.iter_orders(payer=BUYERS[1].address, limit=1)]
        assert stored == ["lost 2", "lost 1", "lost 0"]
        wait_for(
            lambda: client.get_order("lost 0")["order"]["state"] == "Used, captured",
            SECONDS,
            "the capture of a payment",
        )
        assert "captured,0x" in "".join(client.export_csv())


def test_asyncio_client_pays_and_reports_errors(service: Serving, config: Path) -> None:
    async def run() -> None:
        async with AsyncMerchantClient(service.url, api_key(config)) as client:
            made = await client.create_order(payer=BUYERS[2].address, amount="5", id="a")
            signed = signature(BUYERS[2], made["typed_data"])
            with pytest.raises(RequestUnprocessable) as raised:
                await client.submit_order_signature("a", signature=signed[:-4] + "001b")
            assert raised.value.code == "invalid_signature"
            await client.submit_order_signature("a", signature=signed)
            assert [order["id"] async for order in client.iter_orders(state="Stored, unused")] == ["a"]
            assert (await client.get_health())["node"]["reachable"]
        async with AsyncMerchantClient(service.url, api_key(config, "reader")) as client:
            with pytest.raises(AccessDenied, match="insufficient_role"):
                await client.void_order("a")

    asyncio.run(run())


def test_key_of_the_merchant_is_in_no_response(service: Serving, config: Path) -> None:
    with MerchantClient(service.url, api_key(config)) as client:
        shown = orjson.dumps([client.get_health(), client.get_balance()]).decode()
    assert key_of(MERCHANT) not in shown
