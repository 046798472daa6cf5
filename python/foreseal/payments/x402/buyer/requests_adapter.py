"""A `requests` adapter that pays.

    session = requests.Session()
    session.mount("https://", PayingAdapter(buyer))

Bodies and redirects are handled as in the httpx transports.
"""

from collections.abc import Iterable
from typing import Any

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError

from foreseal.payments.x402.buyer.buyer import Buyer, BuyerPayment, PaidRequest
from foreseal.payments.x402.buyer.payment_responses import PAYMENT_REQUIRED, REQUIRED, SMALL


class PayingAdapter(BaseAdapter):
    """An adapter that pays 402 responses within a buyer's policy.

    If it does not pay, it raises `PurchaseRejected`, `OutcomeUnknown` or `Unreadable`. Errors of requests pass through.
    """

    def __init__(self, buyer: Buyer, adapter: BaseAdapter | None = None) -> None:
        """Set up the adapter. `adapter` sends the requests; the default is an HTTPAdapter without retries."""
        super().__init__()
        self._buyer = buyer
        self._adapter = adapter or HTTPAdapter()

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """Send a request and return the response, paying if required."""
        outgoing = request.copy()  # on a redirect, requests rewinds its own body
        body = _read_body(request)
        outgoing.body = None if request.body is None else body
        paid_request = _paid_request(request, body)
        response = self._adapter.send(outgoing, *args, **kwargs)
        header = response.headers.get(REQUIRED)
        if response.status_code != PAYMENT_REQUIRED or header is None:
            response.request = request
            return response
        _drain(response)
        payment: BuyerPayment | None = self._buyer.pay(paid_request, header)
        while payment is not None:
            paid = outgoing.copy()
            paid.headers.update(payment.headers)
            try:
                response = self._adapter.send(paid, *args, **kwargs)
            except requests.exceptions.ConnectionError as error:
                if _unsent(error):
                    self._buyer.unsent(payment)
                raise
            payment = self._buyer.answered(payment, response.status_code, response.headers.get)
            if payment is not None:
                _drain(response)
        # The response must not expose the payment, which could then be logged or sent again.
        response.request = request
        return response

    def close(self) -> None:
        """Close the sending adapter."""
        self._adapter.close()


class _Origin:
    """A hook without effect that records the first URL: requests copies hooks to redirected requests."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, response: requests.Response, **_: object) -> None:
        return None


def _paid_request(request: requests.PreparedRequest, body: bytes) -> PaidRequest:
    hooks: list[Any] = request.hooks.setdefault("response", [])
    origin = next((hook.url for hook in hooks if isinstance(hook, _Origin)), None)
    if origin is None:
        # A new list, since the existing one belongs to the session.
        request.hooks["response"] = [*hooks, _Origin(str(request.url))]
    key = request.headers.get("Idempotency-Key")
    return PaidRequest(
        str(request.method),
        str(request.url),
        body,
        key.decode("latin-1") if isinstance(key, bytes) else key,
        None if origin == request.url else origin,
    )


def _read_body(request: requests.PreparedRequest) -> bytes:
    """Return the body, read into memory if it is a stream."""
    body: Any = request.body
    if hasattr(body, "read"):
        body = body.read()
    parts: Iterable[bytes | str] = [body or b""] if body is None or isinstance(body, bytes | str) else body
    return b"".join(chunk.encode() if isinstance(chunk, str) else chunk for chunk in parts)


def _drain(response: requests.Response) -> None:
    """Read a short body to its end, and close the response."""
    try:
        response.raw.read(SMALL)
    finally:
        response.close()


def _unsent(error: requests.exceptions.ConnectionError) -> bool:
    """Return True if no connection existed, so nothing was sent."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    if isinstance(cause, MaxRetryError):
        cause = cause.reason
    return isinstance(cause, NewConnectionError | ConnectTimeoutError)
