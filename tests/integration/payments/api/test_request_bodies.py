"""Bodies of requests to a merchant's service: read for POST only, with a common bound."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import orjson
import pytest

from foreseal.payments.api import route
from foreseal.payments.api.roles import Role
from payments.api.service_harness import ServiceHarness
from payments.held_bodies import HeldBodies

# The bound is in memory, and no database has a part in it.
pytestmark = pytest.mark.sqlite_only


def client(service: ServiceHarness) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(service.process.app), base_url="http://pay.test")


@pytest.mark.parametrize("path", ["/v1/openapi.json", "/v1/orders", "/v1/balance"])
def test_body_of_a_get_is_not_read(service: ServiceHarness, path: str) -> None:
    is_read = False

    async def body() -> AsyncIterator[bytes]:
        nonlocal is_read
        is_read = True
        yield b"x"

    async def run() -> httpx.Response:
        async with client(service) as calling:
            headers = {"authorization": f"Bearer {service.keys[Role.ADMIN]}"}
            return await calling.request("GET", path, content=body(), headers=headers)

    assert (asyncio.run(run()).status_code, is_read) == (200, False)


def test_bodies_have_a_common_bound(service: ServiceHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    terms = [{"id": id, "payer": "0x" + "11" * 20, "amount": "500", "valid_seconds": 600} for id in ("a", "b")]
    bodies = [orjson.dumps(each) for each in terms]
    monkeypatch.setattr(route, "MAX_BODIES", len(bodies[0]) + 10)
    service.restart()

    def create(calling: httpx.AsyncClient, id: str, content: Any) -> Any:
        headers = {"authorization": f"Bearer {service.keys[Role.ADMIN]}", "idempotency-key": id}
        return calling.post("/v1/orders", content=content, headers=headers)

    async def run() -> list[httpx.Response]:
        held = HeldBodies()
        async with client(service) as calling:
            slow = asyncio.create_task(create(calling, "a", held.body(bodies[0][:50], bodies[0][50:])))
            await held.wait(1)
            refused = await create(calling, "b", bodies[1])
            held.release()
            return [refused, await slow, await create(calling, "b", bodies[1])]

    refused, created, repeated = asyncio.run(run())
    assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
    assert refused.headers["retry-after"] == "1"
    assert (created.status_code, repeated.status_code) == (201, 201), (created.text, repeated.text)
