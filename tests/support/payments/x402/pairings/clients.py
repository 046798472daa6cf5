"""Buyers by name: httpx and requests with the package x402, @x402/fetch, and ours."""

import asyncio
import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import requests
from eth_account.signers.local import LocalAccount
from x402 import x402Client, x402ClientSync
from x402.http.clients.httpx import x402HttpxClient
from x402.http.clients.requests import x402_requests
from x402.http.utils import decode_payment_response_header
from x402.mechanisms.evm.batch_settlement.client import BatchSettlementEvmScheme
from x402.mechanisms.evm.exact import ExactEvmClientScheme
from x402.mechanisms.evm.upto import UptoEvmClientScheme

from foreseal.payments.ledger import Database, Ledger
from foreseal.payments.x402.buyer import AsyncPayingTransport, Buyer, PayingTransport, Purchases
from foreseal.payments.x402.buyer.reconciliation import totals
from foreseal.payments.x402.buyer.requests_adapter import PayingAdapter
from npm import find_node, install
from payments.x402.buyers import policy
from payments.x402.pairings.prices import CHANNEL, HERE, PRICES
from payments.x402.world import NETWORK


@dataclass(frozen=True)
class Answer:
    """A buyer's response for a URL."""

    status: int
    text: str
    settled: Mapping[str, Any] | None
    """Header PAYMENT-RESPONSE."""


Buying = Callable[[LocalAccount, Sequence[str], Path], list[Answer]]
"""Returns an account's responses for URLs, requested in order, with a folder for its data."""


def stock_httpx(key: LocalAccount, urls: Sequence[str], _: Path) -> list[Answer]:
    """Use the package's client over httpx."""

    async def run() -> list[Answer]:
        async with x402HttpxClient(_schemes(x402Client(), key), timeout=30) as client:
            return [_answer(await client.get(url)) for url in urls]

    return asyncio.run(run())


def stock_requests(key: LocalAccount, urls: Sequence[str], _: Path) -> list[Answer]:
    """Use the package's client over requests."""
    with x402_requests(_schemes(x402ClientSync(), key)) as session:
        return [_answer(session.get(url, timeout=30)) for url in urls]


def typescript(key: LocalAccount, urls: Sequence[str], _: Path) -> list[Answer]:
    """Use @x402/fetch."""
    node = find_node()
    install(HERE)
    environment = {**os.environ, "KEY": "0x" + bytes(key.key).hex(), "URLS": json.dumps(list(urls))}
    run = subprocess.run(
        [node, "fetch.mjs"], cwd=HERE, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    return [Answer(**json.loads(line)) for line in run.stdout.splitlines()]


def our_httpx(key: LocalAccount, urls: Sequence[str], folder: Path) -> list[Answer]:
    """Use ours over httpx."""
    with _ours(key, folder) as buyer, httpx.Client(transport=PayingTransport(buyer), timeout=30) as client:
        return [_answer(client.get(url)) for url in urls]


def our_async_httpx(key: LocalAccount, urls: Sequence[str], folder: Path) -> list[Answer]:
    """Use ours over httpx on an event loop."""

    async def run(buyer: Buyer) -> list[Answer]:
        async with httpx.AsyncClient(transport=AsyncPayingTransport(buyer), timeout=30) as client:
            return [_answer(await client.get(url)) for url in urls]

    with _ours(key, folder) as buyer:
        return asyncio.run(run(buyer))


def our_requests(key: LocalAccount, urls: Sequence[str], folder: Path) -> list[Answer]:
    """Use ours over requests."""
    with _ours(key, folder) as buyer, requests.Session() as session:
        session.mount("http://", PayingAdapter(buyer))
        return [_answer(session.get(url, timeout=30)) for url in urls]


@contextlib.contextmanager
def _ours(key: LocalAccount, folder: Path) -> Iterator[Buyer]:
    """Provide a buyer whose caps equal the sum of the prices; check at the end that all of it is spent."""
    database = Database(f"sqlite:///{folder}/buyer.db")
    highest, deposit = max(price.amount for price in PRICES), 5 * CHANNEL.amount
    whole = sum(price.amount for price in PRICES) + deposit
    try:
        yield Buyer(key, policy(highest, whole, whole, deposit), Purchases(Ledger(database, lambda: 1_700_000_000)))
        [total] = totals(database)
        assert (total.spent, total.reserved) == (sum(price.taken for price in PRICES) + deposit, 0), total
    finally:
        database.close()


def _schemes(client: Any, key: LocalAccount) -> Any:
    # The schemes adapt an account of eth-account, which their annotations do not tell.
    signer: Any = key
    for scheme in (ExactEvmClientScheme(signer), UptoEvmClientScheme(signer), BatchSettlementEvmScheme(signer)):
        client.register(NETWORK, scheme)
    return client


def _answer(response: Any) -> Answer:
    told = response.headers.get("PAYMENT-RESPONSE")
    settled = (
        None if told is None else decode_payment_response_header(told).model_dump(by_alias=True, exclude_none=True)
    )
    return Answer(response.status_code, response.text, settled)


CLIENTS: dict[str, Buying] = {"httpx": stock_httpx, "requests": stock_requests, "fetch": typescript, "ours": our_httpx}
FORMS: dict[str, Buying] = {"our async httpx": our_async_httpx, "our requests": our_requests}
