"""Options of a client."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from foreseal.client.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a client; times are in seconds."""

    key: str | None = field(default=None, repr=False)
    """API key, sent with every request and handshake."""
    timeout: float = 10.0
    """Time limit of one response; each retry starts it again."""
    attempts: int = 3
    """Maximum attempts at a call that is safe to retry. 1: no retries."""
    backoff: Backoff = field(default_factory=Backoff)
    """Delays between attempts, and between the connections of a feed."""
    heartbeat_timeout: float = 5.0
    """A feed that receives no message for this long, not even a heartbeat, reconnects. Use several step intervals."""
    reconnect_timeout: float | None = None
    """A feed that was connected fails after the node is unreachable for this long; None: it retries forever."""
    poll_interval: float = 0.2
    """Interval between two polls without a WebSocket."""
    page_size: int = 100
    """Maximum steps per page of a polling feed."""
    max_message_size: int = 256 * 1024 * 1024
    """Maximum size of a response or a step over WebSocket, in bytes; a larger message ends the connection."""
    max_response_size: int | None = None
    """Maximum size of a response over HTTP, in bytes; a larger one raises `InvalidResponse`. None: no limit."""
    clock: Callable[[], float] = time.monotonic
    """Monotonic clock in seconds, with any origin."""
    random: Callable[[], float] = random.random
    """Source of random numbers from 0 to 1."""

    def headers(self) -> dict[str, str]:
        """Return the authentication headers."""
        return {} if self.key is None else {"authorization": f"Bearer {self.key}"}
