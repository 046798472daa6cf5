"""Status of a node."""

from dataclasses import dataclass

from foreseal.client.json_model import JsonModel


@dataclass(frozen=True, slots=True)
class PoolStatus(JsonModel):
    """Transactions in the pool."""

    pooled: int
    queued: int
    """Transactions in the pool that wait for an earlier nonce or for funds."""
    bytes: int
    start: str
    """Origin of the pool at the node's start: new, restored or lost."""


@dataclass(frozen=True, slots=True)
class StoreStatus(JsonModel):
    """Backlog of the store on disk."""

    head: int | None
    """Number of the newest stored block."""
    backlog: int
    """Sealed blocks that are not stored yet."""
    share: float
    """Builder throttle: 1 is unthrottled."""
    bytes: int
    reason: str | None
    """Reason of a failure, if it failed."""


@dataclass(frozen=True, slots=True)
class Status(JsonModel):
    """Progress and freshness of a node. Positions are None while it replays its journal."""

    block: int | None
    """Number of the block under construction."""
    index: int | None
    """Index of the newest step."""
    hash: str | None
    """Hash of the newest step."""
    latest: int | None
    safe: int | None
    finalized: int | None
    age: int
    """Milliseconds since the last tick."""
    role: str
    lag: int
    """Appends that a follower lacks."""
    phase: str
    producing: bool
    signer: str | None
    """Address of the key that signs the steps."""
    reason: str | None
    """Reason of a failure, if it failed."""
    pool: PoolStatus
    store: StoreStatus | None
