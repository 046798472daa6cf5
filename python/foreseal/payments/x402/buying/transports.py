"""httpx transports that pay: an application's client asks as ever, and gets the answer that was paid for.

    httpx.Client(transport=PayingTransport(buyer))
    httpx.AsyncClient(transport=AsyncPayingTransport(buyer))

The body of a request is read into memory before it is sent, as it may have to be sent twice. Redirects are followed by
the client, without the payment; what they lead to is another request, which is paid for at another host only if the
policy names it.
"""

import httpx
from anyio import to_thread

from foreseal.payments.x402.buying.answers import PAYMENT_REQUIRED, REQUIRED, SMALL
from foreseal.payments.x402.buying.buyer import Buyer, Payment, Wanted

PURCHASE = "foreseal.purchase"
"""Name among a response's `extensions` of the id of the purchase that it was paid with."""

_ORIGIN = "foreseal.origin"
# Nothing was sent: the connection was not there yet.
_UNSENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol)


class PayingTransport(httpx.BaseTransport):
    """Pays for what is answered with 402, within a buyer's policy.

    Raises `PaymentRefused`, `OutcomeUnknown` and `Unreadable` where it does not, beside what httpx raises.
    """

    def __init__(self, buyer: Buyer, transport: httpx.BaseTransport | None = None) -> None:
        """`transport` sends the requests; the usual one where there is none."""
        self._buyer = buyer
        self._transport = transport or httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, paid for if need be."""
        request.read()
        wanted = _wanted(request)
        response = self._transport.handle_request(request)
        header = _asked(response)
        if header is None:
            return response
        _drain(response)
        payment: Payment | None = self._buyer.pay(wanted, header)
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
        """Close the transport that sends."""
        self._transport.close()


class AsyncPayingTransport(httpx.AsyncBaseTransport):
    """As `PayingTransport`, for asyncio and trio. The database is asked in a thread."""

    def __init__(self, buyer: Buyer, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """`transport` sends the requests; the usual one where there is none."""
        self._buyer = buyer
        self._transport = transport or httpx.AsyncHTTPTransport()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, paid for if need be."""
        await request.aread()
        wanted = _wanted(request)
        response = await self._transport.handle_async_request(request)
        header = _asked(response)
        if header is None:
            return response
        await _adrain(response)
        payment: Payment | None = await to_thread.run_sync(self._buyer.pay, wanted, header)
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
        """Close the transport that sends."""
        await self._transport.aclose()


def _wanted(request: httpx.Request) -> Wanted:
    # The client makes the request of a redirect with the extensions of the one before: so they tell where it began.
    origin = request.extensions.setdefault(_ORIGIN, str(request.url))
    return Wanted(
        request.method,
        str(request.url),
        request.content,
        request.headers.get("Idempotency-Key"),
        None if origin == str(request.url) else origin,
    )


def _asked(response: httpx.Response) -> str | None:
    return response.headers.get(REQUIRED) if response.status_code == PAYMENT_REQUIRED else None


def _paid(request: httpx.Request, payment: Payment) -> httpx.Request:
    """The same request with the payment. The application's own is left as it is: a redirect would copy its headers."""
    headers = httpx.Headers(request.headers)
    headers.update(payment.headers)
    return httpx.Request(
        request.method, request.url, headers=headers, stream=request.stream, extensions=request.extensions
    )


def _drain(response: httpx.Response) -> None:
    """Read a short body to its end, and close."""
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
