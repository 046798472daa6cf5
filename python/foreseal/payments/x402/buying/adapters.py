"""An adapter of requests that pays.

    session = requests.Session()
    session.mount("https://", PayingAdapter(buyer))

Bodies and redirects are as with the httpx transports.
"""

from collections.abc import Iterable
from typing import Any

import requests
from requests.adapters import BaseAdapter, HTTPAdapter
from urllib3.exceptions import ConnectTimeoutError, MaxRetryError, NewConnectionError

from foreseal.payments.x402.buying.answers import PAYMENT_REQUIRED, REQUIRED, SMALL
from foreseal.payments.x402.buying.buyer import Buyer, Payment, Wanted


class PayingAdapter(BaseAdapter):
    """Pays for what is answered with 402, within a buyer's policy.

    Raises `PaymentRefused`, `OutcomeUnknown` and `Unreadable` where it does not, beside what requests raises.
    """

    def __init__(self, buyer: Buyer, adapter: BaseAdapter | None = None) -> None:
        """`adapter` sends the requests; the usual one, which tries nothing twice, where there is none."""
        super().__init__()
        self._buyer = buyer
        self._adapter = adapter or HTTPAdapter()

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        """The answer, paid for if need be."""
        whole = request.copy()  # requests rewinds the body of its own where it follows a redirect
        body = _whole(request)
        whole.body = None if request.body is None else body
        wanted = _wanted(request, body)
        response = self._adapter.send(whole, *args, **kwargs)
        header = response.headers.get(REQUIRED)
        if response.status_code != PAYMENT_REQUIRED or header is None:
            response.request = request
            return response
        _drain(response)
        payment: Payment | None = self._buyer.pay(wanted, header)
        while payment is not None:
            paid = whole.copy()
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
        # The payment is nobody's to log or to send again.
        response.request = request
        return response

    def close(self) -> None:
        """Close the adapter that sends."""
        self._adapter.close()


class _Origin:
    """A hook that does nothing: requests gives the hooks of a request to those that it is redirected to."""

    def __init__(self, url: str) -> None:
        self.url = url

    def __call__(self, response: requests.Response, **_: Any) -> None:
        return None


def _wanted(request: requests.PreparedRequest, body: bytes) -> Wanted:
    hooks: list[Any] = request.hooks.setdefault("response", [])
    origin = next((each.url for each in hooks if isinstance(each, _Origin)), None)
    if origin is None:
        # Not into the list that is there: it belongs to the session.
        request.hooks["response"] = [*hooks, _Origin(str(request.url))]
    key = request.headers.get("Idempotency-Key")
    return Wanted(
        str(request.method),
        str(request.url),
        body,
        key.decode("latin-1") if isinstance(key, bytes) else key,
        None if origin == request.url else origin,
    )


def _whole(request: requests.PreparedRequest) -> bytes:
    """The body, in memory if it was a stream."""
    body: Any = request.body
    if hasattr(body, "read"):
        body = body.read()
    parts: Iterable[bytes | str] = [body or b""] if body is None or isinstance(body, bytes | str) else body
    return b"".join(each.encode() if isinstance(each, str) else each for each in parts)


def _drain(response: requests.Response) -> None:
    """Read a short body to its end, and close."""
    try:
        response.raw.read(SMALL)
    finally:
        response.close()


def _unsent(error: requests.exceptions.ConnectionError) -> bool:
    """Whether there was no connection to send anything over."""
    if isinstance(error, requests.exceptions.ConnectTimeout):
        return True
    cause = error.args[0] if error.args else None
    if isinstance(cause, MaxRetryError):
        cause = cause.reason
    return isinstance(cause, NewConnectionError | ConnectTimeoutError)
