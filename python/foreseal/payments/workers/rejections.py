"""Rejections by the node: their reasons for metrics, and a log whose rate is limited."""

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

# Lines in each interval; further rejections are counted and reported by the next line.
_MAX_LINES = 5
# Seconds.
_INTERVAL = 10.0
# Parts of the messages of geth, reth, anvil, Nethermind and Erigon, by reason. The first match applies.
_REASONS = (
    ("insufficient_funds", ("insufficient funds", "insufficient balance", "insufficientfunds")),
    ("fee_too_low", ("less than block base fee", "underpriced", "fee too low", "feetoolow")),
    ("gas_limit", ("gas limit", "intrinsic gas", "out of gas")),
    ("pool_full", ("pool is full", "txpool", "pool limit", "account limit")),
    ("nonce", ("nonce",)),
    ("chain_id", ("chain id", "chainid")),
)
_OTHER = "other"
REJECTION_REASONS = (*(reason for reason, _ in _REASONS), _OTHER)
"""All reasons, as codes."""


def rejection_reason(message: str) -> str:
    """Return the reason for a node's message, as a code: `other` if no reason matches."""
    text = message.lower()
    return next((reason for reason, parts in _REASONS if any(part in text for part in parts)), _OTHER)


class RejectionLog:
    """Log of rejections. For any thread."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Set up the log. `clock` is monotonic, in seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._began = clock() - _INTERVAL
        self._lines = 0
        self._suppressed = 0

    def record(self, subject: str, id: str, message: str) -> None:
        """Log a rejection, unless too many were logged recently."""
        with self._lock:
            now = self._clock()
            if now - self._began >= _INTERVAL:
                self._began, self._lines = now, 0
            if self._lines >= _MAX_LINES:
                self._suppressed += 1
                return
            self._lines += 1
            suppressed, self._suppressed = self._suppressed, 0
        fields = {"table": subject, "id": id, "error": message[:300], "suppressed": suppressed}
        log.warning("the node rejected a transaction", extra=fields)
