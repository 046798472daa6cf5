"""State of a batch in progress."""

import asyncio
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from foreseal.rpc.core_protocol import CallOutcome, CallReader
from foreseal.rpc.limits import ResponseBudget
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.rpc.session import RequestExchange

if TYPE_CHECKING:
    from foreseal._core import ParsedCall

# Most calls of a batch on worker threads at a time, so that one batch cannot fill a lane's queue.
_MAX_WAITING = 32


class WaitingCall(NamedTuple):
    """A call of a batch on a worker thread."""

    position: int
    """Position in the batch."""
    ident: bytes | None
    """JSON of its id; None for a notification."""
    method: str
    begun: float
    outcome: asyncio.Future[CallOutcome]


@dataclass(slots=True)
class Batch:
    """The calls of a batch, all answered from one view, and their answers."""

    requests: "list[ParsedCall]"
    view: CallReader
    allowance: ResponseBudget
    exchange: RequestExchange | None
    limiter: RateLimiter | None
    next: int = 0
    """Index of the first call that is not started."""
    waiting: deque[WaitingCall] = field(default_factory=deque)
    answers: list[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.answers = [b""] * len(self.requests)

    @property
    def is_unstarted(self) -> bool:
        """True if a call is left that is not started."""
        return self.next < len(self.requests)

    @property
    def is_full(self) -> bool:
        """True if a call must end before another one may start."""
        waiting = len(self.waiting)
        return waiting >= _MAX_WAITING or (waiting > 0 and self.limiter is not None and self.limiter.is_full)
