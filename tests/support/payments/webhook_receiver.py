"""A target of webhooks on a real socket, which records what it receives and how many requests are in flight."""

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, Self

import orjson
from aiohttp import web


async def accept(_: Any) -> int:
    """Accept an event at once."""
    return 204


class WebhookReceiver:
    """An HTTP server in a thread. `answer` receives an event and returns the status; it runs on the server's loop."""

    def __init__(self, answer: Callable[[Any], Awaitable[int]] = accept) -> None:
        self.answer = answer
        self.got: list[Any] = []
        """Events in the order of their arrival."""
        self.finished = 0
        self.in_flight: Counter[str] = Counter()
        """Requests in flight by id of the object."""
        self.most_in_flight = 0
        self.overlapping: list[str] = []
        """Objects with more than one request in flight."""
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self._stopping.set)
        self._thread.join()
        self._loop.close()

    def call(self, act: Callable[[], object]) -> None:
        """Call `act` on the server's loop."""
        self._loop.call_soon_threadsafe(act)

    def of(self, id: str) -> list[str]:
        """Return the types of an object's events."""
        return [event["type"] for event in self.got if event["data"]["object"]["id"] == id]

    def _run(self) -> None:
        self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        application = web.Application()
        application.router.add_post("/", self._handle)
        runner = web.AppRunner(application, access_log=None, shutdown_timeout=0, handler_cancellation=True)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        self._ready.set()
        await self._stopping.wait()
        await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        event = orjson.loads(await request.read())
        subject = event["data"]["object"]["id"]
        self.got.append(event)
        self.in_flight[subject] += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight.total())
        if self.in_flight[subject] > 1:
            self.overlapping.append(subject)
        try:
            return web.Response(status=await self.answer(event))
        finally:
            self.in_flight[subject] -= 1
            self.finished += 1
