"""A target that answers each webhook after a delay, in a process of its own."""

import asyncio
import sys
import time
from typing import Any

import orjson
import uvloop
from aiohttp import web

from foreseal.payments.api.webhook_signature import decode_secret, sign


class SlowTarget:
    """Handler that checks signatures and the order of each object's events."""

    def __init__(self, delay: float, secret: str) -> None:
        self._delay = delay
        self._key = decode_secret(secret)
        self._newest: dict[str, int] = {}
        self.received = self.faults = 0
        self._busy: set[str] = set()
        self._first = self._last = 0.0

    async def handle(self, request: web.Request) -> web.Response:
        """Answer one webhook."""
        body = await request.read()
        event = orjson.loads(body)
        self._first = self._first or time.monotonic()
        id, number = event["data"]["object"]["id"], int(event["id"].removeprefix("evt_"))
        expected = sign([self._key], event["id"], int(request.headers["webhook-timestamp"]), body)
        signed = all(request.headers[name] == value for name, value in expected.items())
        self.faults += not signed or id in self._busy or self._newest.get(id, 0) >= number
        self._newest[id] = number
        self._busy.add(id)
        await asyncio.sleep(self._delay)
        self._busy.discard(id)
        self.received += 1
        self._last = time.monotonic()
        return web.Response(status=204)

    async def report(self, _: web.Request) -> web.Response:
        """Return what arrived, and the seconds between the first arrival and the last response."""
        return web.json_response(
            {"received": self.received, "faults": self.faults, "seconds": self._last - self._first}
        )


async def serve(delay: float, secret: str) -> None:
    """Serve until the process ends; the first line of the output is the port."""
    target = SlowTarget(delay, secret)
    application = web.Application()
    application.router.add_post("/", target.handle)
    application.router.add_get("/", target.report)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    addresses: Any = runner.addresses
    print(addresses[0][1], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(float(sys.argv[1]), sys.argv[2]))
