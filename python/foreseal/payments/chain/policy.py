"""When a transfer counts: policies of confirmation, and how safe a block is."""

from dataclasses import dataclass
from enum import StrEnum

from foreseal.payments.chain.errors import Incomplete, Moving
from foreseal.payments.chain.node import Node


class Tier(StrEnum):
    """What has to be so before a transfer is confirmed."""

    PRECONFIRMED = "pre-confirmed"
    """The node shows it on `pending`."""
    SEALED = "sealed"
    """It is in a block."""
    BLOCKS = "blocks"
    """Its block and those on top of it are so many."""
    SAFE = "safe"
    """Its block is `safe`."""
    FINALIZED = "finalized"
    """Its block is `finalized`."""


HIGHEST = 2**63 - 1
"""No block has a higher number."""


@dataclass(frozen=True, slots=True)
class Heads:
    """Numbers of the newest blocks, read before what they are compared with. -1: there is none yet."""

    latest: int
    safe: int
    finalized: int


@dataclass(frozen=True, slots=True)
class Policy:
    """A tier; of `BLOCKS` with how many."""

    tier: Tier = Tier.BLOCKS
    blocks: int = 12

    def __post_init__(self) -> None:
        if self.blocks < 1:
            raise ValueError(f"blocks: {self.blocks} is less than 1")

    def met(self, number: int, heads: Heads) -> bool:
        """Whether a block of this number is deep enough."""
        return number <= self.reach(heads)

    def reach(self, heads: Heads) -> int:
        """Number of the newest block that is deep enough."""
        match self.tier:
            case Tier.PRECONFIRMED:
                return HIGHEST
            case Tier.SEALED:
                return heads.latest
            case Tier.BLOCKS:
                return heads.latest - self.blocks + 1
            case Tier.SAFE:
                return heads.safe
            case Tier.FINALIZED:
                return heads.finalized


def heads(node: Node) -> Heads:
    """The newest blocks now. Raises what the node raises, and `Incomplete` without a latest block.

    Raises `Moving` if a final block is above the newest: then two nodes answered, and what one calls final the other
    does not have.
    """
    found = [node.head(name) for name in ("finalized", "safe", "latest")]
    if found[-1] is None:
        raise Incomplete("the node has no latest block")
    finalized, safe, latest = (-1 if each is None else each.number for each in found)
    if max(safe, finalized) > latest:
        raise Moving(f"block {max(safe, finalized)} is final or safe, and the newest is {latest}: ask again")
    return Heads(latest, safe, finalized)
