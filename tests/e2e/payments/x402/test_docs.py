"""The examples of docs/merchants/x402.md work unchanged: facilitator, shop and claim."""

import asyncio
import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from x402.http.clients.httpx import x402AsyncTransport
from x402.mechanisms.evm.batch_settlement.client import BatchSettlementEvmScheme

from foreseal.cli.main import run
from foreseal.payments.configuration import read
from live.process import Served, foreseal_command, stopping
from payments.x402.paying import stock_client
from payments.x402.selling import settlement
from payments.x402.world import BUYERS, FACILITATOR, NETWORK, World
from repository import DOCS

PAGE = (DOCS / "merchants" / "x402.md").read_text()
PAYEE = "0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC"
BUYER = BUYERS[18]


ROUTE, DEPENDENCY, GUARD, SHOP, CLAIM = range(5)
"""Numbers of the examples in Python."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


class Facilitating(Served):
    """A running `foreseal pay facilitator`."""

    READY = "/supported"


@pytest.fixture(scope="module")
def facilitator_url(node_of_x402: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Provide the URL of a `foreseal pay facilitator` configured by the file of the page."""
    world, folder = node_of_x402, tmp_path_factory.mktemp("facilitator")
    text = blocks("toml")[0].replace("http://127.0.0.1:8545", world.url)
    text = text.replace("sqlite:///", f"sqlite:///{folder}/") + 'listen = "127.0.0.1:0"\n'
    (folder / "pay.toml").write_text(text)
    os.environ["FACILITATOR_KEY"] = "0x" + bytes(FACILITATOR.key).hex()
    try:
        running = Facilitating([foreseal_command(), "pay", "facilitator", "--config", str(folder / "pay.toml")])
    finally:
        del os.environ["FACILITATOR_KEY"]
    with stopping(running):
        yield running.url


def example(number: int, world: World, facilitator_url: str, folder: Path) -> str:
    """Return an example that uses the node and the facilitator of the tests."""
    code = blocks("python")[number].replace("http://127.0.0.1:8545", world.url)
    return code.replace("http://127.0.0.1:8602", facilitator_url).replace("sqlite:///", f"sqlite:///{folder}/")


def test_paid_routes_of_the_page_sell(world: World, tmp_path: Path, facilitator_url: str) -> None:
    shown: dict[str, Any] = {"__name__": __name__}
    for number in (ROUTE, DEPENDENCY, GUARD):
        exec(example(number, world, facilitator_url, tmp_path), shown)
    before = world.balance(PAYEE)

    async def buying() -> list[httpx.Response]:
        responses = []
        for app, path in (("app", "/report/may"), ("app", "/tokens?count=3"), ("paid_app", "/report/june")):
            transport = x402AsyncTransport(stock_client(BUYER), httpx.ASGITransport(shown[app]))
            async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
                responses.append(await client.get(path))
        await shown["api"].close()
        return responses

    responses = asyncio.run(buying())
    assert [answer.status_code for answer in responses] == [200, 200, 200], [answer.text for answer in responses]
    contents = [{"report": "may"}, {"payer": BUYER.address, "tokens": 3}, {"report": "june"}]
    assert [answer.json() for answer in responses] == contents
    assert [settlement(answer).success for answer in responses] == [True, True, True]
    assert world.balance(PAYEE) == before + 10_000 + 30 + 10_000


def test_paid_route_of_the_page_has_twelve_lines() -> None:
    assert len([line for line in blocks("python")[ROUTE].splitlines() if line.strip()]) <= 12


def test_shop_of_the_page_sells(world: World, tmp_path: Path, facilitator_url: str) -> None:
    shown: dict[str, Any] = {"__name__": __name__}
    exec(example(SHOP, world, facilitator_url, tmp_path), shown)
    world.opened.append(shown["seller"].ledger.database)
    before = world.balance(PAYEE)

    async def buying() -> list[httpx.Response]:
        stock = stock_client(BUYER).register(NETWORK, BatchSettlementEvmScheme(Account.from_key(BUYER.key)))
        transport = x402AsyncTransport(stock, httpx.ASGITransport(shown["app"]))
        async with httpx.AsyncClient(transport=transport, base_url="http://shop.test") as client:
            responses = [await client.get(path) for path in ("/report/may", "/words?count=3", "/tick", "/tick")]
        exec(blocks("python")[CLAIM], shown)
        await shown["manager"].claim_and_settle()
        await shown["seller"].facilitator.aclose()
        return responses

    responses = asyncio.run(buying())
    assert [answer.status_code for answer in responses] == [200] * 4, [answer.text for answer in responses]
    assert responses[0].json() == {"for": BUYER.address}
    assert responses[1].json() == ["word"] * 3
    assert settlement(responses[1]).amount == "30"
    assert world.balance(PAYEE) == before + 1000 + 30 + 200
    key = settlement(responses[0]).transaction
    assert world.receipt(key)["status"] == "0x1"
    shown["seller"].node._client.close()


def test_every_status_of_the_page_exists(facilitator_url: str) -> None:
    nonce = "0x" + "ab" * 32
    id = f"84532-{'0x036CbD53842c5426634e7929541eC2318f3dCF7e'.lower()}-{BUYER.address.lower()}-{nonce}"
    status = httpx.get(f"{facilitator_url}/status/{id}", params={"deadline": 1}).json()
    assert (status["payment"], status["status"], status["neverSettled"]) in [
        (id, "unsettled", True),
        (id, "open", False),  # no block is final yet
    ]
    assert httpx.get(f"{facilitator_url}/status/{id}", params={"deadline": "x"}).status_code == 400
    other = id.replace("84532", "1")
    assert "got eip155:1" in httpx.get(f"{facilitator_url}/status/{other}").json()["error"]
    kinds = httpx.get(f"{facilitator_url}/supported").json()
    assert {kind["scheme"] for kind in kinds["kinds"]} == {"exact", "upto", "batch-settlement"}
    assert kinds["extensions"] == ["eip2612GasSponsoring"]


def test_configuration_file_of_the_page_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "pay.toml"
    path.write_text(blocks("toml")[0])
    configuration = read(path)
    assert configuration.facilitator is not None
    assert configuration.facilitator.listen == ("127.0.0.1", 8602)
    assert tomllib.loads(blocks("toml")[0])["node"]["chain_id"] == 84532


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the section [facilitator] is missing"),
        ("[facilitator]\n", "facilitator: set either a file or an environment variable"),
        ('[facilitator]\nkey_env = "NOT_THERE"\n', "NOT_THERE"),
        ('[facilitator]\nkey_env = "NOT_THERE"\ntokens = "0x12"\n', "facilitator.tokens: '0x12' must be a list"),
        ('[facilitator]\nkey_env = "NOT_THERE"\npayees = ["0x12"]\n', "'0x12' is not an address"),
    ],
)
def test_an_incomplete_file_is_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "pay.toml"
    start = blocks("toml")[0].split("[facilitator]")[0].replace("sqlite:///", f"sqlite:///{tmp_path}/")
    path.write_text(start + text)
    with pytest.raises(SystemExit) as ended:
        run(["pay", "facilitator", "--config", str(path)])
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
