"""Bodies over real connections: the body of the unpaid request equals that of the paid one, in every form."""

import io
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import requests
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from foreseal.payments.ledger import PurchaseState
from foreseal.payments.x402.buyer import PayingTransport
from foreseal.payments.x402.buyer.requests_adapter import PayingAdapter
from payments.x402.buyers import Buyers
from payments.x402.pairings.serving import serving
from payments.x402.seller_double import required, settled

# The table tests run on the other database.
pytestmark = pytest.mark.sqlite_only


@pytest.fixture(scope="module")
def seller() -> Iterator[tuple[str, list[tuple[bool, bytes]]]]:
    """Provide its URL and its received requests: True if paid, and the body."""
    seen: list[tuple[bool, bytes]] = []

    async def answer(request: Request) -> Response:
        body = await request.body()
        paid = "payment-signature" in request.headers
        seen.append((paid, body))
        if not paid:
            return Response("pay", 402, {"PAYMENT-REQUIRED": required()})
        return Response(body, headers=settled())

    async def moved(_: Request) -> Response:
        return RedirectResponse("/a")

    routes = [Route("/a", answer, methods=["GET", "POST"]), Route("/moved", moved, methods=["POST"])]
    with serving(Starlette(routes=routes)) as url:
        yield url, seen


BODIES: list[Callable[[], Any]] = [
    lambda: b"bytes",
    lambda: iter([b"a ", b"stream"]),
    lambda: iter(()),
    lambda: io.BytesIO(b"a file"),
    lambda: b"",
    lambda: None,
]
SENT = [b"bytes", b"a stream", b"", b"a file", b"", b""]


@pytest.mark.parametrize(("body", "sent"), list(zip(BODIES, SENT, strict=True)))
@pytest.mark.parametrize("kind", ["httpx", "requests"])
def test_body_is_the_same_in_both_requests(
    seller: tuple[str, list[tuple[bool, bytes]]], buyers: Buyers, kind: str, body: Callable[[], Any], sent: bytes
) -> None:
    url, seen = seller
    seen.clear()
    buyer = buyers.buyer()
    if kind == "httpx":
        with httpx.Client(transport=PayingTransport(buyer)) as client:
            answered = client.post(f"{url}/a", content=body()).content
    else:
        with requests.Session() as session:
            session.mount("http://", PayingAdapter(buyer))
            answered = session.post(f"{url}/a", data=body(), timeout=10).content
    assert answered == sent
    assert seen == [(False, sent), (True, sent)]
    assert buyers.states() == [PurchaseState.SPENT]


def test_file_body_is_sent_again_after_a_redirect(seller: tuple[str, list[tuple[bool, bytes]]], buyers: Buyers) -> None:
    url, seen = seller
    seen.clear()
    with requests.Session() as session:
        session.mount("http://", PayingAdapter(buyers.buyer()))
        answer = session.post(f"{url}/moved", data=io.BytesIO(b"a file"), timeout=10)
    assert (answer.content, seen) == (b"a file", [(False, b"a file"), (True, b"a file")])
    assert [each.status_code for each in answer.history] == [307]
