"""A child process of the campaign: it works until its standard input ends."""

import asyncio
import contextlib
import sys
from collections.abc import Coroutine
from typing import Any


def run_until_input_ends(work: Coroutine[Any, Any, None]) -> None:
    """Run `work` until standard input or the work ends."""

    async def run() -> None:
        working = asyncio.create_task(work)
        ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
        await asyncio.wait({working, asyncio.ensure_future(ended)}, return_when=asyncio.FIRST_COMPLETED)
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working

    asyncio.run(run())
