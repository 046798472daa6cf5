"""Clients that read a response slowly."""

import asyncio
from typing import Any

from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness


def test_export_occupies_no_database_connection_while_it_is_sent(service: ServiceHarness) -> None:
    service.captured("a")
    occupied: list[int] = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body" and message["body"]:
            occupied.append(service.database.engine.pool.checkedout())

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def download() -> None:
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/v1/export.csv",
            "query_string": b"",
            "headers": [(b"authorization", f"Bearer {service.keys[Role.READER]}".encode())],
            "root_path": "",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
        }
        await service.process.app(scope, receive, send)

    asyncio.run(download())
    assert occupied
    assert set(occupied) == {0}
