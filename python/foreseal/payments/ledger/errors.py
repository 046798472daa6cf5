"""Errors of the ledger.

```text
LedgerError
├── TransitionNotAllowed  the transition is not in the table
├── ConcurrentUpdate      the row changed since it was read: read again
├── DuplicateRecord       a unique key belongs to another row
├── UnknownRecord         the order, refund or payout does not exist
├── InsufficientAmount    a refund would exceed the captured amount
├── WrongSchema           another version created the database
│   └── UpgradeBlocked    another program has locked its tables
└── PoolerRefused         a pooler changes the session of a connection
```
"""


class LedgerError(Exception):
    """The ledger rejected an operation; nothing was changed."""


class TransitionNotAllowed(LedgerError):
    """No transition from `status` exists for `trigger`."""

    def __init__(self, status: str, trigger: str) -> None:
        super().__init__(status, trigger)
        self.status = status
        self.trigger = trigger

    def __str__(self) -> str:
        return f"{self.status}: {self.trigger} is not allowed"


class ConcurrentUpdate(LedgerError):
    """A compare-and-set found another state than the one read before."""


class DuplicateRecord(LedgerError):
    """Another row already has the order id, the idempotency key or the nonce of the authorization."""


class UnknownRecord(LedgerError):
    """No row has this id."""


class InsufficientAmount(LedgerError):
    """The refunds of an order, including reserved ones, would exceed its capture. Amounts are in smallest units."""

    def __init__(self, requested: int | None, left: int) -> None:
        super().__init__(requested, left)
        self.requested = requested
        """None if the remainder was requested."""
        self.left = left

    def __str__(self) -> str:
        if self.requested is None:
            return "nothing remains of the capture to refund"
        return f"refund of {self.requested} units: {self.left} remain of the capture"


class WrongSchema(LedgerError):
    """Another version of this library created the tables."""


class UpgradeBlocked(WrongSchema):
    """The upgrade got no lock in time. The database has its earlier schema."""


class OptionRefused(LedgerError, ValueError):
    """The URL of a database has an option that is not one of its connections."""


class PoolerRefused(LedgerError):
    """A pooler gives the transactions of one connection to several server sessions."""
