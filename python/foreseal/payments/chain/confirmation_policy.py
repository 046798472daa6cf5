"""Confirmation policies, and the chain's newest, safe and final blocks."""

from dataclasses import dataclass
from enum import StrEnum

from foreseal.payments.chain import node_requests
from foreseal.payments.chain.errors import ChainReorganized, Incomplete
from foreseal.payments.chain.node import ChainNode
from foreseal.payments.chain.request_batch import RequestBatch


class ConfirmationTier(StrEnum):
    """Condition that makes a transfer confirmed."""

    PRECONFIRMED = "pre-confirmed"
    """The node shows it at `pending`."""
    SEALED = "sealed"
    """A sealed block includes it."""
    BLOCKS = "blocks"
    """Its block and the blocks above it reach the required number."""
    SAFE = "safe"
    """Its block is `safe`."""
    FINALIZED = "finalized"
    """Its block is `finalized`."""


HIGHEST_TIER = 2**63 - 1
"""Upper bound of block numbers."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Numbers of the newest blocks, read before the blocks that are compared with them.

    -1 if the block does not exist yet.
    """

    latest: int
    safe: int
    finalized: int


@dataclass(frozen=True, slots=True)
class ConfirmationPolicy:
    """A confirmation tier. `blocks` applies to `ConfirmationTier.BLOCKS` only."""

    tier: ConfirmationTier = ConfirmationTier.BLOCKS
    blocks: int = 12

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ValueError(f"blocks: {self.blocks} must be at least 1")

    def met(self, number: int, heads: Heads) -> bool:
        """Return True if a block with this number satisfies the policy."""
        return number <= self.reach(heads)

    def reach(self, heads: Heads) -> int:
        """Return the number of the newest block that satisfies the policy."""
        match self.tier:
            case ConfirmationTier.PRECONFIRMED:
                return HIGHEST_TIER
            case ConfirmationTier.SEALED:
                return heads.latest
            case ConfirmationTier.BLOCKS:
                return heads.latest - self.blocks + 1
            case ConfirmationTier.SAFE:
                return heads.safe
            case ConfirmationTier.FINALIZED:
                return heads.finalized


def heads(node: ChainNode) -> Heads:
    """Return the newest blocks. Raises the node's errors, and `Incomplete` if there is no latest block.

    Raises `ChainReorganized` if a safe or final block is above the newest. In that case two nodes answered, and one
    lacks the block that the other calls final.
    """
    batch = RequestBatch()
    answers = [batch.add(node_requests.head(name)) for name in ("finalized", "safe", "latest")]
    batch.execute(node)
    blocks = [answer.result() for answer in answers]
    if blocks[-1] is None:
        raise Incomplete("the node has no latest block")
    finalized, safe, latest = (-1 if head is None else head.number for head in blocks)
    if max(safe, finalized) > latest:
        raise ChainReorganized(
            f"block {max(safe, finalized)} is final or safe, but the newest block is {latest}: retry"
        )
    return Heads(latest, safe, finalized)
