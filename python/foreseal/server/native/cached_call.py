"""The last call of a connection: most clients send the same head with every call."""

from dataclasses import dataclass
from typing import Any

from foreseal.rpc.dispatch import Dispatcher
from foreseal.rpc.rate_limiter import RateLimiter
from foreseal.server.auth.callers import Caller
from foreseal.server.auth.origins import Headers

MAX_HEAD = 4 * 1024
"""Largest head that is cached, in bytes; each connection has one."""


@dataclass(frozen=True, slots=True)
class CachedCall:
    """A call that arrived in one segment: its head, and everything derived from it.

    It is replaced as a whole. A request with the same head and size comes from the same caller.
    """

    head: bytes
    size: int
    """Size of head and body in bytes."""
    headers: Headers
    caller: Caller | None
    dispatcher: Dispatcher | None
    """Answers such calls in the core; None if each needs a check."""

    @property
    def limiter(self) -> RateLimiter | None:
        """Budgets of the caller."""
        return None if self.caller is None else self.caller.limiter

    @property
    def scheduled(self) -> Any:
        """Caller of the core."""
        limiter = self.limiter
        return None if limiter is None else limiter.scheduled


NO_CALL = CachedCall(b"", -1, {}, None, None)
