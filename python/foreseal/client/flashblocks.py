"""Flashblocks: the steps in which a block grows, and their cursors."""

from dataclasses import dataclass, field

from foreseal.client.blocks import Header
from foreseal.client.cursor import Cursor
from foreseal.client.json_model import JsonModel
from foreseal.client.transactions import Receipt, Transaction


@dataclass(frozen=True, slots=True)
class Flashblock(JsonModel):
    """One step: the transactions and changes that it adds to its block."""

    number: int
    index: int
    hash: str
    """Hash of the block as if it were sealed at this step; for the last step, hash of the sealed block."""
    parent: str
    """Hash of the step before; at index 0, hash of the parent block, which equals that of its last step."""
    time: int | None
    """Time of production in ms since 1970."""
    signature: str | None
    """Signature of the sequencer (EIP-712), 65 bytes."""
    header: Header
    transactions: tuple[Transaction, ...]
    receipts: tuple[Receipt, ...]
    removed: bool = field(default=False)
    """True if this message reports the step as reorged."""

    @property
    def cursor(self) -> Cursor:
        """Block number, index and hash of the step."""
        return Cursor(self.number, self.index, self.hash)


@dataclass(frozen=True, slots=True)
class FlashblockPage(JsonModel):
    """Steps after a cursor."""

    flashblocks: tuple[Flashblock, ...]
    """Steps in order; those with `removed` are reorged, newest first."""
    cursor: Cursor
    """Cursor of the next page."""
    complete: bool
    """True if there are no more steps for now."""


@dataclass(frozen=True, slots=True)
class StepAdded:
    """A step was pre-confirmed, or a block was imported as one step."""

    flashblock: Flashblock
    cursor: Cursor
    """Cursor to save once this event is processed."""

    @property
    def sealed(self) -> int | None:
        """Number of the block that this step seals, if it is the first of the next block; otherwise None."""
        return self.flashblock.number - 1 if self.flashblock.index == 0 and self.flashblock.number else None


@dataclass(frozen=True, slots=True)
class StepRemoved:
    """A step was reorged: the step and its contents are no longer on the chain."""

    flashblock: Flashblock
    cursor: Cursor
    """Cursor of the step before, to save once this event is processed."""

    @property
    def unsealed(self) -> int | None:
        """Number of the block that is no longer sealed, if the first step of the next one was reorged."""
        return self.flashblock.number - 1 if self.flashblock.index == 0 and self.flashblock.number else None


Event = StepAdded | StepRemoved
"""An event of a feed; each is delivered once and in order."""
