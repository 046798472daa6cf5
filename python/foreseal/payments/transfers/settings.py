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
    batch_capture: str | None = None
    """Contract that receives captures for the recipient."""
    min_transfer: int = 1
    """Amount in smallest units below which a transfer is ignored: anybody can send transfers of 0."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "token", address(self.token, "token"))
        object.__setattr__(self, "recipient", address(self.recipient, "recipient"))
        if self.batch_capture is not None:
            object.__setattr__(self, "batch_capture", address(self.batch_capture, "batch_capture"))
        if not 1 <= self.widest <= MAX_LOG_RANGE:
            raise ValueError(f"widest: must be between 1 and {MAX_LOG_RANGE}, got {self.widest}")
        if self.overlap < 1 or self.start < 0:
            raise ValueError("overlap must be at least 1, start at least 0")
        if self.min_transfer < 1:
            raise ValueError(f"min_transfer: must be at least 1, got {self.min_transfer}")

    @property
    def recipients(self) -> tuple[str, ...]:
        """All accounts whose incoming transfers are watched."""
        return (self.recipient,) if self.batch_capture is None else (self.recipient, self.batch_capture)

    @property
    def cursor_key(self) -> str:
        """Address under which the cursors are stored.

        The first scan with a batch capture contract begins at `start`, because the contract may have received before.
        """
        return self.batch_capture or self.recipient
