"""The transports of httpx and the adapter of requests: bodies, streams, redirects, hosts; the same for each."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import httpx
import pytest
import requests
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict
from sqlalchemy.exc import OperationalError
from urllib3 import HTTPConnectionPool
from urllib3.connection import HTTPConnection
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from foreseal.payments.ledger import PurchaseState
from foreseal.payments.x402.buyer import (
    AsyncPayingTransport,
    Buyer,
    OutcomeUnknown,
    PayingTransport,
    PurchaseRejected,
    Rule,
    SpendingPolicy,
)
from foreseal.payments.x402.buyer.requests_adapter import PayingAdapter
from payments.x402.buyers import Buyers, policy
from payments.x402.seller_double import PAYEE, Seller, paid, required, terms

# The table tests run on the other database.
pytestmark = pytest.mark.sqlite_only


class Adapter(BaseAdapter):
    """Passes requests of the package requests to a seller."""

    def __init__(self, seller: Seller) -> None:
        super().__init__()
        self.seller = seller

    def send(self, request: requests.PreparedRequest, *_: Any, **__: Any) -> requests.Response:
        body: Any = request.body or b""
        content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else b"".join(body)
        asked = httpx.Request(str(request.method), str(request.url), headers=dict(request.headers), content=content)
        try:
            given = self.seller(asked)
        except httpx.ConnectTimeout as error:
            raise requests.exceptions.ConnectTimeout from error
        except httpx.ConnectError as error:
            # The same error as that of HTTPAdapter.
            pool = HTTPConnectionPool("seller")
            refused = NewConnectionError(HTTPConnection("seller"), "refused")
            raise requests.exceptions.ConnectionError(MaxRetryError(pool, "/a", refused)) from error
        except httpx.ReadError as error:
            raise requests.exceptions.ConnectionError(ProtocolError("aborted", error)) from error
        response = requests.Response()
        response.status_code, response.url, response.request = given.status_code, str(request.url), request
        response.headers = CaseInsensitiveDict(given.headers)
        raw = httpx.ByteStream(given.content)
        response.raw = type("Raw", (), {"read": lambda *_, **__: b"".join(raw), "close": lambda *_: None})()
        response._content = given.content
        return response

    def close(self) -> None:
        pass


Send = Callable[..., tuple[int, str]]
"""Sends a request by a method, for a URL, with a body; returns status and text."""


def by_httpx(seller: Seller, buyer: Buyer) -> Send:
    client = httpx.Client(transport=PayingTransport(buyer, httpx.MockTransport(seller)), follow_redirects=True)

    def send(method: str, url: str, content: Any = None) -> tuple[int, str]:
        answer = client.request(method, url, content=content)
        assert "PAYMENT-SIGNATURE" not in answer.request.headers
        return answer.status_code, answer.text

    return send


def by_async_httpx(seller: Seller, buyer: Buyer) -> Send:
    def send(method: str, url: str, content: Any = None) -> tuple[int, str]:
        async def run() -> tuple[int, str]:
            transport = AsyncPayingTransport(buyer, httpx.MockTransport(seller))
            async with httpx.AsyncClient(transport=transport, follow_redirects=True) as client:
                answer = await client.request(method, url, content=_as_async(content))
                assert "PAYMENT-SIGNATURE" not in answer.request.headers
                return answer.status_code, answer.text

        return asyncio.run(run())

    return send


def by_requests(seller: Seller, buyer: Buyer) -> Send:
    session = requests.Session()
    for scheme in ("http://", "https://"):
        session.mount(scheme, PayingAdapter(buyer, Adapter(seller)))

    def send(method: str, url: str, content: Any = None) -> tuple[int, str]:
        answer = session.request(method, url, data=content)
        assert "PAYMENT-SIGNATURE" not in answer.request.headers
        return answer.status_code, answer.text

    return send


def _as_async(content: Any) -> Any:
    if content is None or isinstance(content, bytes):
        return content

    async def chunks() -> AsyncIterator[bytes]:
        for chunk in content:
            yield chunk

    return chunks()


@pytest.fixture(params=[by_httpx, by_async_httpx, by_requests])
def sender(request: pytest.FixtureRequest) -> Callable[[Seller, Buyer], Send]:
    return request.param  # type: ignore[no-any-return]


SenderFactory = Callable[[Seller, Buyer], Send]


def test_body_is_sent_twice_and_the_paid_response_is_returned(buyers: Buyers, sender: SenderFactory) -> None:
    seller = Seller()
    send = sender(seller, buyers.buyer())
    assert send("POST", "http://seller/a", b"body") == (200, "the answer")
    assert send("POST", "http://seller/b", iter([b"a ", b"stream"])) == (200, "the answer")
    assert [request.content for request in seller.requests] == [b"body", b"body", b"a stream", b"a stream"]
    assert ["PAYMENT-SIGNATURE" in request.headers for request in seller.requests] == [False, True, False, True]
    assert buyers.states() == [PurchaseState.SPENT, PurchaseState.SPENT]


def test_any_response_to_the_paid_request_is_returned(buyers: Buyers, sender: SenderFactory) -> None:
    seller = Seller(lambda _: httpx.Response(418, text="teapot"))
    assert sender(seller, buyers.buyer())("GET", "http://seller/a") == (418, "teapot")
    assert buyers.states() == [PurchaseState.PRESENTED]


def test_a_redirect_forwards_no_payment(buyers: Buyers, sender: SenderFactory) -> None:
    other = Seller()
    home = Seller(lambda payment: httpx.Response(307, headers={"Location": "http://other/a", **paid(payment).headers}))

    def net(request: httpx.Request) -> httpx.Response:
        return (home if request.url.host == "seller" else other)(request)

    with pytest.raises(PurchaseRejected, match="http://seller:80 redirected to http://other:80") as caught:
        sender(net, buyers.buyer())("POST", "http://seller/a", b"body")  # type: ignore[arg-type]
    assert caught.value.refusals[0].rule is Rule.REDIRECT
    assert [request.headers.get("PAYMENT-SIGNATURE") for request in other.requests] == [None]
    assert (len(home.payments), buyers.day()) == (1, 1000)


def test_redirect_to_another_host_is_paid_if_the_policy_allows(buyers: Buyers, sender: SenderFactory) -> None:
    seller = Seller(moved={"/a": "https://other/b", "/c": "http://other/d", "/e": "/f", "/g": "https://seller/h"})
    with pytest.raises(PurchaseRejected, match="redirect"):
        sender(seller, buyers.buyer())("GET", "http://seller/a")
    named = buyers.buyer(policy(hosts=frozenset({"other", "seller"})))
    assert sender(seller, named)("GET", "http://seller/a") == (200, "the answer")
    with pytest.raises(
        PurchaseRejected, match=r"redirect: https://seller:443 redirected to http://other:80, .* not encrypted"
    ):
        sender(seller, named)("GET", "https://seller/c")
    assert sender(seller, buyers.buyer())("GET", "https://seller/e") == (200, "the answer")
    assert sender(seller, buyers.buyer())("GET", "http://seller/g") == (200, "the answer")
    with pytest.raises(PurchaseRejected, match="redirect"):
        sender(seller, buyers.buyer())("GET", "http://seller:81/g")


@pytest.mark.parametrize(
    ("rules", "rule"),
    [
        (policy(hosts=frozenset({"other", "seller:444"})), Rule.HOST),
        (policy(hosts=frozenset()), Rule.HOST),
        (policy(payees=frozenset({"0x" + 40 * "1"})), Rule.PAYEE),
        (policy(longest_validity=59), Rule.VALIDITY),
        (policy(schemes=frozenset({"upto"})), Rule.SCHEME),
        (SpendingPolicy({}), Rule.NETWORK),
    ],
)
def test_unlisted_host_is_not_paid(buyers: Buyers, sender: SenderFactory, rules: SpendingPolicy, rule: Rule) -> None:
    seller = Seller()
    with pytest.raises(PurchaseRejected, match=f"^{rule}: ") as caught:
        sender(seller, buyers.buyer(rules))("GET", "http://seller/a")
    assert [refusal.rule for refusal in caught.value.refusals] == [rule]
    assert (seller.payments, buyers.rows()) == ([], [])


def test_listed_host_is_paid(buyers: Buyers, sender: SenderFactory) -> None:
    rules = policy(hosts=frozenset({"SELLER:80"}), payees=frozenset({PAYEE.lower()}), longest_validity=60)
    assert sender(Seller(), buyers.buyer(rules))("GET", "http://seller/a") == (200, "the answer")
    with pytest.raises(PurchaseRejected, match="asset: 0x1"):
        sender(Seller(accepts=(terms(asset="0x" + 40 * "1"),)), buyers.buyer(rules))("GET", "http://seller/b")


def test_concurrent_identical_request_is_not_signed(buyers: Buyers, sender: SenderFactory) -> None:
    send = sender(seller := Seller(), buyers.buyer())
    seen: list[BaseException] = []

    def meanwhile(payment: Any) -> httpx.Response:
        try:
            buyers.client(Seller()).post("http://seller/a", content=b"body")
        except OutcomeUnknown as error:
            seen.append(error)
        return paid(payment)

    seller.answer = meanwhile
    assert send("POST", "http://seller/a", b"body") == (200, "the answer")
    assert len(seen) == 1
    assert send("POST", "http://seller/a", b"body") == (200, "the answer")


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (httpx.ConnectError, PurchaseState.RETURNED),
        (httpx.ConnectTimeout, PurchaseState.RETURNED),
        (httpx.ReadError, PurchaseState.PRESENTED),
    ],
)
def test_only_an_unsent_payment_is_released(
    buyers: Buyers, sender: SenderFactory, error: type[httpx.TransportError], state: PurchaseState
) -> None:
    def fails(_: object) -> httpx.Response:
        raise error("no")

    with pytest.raises((httpx.TransportError, requests.exceptions.ConnectionError)):
        sender(Seller(fails), buyers.buyer())("GET", "http://seller/a")
    assert buyers.states() == [state]
    assert buyers.day() == (0 if state is PurchaseState.RETURNED else 1000)


def test_paid_response_is_returned_despite_a_database_failure(
    buyers: Buyers, sender: SenderFactory, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object, **__: object) -> bool:
        raise OperationalError("UPDATE", {}, Exception("disk full"))

    monkeypatch.setattr(buyers.purchases, "conclude", fail)
    assert sender(Seller(), buyers.buyer())("GET", "http://seller/a") == (200, "the answer")
    assert "outcome of the purchase is unknown" in caplog.text
    assert (buyers.states(), buyers.day()) == ([PurchaseState.PRESENTED], 1000)


def test_large_rejection_is_not_read_completely(buyers: Buyers) -> None:
    """Its connection is closed instead."""
    read = 0

    class Endless(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            nonlocal read
            while True:
                read += 1
                yield b"a" * 1000

    def seller(request: httpx.Request) -> httpx.Response:
        if "PAYMENT-SIGNATURE" in request.headers:
            return httpx.Response(200, text="the answer")
        return httpx.Response(402, headers={"PAYMENT-REQUIRED": required()}, stream=Endless())

    class Line(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return seller(request)

    with httpx.Client(transport=PayingTransport(buyers.buyer(), Line())) as client:
        assert client.get("http://seller/a").text == "the answer"
    assert read == 66
