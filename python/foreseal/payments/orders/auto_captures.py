"""Captures without a request: orders that are captured as soon as their signature is stored.

The capture is attempted when the signature is stored. If it is not possible then, or if the process crashes before the
attempt, the worker attempts it until the order is captured, voided or expired.
"""

from sqlalchemy import select, update

from foreseal.payments.chain import ChainError
from foreseal.payments.ledger import ConcurrentUpdate, Ledger, OrderState, TransitionNotAllowed, TxStatus, read
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.orders.capture_checks import CaptureRejection, NotCapturable
from foreseal.payments.orders.captures import Captures
from foreseal.payments.signatures import InvalidSignature
from foreseal.payments.transactions import SendingError

# Maximum characters of a stored error.
_LONGEST_ERROR = 500


class AutoCaptures:
    """Captures of stored orders with `auto_capture`."""

    def __init__(self, ledger: Ledger, captures: Captures) -> None:
        self._ledger = ledger
        self._captures = captures

    def waiting(self) -> list[str]:
        """Return the orders to capture: stored, without any capture yet, and already valid.

        An order whose capture failed is not among them: the failure may need a decision of the merchant.
        """
        stored = (OrderRecord.state == OrderState.STORED) & (OrderRecord.step == TxStatus.IDLE)
        begun = OrderRecord.valid_after < self._ledger.clock()
        query = select(OrderRecord.id).where(stored, OrderRecord.auto_capture.is_(True), begun)
        with self._ledger.database.reading() as tx:
            return list(tx.execute(query.order_by(OrderRecord.id)).scalars())

    def attempt(self, id: str) -> CaptureRejection | None:
        """Capture an order. Return the reason if it is not possible now; the order then has it as `last_error`.

        An order that is no longer waiting is unchanged. Raises `UnknownRecord` and the database's errors.
        """
        with self._ledger.database.reading() as tx:
            before = read(tx, OrderRecord, id).last_error
        try:
            self._captures.capture(id)
        except (TransitionNotAllowed, ConcurrentUpdate):  # another process or a request was faster, or it is void
            return None
        except (NotCapturable, InvalidSignature, SendingError, ChainError) as error:
            self._replace_error(id, before, str(error)[:_LONGEST_ERROR])
            return error
        self._replace_error(id, before, None)
        return None

    def _replace_error(self, id: str, before: str | None, after: str | None) -> None:
        """Store the error of this attempt, unless another writer has replaced the earlier one."""
        if before == after:
            return
        same = OrderRecord.last_error.is_(None) if before is None else OrderRecord.last_error == before
        with self._ledger.database.transaction() as tx:
            tx.execute(update(OrderRecord).where(OrderRecord.id == id, same).values({OrderRecord.last_error: after}))
