"""Waiting with deadlines, and looking into a block that must not be sealed meanwhile."""

import time
from collections.abc import Callable
from typing import TypeVar

from live.rpc import Rpc

T = TypeVar("T")

# How often a condition is looked at.
LOOK = 0.01
# Blocks that `in_one_block` tries.
ATTEMPTS = 5


def wait_for(look: Callable[[], T | None], seconds: float, what: str, explain: Callable[[], str] = str) -> T:
    """Call `look` until it returns something true, and return that. Fails, naming `what`, after `seconds`."""
    deadline = time.monotonic() + seconds
    while True:
        found = look()
        if found:
            return found
        details = explain()
        assert time.monotonic() < deadline, f"no {what} within {seconds} s. {details}"
        time.sleep(LOOK)


def pending_number(rpc: Rpc) -> int:
    """Number of the block that is being built."""
    return int(rpc("eth_getBlockByNumber", "pending", False)["number"], 16)


def wait_for_block(rpc: Rpc, number: int, seconds: float = 30) -> None:
    """Wait until the block is sealed."""
    wait_for(lambda: int(rpc("eth_blockNumber"), 16) >= number, seconds, f"sealed block {number}")


def in_one_block(rpc: Rpc, act: Callable[[int], T]) -> T:
    """Run `act` with the number of a block that is pending from its start to its end.

    Where the block was sealed meanwhile, whether `act` failed or not, it runs again at the start of another one. So it
    must be able to run twice.
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
