"""foreseal.server.asgi.body_timeouts: time limits of bodies, and stopped readers."""

import asyncio

import pytest

from foreseal.server.asgi.body_timeouts import BodyTimeouts

MOST = 200


async def read(bodies: BodyTimeouts, seconds: float) -> str:
    """Read a body that takes this many seconds."""
    task = bodies.begin()
    try:
        await asyncio.sleep(seconds)
    except asyncio.CancelledError:
        if not bodies.was_late(task):
            raise
        # It may still await: it responds.
        await asyncio.sleep(0)
        return "late"
    finally:
        bodies.end(task)
    return "read"


async def test_body_timeout_is_between_half_and_the_full_limit() -> None:
    loop = asyncio.get_running_loop()
    bodies = BodyTimeouts(loop, MOST)
    began = loop.time()
    slow = [asyncio.create_task(read(bodies, 60)) for _ in range(3)]
    quick = [asyncio.create_task(read(bodies, seconds)) for seconds in (0, MOST / 4000)]
    assert await asyncio.gather(*slow, *quick) == ["late"] * 3 + ["read"] * 2
    assert loop.time() - began >= MOST / 2000
    assert all(not task.cancelling() for task in slow)
    bodies.stop()


def test_time_after_the_body_does_not_count() -> None:
    async def run() -> str:
        bodies = BodyTimeouts(asyncio.get_running_loop(), MOST)
        outcome = await read(bodies, 0)
        await asyncio.sleep(2.5 * MOST / 1000)
        bodies.stop()
        return outcome

    assert asyncio.run(run()) == "read"


async def test_other_cancellation_is_raised() -> None:
    bodies = BodyTimeouts(asyncio.get_running_loop(), MOST)
    task = asyncio.create_task(read(bodies, 60))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    bodies.stop()
