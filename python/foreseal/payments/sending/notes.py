"""What a delivery, or a receipt, means for the thing that it is for."""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, Row, Table

from foreseal.payments.chain import Receipt
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import EFFECTED, Ledger, Step, Trigger, locked
from foreseal.payments.ledger.tables import Ending
from foreseal.payments.sending.intents import close, is_open
from foreseal.payments.sending.sender import Delivered, Delivery, Outcome

Shown = Callable[[Row[Any], Receipt], dict[str, Any] | None]
"""Gives, for the timeline, where a receipt's logs show the effect; None where they do not."""

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


def note_outcome(ledger: Ledger, tx: Connection, table: Table, id: str, outcome: Outcome, shown: Shown) -> bool:
    """Move a refund, payout or settlement on to where its transaction is, which is closed once that is final.

    False if another process was faster, and may have begun the next one. Raises what `shown` raises.
    """
    row = locked(tx, table, id)
    if not is_open(tx, outcome.intent):
        return False
    receipt, step = outcome.receipt, outcome.step
    details = {} if receipt is None else {"transaction": receipt.transaction_hash, "block": receipt.block_hash}
    logs = None if receipt is None else shown(row, receipt)
    if logs is not None:
        details |= logs
        if row.step not in EFFECTED:
            row = ledger.move(tx, table, row, Trigger.LANDED, **details)
        ledger.follow(tx, table, row, step, **details)
    else:
        if row.step in EFFECTED:
            row = ledger.move(tx, table, row, Trigger.REOPEN)
        if step in (Step.FINAL, Step.FAILED):
            ledger.move(tx, table, row, Trigger.FAIL, **details)
    if step in (Step.FINAL, Step.FAILED):
        close(tx, outcome.intent, Ending.FINAL if step is Step.FINAL else Ending.DISPLACED)
    return True
