"""What the ledger refuses.

LedgerError
├── NotAllowed      the transition is not in the table
├── Overtaken       somebody else moved it since it was read: read again
├── Duplicate       a unique key is taken by something else
├── Unknown         there is no such order, refund or payout
├── NotCovered      a refund would exceed what was captured
└── WrongSchema     the database was made by another version
"""


class LedgerError(Exception):
    """The ledger refuses; nothing was changed."""


class NotAllowed(LedgerError):
    """`trigger` leads nowhere from `place`."""

    def __init__(self, place: str, trigger: str) -> None:
        super().__init__(place, trigger)
        self.place = place
        self.trigger = trigger

    def __str__(self) -> str:
        return f"{self.place}: {self.trigger} is not allowed"


class Overtaken(LedgerError):
    """A compare-and-set found something else than was read before."""


class Duplicate(LedgerError):
    """An order id, an idempotency key or the nonce of an authorization belongs to something else already."""


class Unknown(LedgerError):
    """There is nothing of that id."""


class NotCovered(LedgerError):
    """The refunds of an order, reserved ones too, would be more than was captured. Amounts in smallest units."""

    def __init__(self, asked: int, left: int) -> None:
        super().__init__(asked, left)
        self.asked = asked
        self.left = left

    def __str__(self) -> str:
        return f"refund of {self.asked} units: {self.left} are left of the capture"


class WrongSchema(LedgerError):
    """The tables are those of another version of this library."""
