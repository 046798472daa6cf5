"""Blocking transport: sends requests, retries them and follows pages."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

import httpx

from foreseal.merchant.errors import NoServiceResponse
from foreseal.merchant.exchange import (
    LIMITS,
    ServiceRequest,
    check_url,
    get_request,
    parse,
    post_request,
    request_headers,
    segment,
)
from foreseal.merchant.retries import AttemptCounter, RetryPolicy
from foreseal.merchant.types import OrderPage

__all__ = ["Transport", "segment"]

T = TypeVar("T")


class Transport:
    """Base class of the blocking client. Threads may share it."""

    def __init__(
        self,
        url: str,
        api_key: str,
        *,
        timeout: float = 10.0,
        retries: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Create a client of the service at `url`; `timeout` in seconds limits each attempt."""
        self._retries = retries or RetryPolicy()
        self._sleep = sleep
        self._http = httpx.Client(
            base_url=check_url(url),
            headers=request_headers(api_key),
            timeout=timeout,
            limits=LIMITS,
            transport=transport,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _get(self, kind: type[T], path: str, query: Mapping[str, Any], *, accepts_503: bool = False) -> T:
        request = get_request(path, query, accepts_503=accepts_503)
        return parse(kind, request, self._send(request))

    def _post(self, kind: type[T], path: str, body: Mapping[str, Any], idempotency_key: str | None) -> T:
        request = post_request(path, body, idempotency_key)
        return parse(kind, request, self._send(request))

    def _iterate(self, _item: type[T], path: str, query: Mapping[str, Any]) -> Iterator[T]:
        cursor: str | None = None
        while True:
            page: Any = self._get(OrderPage, path, {**query, "cursor": cursor})  # all pages have the same fields
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def _stream(self, path: str, query: Mapping[str, Any]) -> Iterator[str]:
        request = get_request(path, query)
        response = self._send(request, stream=True)
        try:
            if not request.is_result(response):
                response.read()
                parse(dict, request, response)
            yield from response.iter_text()
        except httpx.RequestError as error:
            raise NoServiceResponse(f"GET {path}: {error!r}") from error
        finally:
            response.close()

    def _send(self, request: ServiceRequest, *, stream: bool = False) -> httpx.Response:
        attempts = AttemptCounter(self._retries)
        while True:
            outcome: httpx.Response | httpx.RequestError
            try:
                outcome = self._http.send(self._http.build_request(**request.arguments()), stream=stream)
            except httpx.RequestError as error:
                outcome = error
            final = isinstance(outcome, httpx.Response) and request.is_result(outcome)
            delay = None if final else attempts.delay_after(outcome)
            if delay is None:
                if isinstance(outcome, httpx.RequestError):
                    message = f"{request.method} {request.path}: {outcome!r}"
                    raise NoServiceResponse(message, request.idempotency_key) from outcome
                return outcome
            if isinstance(outcome, httpx.Response):
                outcome.close()
            self._sleep(delay)
