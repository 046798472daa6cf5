"""Request bodies that end when a test releases them."""

import asyncio
from collections.abc import AsyncIterator


class HeldBodies:
    """Bodies of which the first part is sent, and the rest after the release. For one event loop."""

    def __init__(self) -> None:
        self.begun = 0
        """Bodies that the server has begun to read."""
        self._change = asyncio.Condition()
        self._released = asyncio.Event()

    async def body(self, first: bytes, rest: bytes = b"") -> AsyncIterator[bytes]:
        """Yield a body in two parts."""
        yield first
        async with self._change:  # the reader has processed the first part
            self.begun += 1
            self._change.notify_all()
        await self._released.wait()
        yield rest

    async def wait(self, count: int) -> None:
        """Wait until the first parts of this many bodies have been read."""
        async with asyncio.timeout(30), self._change:
            await self._change.wait_for(lambda: self.begun >= count)

    def release(self) -> None:
        """End all bodies."""
        self._released.set()
