"""Two seller processes on one database, eight buyers, eight copies of each payment at once."""

import asyncio
import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
from x402.http.utils import decode_payment_required_header
from x402.schemas import PaymentPayload, PaymentRequired

from foreseal.payments.x402.payment_key import granted
from payments.x402.paying import stock_client
from payments.x402.selling import settlement, signed
from payments.x402.world import BUYERS, FACILITATOR, SHOP, World
from repository import PYTHONPATH

COPIES = 8
PATHS = {"/report": 1000, "/permit2": 1000, "/upto": 400}
"""Paths and their final prices."""


@contextlib.contextmanager
def shops(world: World, url: str, runs: Path) -> Iterator[list[str]]:
    """Provide the URLs of two processes of one seller."""
    command = [sys.executable, "-m", "payments.x402.shop_process", world.url, url, "here", str(runs)]
    environment = os.environ | {"PYTHONPATH": PYTHONPATH}
    with contextlib.ExitStack() as ending:
        started = []
        for _ in range(2):
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
            started.append(ending.enter_context(process))
            ending.callback(process.kill)
        urls = []
        for process in started:
            assert process.stdout is not None
            urls.append(process.stdout.readline().decode().strip())
        assert all(urls)
        yield urls


async def crowd(urls: list[str]) -> list[tuple[str, list[httpx.Response]]]:
    """Send one payment of each of eight buyers eight times at once, to both processes.

    Returns payments and the responses to their copies.
    """
    async with httpx.AsyncClient(timeout=60, limits=httpx.Limits(max_connections=128)) as client:

        async def buying(buyer: int) -> tuple[str, list[httpx.Response]]:
            path = list(PATHS)[buyer % len(PATHS)]
            required = await client.get(urls[0] + path)
            demanded = decode_payment_required_header(required.headers["payment-required"])
            assert isinstance(demanded, PaymentRequired)
            # Each process has its own address; a buyer would see one address of a proxy.
            demanded = demanded.model_copy(update={"resource": None})
            payment = await stock_client(BUYERS[buyer]).create_payment_payload(demanded)
            assert isinstance(payment, PaymentPayload)

            async def copy(number: int) -> httpx.Response:
                # A client with a retry response repeats its request until it gets the response.
                end = time.monotonic() + 60
                while True:
                    answer = await client.get(urls[number % 2] + path, headers=signed(payment))
                    if answer.status_code == 200:
                        return answer
                    assert (answer.status_code, answer.headers["retry-after"]) == (409, "1"), answer.text
                    assert time.monotonic() < end, "there never was an answer"
                    await asyncio.sleep(1)

            return granted(payment).key.name, list(await asyncio.gather(*map(copy, range(COPIES))))

        return list(await asyncio.gather(*map(buying, range(8))))


def test_concurrent_copies_of_a_payment_settle_once(world: World, url: str, tmp_path: Path) -> None:
    runs, start, before = tmp_path / "runs", world.pending, world.balance(SHOP.address)
    sent = world.sent_by(FACILITATOR.address)
    with shops(world, url, runs) as urls:
        purchases = asyncio.run(crowd(urls))
    transactions = set()
    for _, answers in purchases:
        assert len({answer.content for answer in answers}) == 1
        said = {settlement(answer).transaction for answer in answers}
        assert len(said) == 1
        transactions |= said
    assert len(transactions) == 8
    assert Counter(runs.read_text().split()) == Counter(name for name, _ in purchases)
    assert world.sent_by(FACILITATOR.address) == sent + 8
    receipts = world.receipts_of(FACILITATOR.address, start)
    assert transactions <= {receipt["transactionHash"] for receipt in receipts}
    assert {receipt["status"] for receipt in receipts} == {"0x1"}
    prices = list(PATHS.values())
    assert world.balance(SHOP.address) == before + sum(prices[buyer % len(prices)] for buyer in range(8))
