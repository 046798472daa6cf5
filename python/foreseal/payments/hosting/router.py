"""The ASGI application of a process with several merchants.

```text
/books/v1/orders     the service of the merchant books, as if it were /v1/orders
/books/checkout/a    the same; requests of shoppers count apart from those of the merchant
/healthz, /metrics   the process
anything else        404
```

An HTTP/1.1 connection has one request at a time. So a limit of concurrent requests per merchant leaves connections of
the listener to the others, however long the requests of one take. Anyone may send requests as a shopper or sign in, so
these have a limit of their own, and cannot use up the share of the merchant's API.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter
from starlette.types import ASGIApp, Receive, Scope, Send

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.route import error_response
from foreseal.payments.merchant_context import merchant_context

# Paths that anyone may request: the page with its files, its API, and the sign-in of the dashboard.
_PUBLIC_PATHS = ("/checkout", "/v1/checkout", "/dashboard/api/session")


@dataclass(slots=True)
class RequestShare:
    """Concurrent requests of one kind, with their maximum."""

    maximum: int
    in_progress: int = 0

    @property
    def is_used_up(self) -> bool:
        """True if one more request would exceed the maximum."""
        return self.in_progress >= self.maximum


@dataclass(frozen=True, slots=True)
class _Mount:
    application: ASGIApp
    merchant: RequestShare
    shoppers: RequestShare

    def share(self, path: str) -> RequestShare:
        """Return the share in which a request for a path below the mount counts."""
        is_shopper = any(path == each or path.startswith(f"{each}/") for each in _PUBLIC_PATHS)
        return self.shoppers if is_shopper else self.merchant


class MerchantRouter:
    """Router of requests by the first segment of their path."""

    def __init__(
        self, applications: Mapping[str, ASGIApp], process: ASGIApp, max_requests: int, max_shopper_requests: int
    ) -> None:
        """Mount each application below its name; `process` handles all other paths.

        At most `max_requests` of each merchant and `max_shopper_requests` of its shoppers are in progress; the router
        rejects others with 503.
        """
        self._mounts = {
            name: _Mount(application, RequestShare(max_requests), RequestShare(max_shopper_requests))
            for name, application in applications.items()
        }
        self._process = process
        self.registry = CollectorRegistry()
        """Metrics of all merchants."""
        self.rejected = Counter(
            "foreseal_pay_requests_rejected_total",
            "Requests rejected because too many of the merchant were in progress.",
            ("merchant",),
            registry=self.registry,
        )
        self.rejected_shoppers = Counter(
            "foreseal_pay_shopper_requests_rejected_total",
            "Requests rejected because too many of the merchant's shoppers were in progress.",
            ("merchant",),
            registry=self.registry,
        )
        for name in self._mounts:
            self.rejected.labels(name)
            self.rejected_shoppers.labels(name)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        path = str(scope.get("path", ""))
        name = path.split("/", 2)[1:2]
        mount = self._mounts.get(name[0]) if name else None
        if mount is None:
            await self._process(scope, receive, send)
            return
        share = mount.share(path.removeprefix(f"/{name[0]}"))
        if share.is_used_up and scope["type"] == "http":
            rejected = self.rejected_shoppers if share is mount.shoppers else self.rejected
            rejected.labels(name[0]).inc()
            retry = "retry" if share is mount.shoppers else "retry with the same key"
            message = f"{share.in_progress} requests are in progress, the maximum: {retry}"
            response = error_response(ApiError(503, "overloaded", message, Retry_After="1"))
            await response(scope, receive, send)
            return
        share.in_progress += 1
        try:
            with merchant_context(name[0]):
                root_path = f"{scope.get('root_path', '')}/{name[0]}"
                await mount.application({**scope, "root_path": root_path}, receive, send)
        finally:
            share.in_progress -= 1
