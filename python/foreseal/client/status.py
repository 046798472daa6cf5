"""What a node says about itself."""

from dataclasses import dataclass

from foreseal.client.shapes import Shape


@dataclass(frozen=True, slots=True)
class PoolStatus(Shape):
    """What waits to be executed."""

    pooled: int
    queued: int
    """Of these, transactions that wait for an earlier nonce or for funds."""
    bytes: int
    start: str
    """new, restored or lost: how the pool began when the node started."""


@dataclass(frozen=True, slots=True)
class StoreStatus(Shape):
    """How far the store on disk is behind."""

    head: int | None
    """Its newest block."""
    backlog: int
    """Sealed blocks that are not stored yet."""
    share: float
    """How much the builder takes for that; 1 is all it can."""
    bytes: int
    reason: str | None
    """Why it failed, where it did."""


@dataclass(frozen=True, slots=True)
class Status(Shape):
    """How far a node is, and how fresh. Positions are None while it reads its journal."""

    block: int | None
    """Number of the block being built."""
    index: int | None
    """Of its newest step."""
    hash: str | None
    """Of its newest step."""
    latest: int | None
    safe: int | None
    finalized: int | None
    age: int
    """Ms since the last tick."""
    role: str
    lag: int
    """Ms that a follower is behind."""
    phase: str
    producing: bool
    signer: str | None
    """Address of the key that signs the steps."""
    reason: str | None
    """Why it failed, where it did."""
    pool: PoolStatus
    store: StoreStatus | None
