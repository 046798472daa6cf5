"""What a client may be told."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from foreseal.client.backoff import Backoff


@dataclass(frozen=True, slots=True)
class Options:
    """Times are seconds."""

    key: str | None = field(default=None, repr=False)
    """API key, sent with every request and handshake."""
    timeout: float = 10.0
    """For one answer; a repetition has it anew."""
    attempts: int = 3
    """How often a call is tried at most, where repeating it is safe. 1: never again."""
    backoff: Backoff = field(default_factory=Backoff)
    """Between attempts, and between the connections of a feed."""
    silence: float = 5.0
    """A feed that hears nothing for so long, not even a heartbeat, connects anew. Give several steps of the node."""
    patience: float | None = None
    """A feed that was connected gives up after so long without the node; None: it never does."""
    poll: float = 0.2
    """Between two questions whether there is anything new, where there is no WebSocket."""
    page: int = 100
    """Most steps of a page that a polling feed asks for."""
    largest_message: int = 256 * 1024 * 1024
    """Bytes of an answer or a step over WebSocket; a larger one ends the connection."""
    clock: Callable[[], float] = time.monotonic
    """Seconds from any beginning."""
    random: Callable[[], float] = random.random
    """From 0 to 1."""

    def headers(self) -> dict[str, str]:
        """What says who calls."""
        return {} if self.key is None else {"authorization": f"Bearer {self.key}"}
