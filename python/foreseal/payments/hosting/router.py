"""The ASGI application of a process with several merchants.

```text
/books/v1/orders     the service of the merchant books, as if it were /v1/orders
/healthz, /metrics   the process
anything else        404
```

An HTTP/1.1 connection has one request at a time. So a limit of concurrent requests per merchant leaves connections of
the listener to the others, however long the requests of one take.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Receive, Scope, Send

from foreseal.payments.api.errors import ApiError
from foreseal.payments.api.route import error_response
from foreseal.payments.merchant_context import merchant_context
from foreseal.payments.metrics import Counter


@dataclass(slots=True)
class _Mount:
    application: ASGIApp
    in_progress: int = 0


class MerchantRouter:
    """Router of requests by the first segment of their path."""

    def __init__(self, applications: Mapping[str, ASGIApp], process: ASGIApp, max_requests: int) -> None:
        """Mount each application below its name; `process` handles all other paths.

        At most `max_requests` of each merchant are in progress; the router rejects others with 503.
        """
        self._mounts = {name: _Mount(application) for name, application in applications.items()}
        self._process = process
        self._max_requests = max_requests
        self.rejected = Counter(
            "foreseal_pay_requests_rejected_total",
            "Requests rejected because too many of the merchant were in progress.",
            ("merchant",),
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        name = str(scope.get("path", "")).split("/", 2)[1:2]
        mount = self._mounts.get(name[0]) if name else None
        if mount is None:
            await self._process(scope, receive, send)
        elif mount.in_progress >= self._max_requests and scope["type"] == "http":
            self.rejected.add(name[0])
            message = f"{mount.in_progress} requests are in progress, the maximum: retry with the same key"
            response = error_response(ApiError(503, "overloaded", message, Retry_After="1"))
            await response(scope, receive, send)
        else:
            await self._pass_on(name[0], mount, scope, receive, send)

    async def _pass_on(self, name: str, mount: _Mount, scope: Scope, receive: Receive, send: Send) -> None:
        mount.in_progress += 1
        try:
            with merchant_context(name):
                root_path = f"{scope.get('root_path', '')}/{name}"
                await mount.application({**scope, "root_path": root_path}, receive, send)
        finally:
            mount.in_progress -= 1
