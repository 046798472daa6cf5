"""httpx transports that pay: an unchanged client application receives the paid response.

    httpx.Client(transport=PayingTransport(buyer))
    httpx.AsyncClient(transport=AsyncPayingTransport(buyer))

The body of a request is read into memory first, since the request may be sent twice. The client follows redirects
without the payment. A redirect target is a separate request. If it has another host, it is paid only if the policy
names that host.
"""

import httpx
from anyio import to_thread

from foreseal.payments.x402.buyer.buyer import Buyer, BuyerPayment, PaidRequest
from foreseal.payments.x402.buyer.payment_responses import PAYMENT_REQUIRED, REQUIRED, SMALL

PURCHASE = "foreseal.purchase"
"""Key in a response's `extensions` for the id of the purchase that paid it."""

_ORIGIN = "foreseal.origin"
# Errors before a connection exists, so nothing was sent.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class PayingTransport(httpx.BaseTransport):
    """A transport that pays 402 responses within a buyer's policy.

    If it does not pay, it raises `PurchaseRejected`, `OutcomeUnknown` or `Unreadable`. Errors of httpx pass through.
    """

    def __init__(self, buyer: Buyer, transport: httpx.BaseTransport | None = None) -> None:
        """Set up the transport. `transport` sends the requests; the default is `httpx.HTTPTransport`."""
        self._buyer = buyer
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response, paying if required."""
        request.read()
        paid_request = _paid_request(request)
        response = self._transport.handle_request(request)
        header = _requested_payment(response)
        if header is None:
            return response
        _drain(response)
        payment: BuyerPayment | None = self._buyer.pay(paid_request, header)
        while payment is not None:
            try:
                response = self._transport.handle_request(_paid(request, payment))
            except _UNSENT:
                self._buyer.unsent(payment)
                raise
            response.extensions[PURCHASE] = payment.id
            payment = self._buyer.answered(payment, response.status_code, response.headers.get)
            if payment is not None:
                _drain(response)
        return response

    def close(self) -> None:
        """Close the sending transport."""
        self._transport.close()


class AsyncPayingTransport(httpx.AsyncBaseTransport):
    """`PayingTransport` for asyncio and trio. Database access runs in a worker thread."""

    def __init__(self, buyer: Buyer, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """Set up the transport. `transport` sends the requests; the default is `httpx.AsyncHTTPTransport`."""
        self._buyer = buyer
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request and return the response, paying if required."""
        await request.aread()
        paid_request = _paid_request(request)
        response = await self._transport.handle_async_request(request)
        header = _requested_payment(response)
        if header is None:
            return response
        await _adrain(response)
        payment: BuyerPayment | None = await to_thread.run_sync(self._buyer.pay, paid_request, header)
        while payment is not None:
            try:
                response = await self._transport.handle_async_request(_paid(request, payment))
            except _UNSENT:
                await to_thread.run_sync(self._buyer.unsent, payment)
                raise
            response.extensions[PURCHASE] = payment.id
            status, headers = response.status_code, response.headers
            payment = await to_thread.run_sync(self._buyer.answered, payment, status, headers.get)
            if payment is not None:
                await _adrain(response)
        return response

    async def aclose(self) -> None:
        """Close the sending transport."""
        await self._transport.aclose()


def _paid_request(request: httpx.Request) -> PaidRequest:
    # The client copies a request's extensions to its redirects, so this records the first URL.
    origin = request.extensions.setdefault(_ORIGIN, str(request.url))
    return PaidRequest(
        request.method,
        str(request.url),
        request.content,
        request.headers.get("Idempotency-Key"),
        None if origin == str(request.url) else origin,
    )


def _requested_payment(response: httpx.Response) -> str | None:
    return response.headers.get(REQUIRED) if response.status_code == PAYMENT_REQUIRED else None


def _paid(request: httpx.Request, payment: BuyerPayment) -> httpx.Request:
    """Return a copy of the request with the payment.

    The original stays unchanged, since a redirect copies its headers.
    """
    headers = httpx.Headers(request.headers)
    headers.update(payment.headers)
    return httpx.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def _drain(response: httpx.Response) -> None:
    """Read a short body to its end, and close the response."""
    stream = response.stream
    assert isinstance(stream, httpx.SyncByteStream), "a transport for sync clients answers with one"
    try:
        left = SMALL
        for chunk in stream:
            left -= len(chunk)
            if left < 0:
                break
    finally:
        response.close()


async def _adrain(response: httpx.Response) -> None:
    stream = response.stream
    assert isinstance(stream, httpx.AsyncByteStream), "a transport for async clients answers with one"
    try:
        left = SMALL
        async for chunk in stream:
            left -= len(chunk)
            if left < 0:
                break
    finally:
        await response.aclose()
