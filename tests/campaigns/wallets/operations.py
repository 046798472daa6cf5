"""Operations of the payment side at an entrance, for several payers at the same time."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from payments.people import SHOP
from wallets.market import Market
from wallets.people import Payer

ACCEPTED = "accepted"


@dataclass(slots=True)
class Sale:
    """An operation for one payer, and what came of it."""

    payer: Payer
    id: str
    answer: str = ""
    """ACCEPTED, or the reason of the rejection."""
    goods: int = 0
    """Value of the delivered goods in smallest units."""
    done: bool = False
    """True if the operation has its effect on the chain."""

    @property
    def accepted(self) -> bool:
        """True if the operation was accepted."""
        return self.answer == ACCEPTED


class Operation(ABC):
    """An operation at an entrance."""

    name: ClassVar[str]
    entrance: ClassVar[str]
    account: ClassVar[str] = SHOP.address
    """Account that pays the gas."""
    runs_code: ClassVar[bool] = True
    """True if code of the payer may run in the transaction."""
    moves_tokens: ClassVar[bool] = True
    """True if tokens of the payer move in the transaction."""
    repeats: ClassVar[bool] = False
    """True if the payer repeats the request after a failure is final."""
    only_batched: ClassVar[bool | None] = None
    """True or False if the operation exists only with, or only without, the batch capture contract."""

    def prepare(self, market: Market, sale: Sale) -> None:  # noqa: B027 - most operations need nothing
        """Do what precedes the operation, while the wallet is honest."""

    @abstractmethod
    def act(self, market: Market, sales: Sequence[Sale]) -> None:
        """Request the operation for each payer, in this order, and set the answers."""

    def finish(self, market: Market, sale: Sale) -> None:  # noqa: B027 - a response already has goods and effect
        """Set goods and effect once everything is final."""
