"""What a delivery means for the thing that it is for."""

from sqlalchemy import Table

from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, Trigger, locked
from foreseal.payments.sending.sender import Delivered, Delivery

_TRIGGERS = {Delivery.TAKEN: Trigger.TAKEN, Delivery.UNKNOWN: Trigger.LOST}


def note_delivery(ledger: Ledger, table: Table, id: str, delivered: Delivered) -> None:
    """Move an order, refund or payout on by what the node answered; where that says nothing new, leave it.

    What the node refused stays intended: nothing was done, and the same bytes are sent again.
    """
    trigger = _TRIGGERS.get(delivered.delivery)
    # Lost with the power, the same bytes are sent once more.
    with ledger.database.transaction(durable=False) as tx:
        row = locked(tx, table, id)
        if trigger is not None and ledger.allows(table, row, trigger):
            ledger.move(tx, table, row, trigger, **({"node": delivered.message} if delivered.message else {}))
    ledger.passed(CrashPoint.TRANSACTION_NOTED)
