"""Settings of a watcher of transfers."""

from dataclasses import dataclass, field

from foreseal.payments.chain import ConfirmationPolicy
from foreseal.payments.transfers.authorization_logs import MAX_LOG_RANGE
from foreseal.payments.typed_data import address


@dataclass(frozen=True, slots=True)
class WatcherSettings:
    """Settings of a watcher."""

    chain_id: int
    token: str
    recipient: str
    start: int = 0
    """First block whose transfers count."""
    policy: ConfirmationPolicy = field(default_factory=ConfirmationPolicy)
    overlap: int = 12
    """Number of blocks below the newest cursor that are always read again: the confirmation depth."""
    widest: int = MAX_LOG_RANGE
    """Maximum block range of one eth_getLogs."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "token", address(self.token, "token"))
        object.__setattr__(self, "recipient", address(self.recipient, "recipient"))
        if not 1 <= self.widest <= MAX_LOG_RANGE:
            raise ValueError(f"widest: must be between 1 and {MAX_LOG_RANGE}, got {self.widest}")
        if self.overlap < 1 or self.start < 0:
            raise ValueError("overlap must be at least 1, start at least 0")
