"""Flashblocks: the steps in which a block grows, and their places."""

from dataclasses import dataclass, field

from foreseal.client.blocks import Header
from foreseal.client.place import Place
from foreseal.client.shapes import Shape
from foreseal.client.transactions import Receipt, Transaction


@dataclass(frozen=True, slots=True)
class Flashblock(Shape):
    """One step: what it added to its block."""

    number: int
    index: int
    hash: str
    """Of the block as if it were sealed at this step; of the last step it is the sealed block's."""
    parent: str
    """Hash of the step before; at index 0, of the parent block, which is that of its last step."""
    time: int | None
    """When it was made, ms since 1970."""
    signature: str | None
    """65 bytes: the sequencer's (EIP-712)."""
    header: Header
    transactions: tuple[Transaction, ...]
    receipts: tuple[Receipt, ...]
    removed: bool = field(default=False)
    """Whether this tells that the step was undone."""

    @property
    def place(self) -> Place:
        """Where it is."""
        return Place(self.number, self.index, self.hash)


@dataclass(frozen=True, slots=True)
class FlashblockPage(Shape):
    """Steps after a cursor."""

    flashblocks: tuple[Flashblock, ...]
    """In order; those with `removed` are undone, the newest first."""
    cursor: Place
    """Of the next page."""
    complete: bool
    """Whether there is nothing more for now."""


@dataclass(frozen=True, slots=True)
class StepAdded:
    """A step was pre-confirmed, or a block was imported as one step."""

    flashblock: Flashblock
    place: Place
    """The cursor to save once this event is dealt with."""

    @property
    def sealed(self) -> int | None:
        """Number of the block that is sealed since this step, the first of the next block; otherwise None."""
        return self.flashblock.number - 1 if self.flashblock.index == 0 and self.flashblock.number else None


@dataclass(frozen=True, slots=True)
class StepRemoved:
    """A step was undone: it is not on the chain any more, nor is anything in it."""

    flashblock: Flashblock
    place: Place
    """Of the step before, the cursor to save once this event is dealt with."""

    @property
    def unsealed(self) -> int | None:
        """Number of the block that is no longer sealed, if the first step of the next one was undone."""
        return self.flashblock.number - 1 if self.flashblock.index == 0 and self.flashblock.number else None


Event = StepAdded | StepRemoved
"""What a feed tells, each once and in order."""
