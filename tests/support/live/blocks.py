"""Waits with deadlines, and reads of a block that must stay pending meanwhile."""

import time
from collections.abc import Callable
from typing import TypeVar

from live.rpc import Rpc

T = TypeVar("T")

# Seconds between two checks of a condition.
LOOK = 0.01
# Blocks that `in_one_block` tries.
ATTEMPTS = 5


def wait_for(look: Callable[[], T | None], seconds: float, what: str, explain: Callable[[], str] = str) -> T:
    """Call `look` until its result is truthy, and return the result.

    Fail after `seconds`, with `what` in the message.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = look()
        if answer:
            return answer
        details = explain()
        assert time.monotonic() < deadline, f"no {what} within {seconds} s. {details}"
        time.sleep(LOOK)


def pending_number(rpc: Rpc) -> int:
    """Return the number of the pending block."""
    return int(rpc("eth_getBlockByNumber", "pending", False)["number"], 16)


def wait_for_block(rpc: Rpc, number: int, seconds: float = 30) -> None:
    """Wait until the block is sealed."""
    wait_for(lambda: int(rpc("eth_blockNumber"), 16) >= number, seconds, f"sealed block {number}")


def in_one_block(rpc: Rpc, act: Callable[[int], T]) -> T:
    """Run `act` with the number of a block that is pending from its start to its end.

    If the block is sealed meanwhile, `act` runs again at the start of another one, whether it failed or not. So it must
    be repeatable.
    """
    last: AssertionError | None = None
    for attempt in range(ATTEMPTS):
        number = pending_number(rpc)
        if attempt:
            wait_for_block(rpc, number)
            number += 1
        try:
            result = act(number)
        except AssertionError as error:
            if pending_number(rpc) == number:
                raise
            last = error
            continue
        if pending_number(rpc) == number:
            return result
    raise AssertionError(f"{ATTEMPTS} blocks were sealed before the test had looked into one of them") from last
