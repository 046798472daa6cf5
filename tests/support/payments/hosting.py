"""Several services on fake chains in one application."""

from collections.abc import Mapping
from typing import Any

import httpx
from sqlalchemy import select

from foreseal.payments.api.roles import Role
from foreseal.payments.hosting.process_app import build_process_app
from foreseal.payments.hosting.router import MerchantRouter
from foreseal.payments.ledger.models import metadata
from payments.api.service_harness import ServiceHarness, call_application


class HostedMerchants:
    """The application of several merchants, called without a socket."""

    def __init__(
        self, services: Mapping[str, ServiceHarness], max_requests: int = 100, max_shoppers: int = 100
    ) -> None:
        self.services = services
        for each in services.values():
            each.health.update(status="ok", reasons=[])
        process = build_process_app(lambda: {name: each.health for name, each in services.items()}, str)
        applications = {name: each.process.app for name, each in services.items()}
        self.app = MerchantRouter(applications, process, max_requests, max_shoppers)
        self._drawn = 0

    def request(
        self, method: str, path: str, body: Any = None, *, key_of: ServiceHarness | None, role: Role = Role.ADMIN
    ) -> httpx.Response:
        """Send a request with the API key of a merchant."""
        self._drawn += 1
        headers = {} if key_of is None else {"authorization": f"Bearer {key_of.keys[role]}"}
        if method == "POST":
            headers["idempotency-key"] = f"hosted {self._drawn}"
        return call_application(self.app, method, path, headers=headers, **({} if body is None else {"json": body}))


def rows(service: ServiceHarness) -> dict[str, list[tuple[Any, ...]]]:
    """Return all rows of a merchant's database, by table."""
    with service.database.reading() as tx:
        return {
            table.name: sorted(map(tuple, tx.execute(select(table)).all()), key=repr)
            for table in metadata.sorted_tables
        }
