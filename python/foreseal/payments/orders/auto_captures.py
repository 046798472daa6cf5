"""Signatures of orders, with the captures of those that are captured as soon as they are signed.

```text
check  signatures, and what can prevent a capture; one batch of node requests, nothing stored
store  payers, signatures, authorizations, captures, and the reasons against captures; the caller's transaction
send   the stored bytes; one batch
```

If a capture is not possible when the signature is stored, the worker attempts it until the order is captured, voided
or expired.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select, update

from foreseal.payments.chain import ChainError, RequestBatch
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.group_operation import ItemResult
from foreseal.payments.ledger import (
    ConcurrentUpdate,
    Ledger,
    OrderState,
    TransitionNotAllowed,
    TxStatus,
    read,
    read_all,
)
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.queries import ColumnValues, update_all
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.acceptances import Acceptances, CheckedSignature, PayerSignature, check_signatures
from foreseal.payments.orders.capture_checks import CaptureChecks, CaptureRejection, CaptureTarget, NotCapturable
from foreseal.payments.orders.captures import Captures, CheckedCapture, DecidedCapture
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.signatures import InvalidSignature, SignerPath
from foreseal.payments.transactions import (
    GasBudgetInUse,
    GasBudgetSpent,
    SendingError,
    TransactionCall,
    TransactionSender,
    TransactionStillOpen,
)

# Maximum characters of a stored error.
_LONGEST_ERROR = 500


@dataclass(frozen=True, slots=True)
class CheckedAcceptance:
    """A valid signature, and the capture of an order with `auto_capture`."""

    signature: CheckedSignature
    capture: CheckedCapture | CaptureRejection | None
    """Reason if the order cannot be captured now; None for an order that is not captured without a request."""

    @property
    def id(self) -> str:
        """Id of the order."""
        return self.signature.terms.id


@dataclass(frozen=True, slots=True)
class AcceptedOrder:
    """An order whose signature is stored."""

    id: str
    capture: DecidedCapture | None
    """Capture of an order with `auto_capture`."""
    obstacle: CaptureRejection | None
    """Reason why an order with `auto_capture` is not captured yet."""


class AutoCaptures:
    """Signatures of a merchant's orders, and captures of stored orders with `auto_capture`."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, merchant: Merchant) -> None:
        self._ledger = ledger
        self._node = sender.node
        self._acceptances = Acceptances(ledger, sender.node, merchant)
        self._captures = Captures(ledger, sender, merchant, is_automatic=True)
        self._checks = CaptureChecks(sender, merchant)
        self._sender = sender

    def check(self, signatures: Sequence[PayerSignature]) -> list[ItemResult[CheckedAcceptance]]:
        """Return each valid signature with the capture of its order, or the reason against it. Stores nothing.

        A signature of a wallet has a `DeferredCheck` instead.
        """
        return check_signatures(self._node, self._acceptances.find(signatures), self._check)

    def _check(self, signatures: Sequence[CheckedSignature], path: SignerPath) -> list[CheckedAcceptance | Exception]:
        batch = RequestBatch()
        reads = self._acceptances.begin(signatures, batch, path)
        waiting = [each for each in signatures if each.auto_capture]
        if not waiting:
            batch.execute(path.node)
            return [_with_capture(each, None) for each in reads.results()]
        targets = [CaptureTarget(each.terms, each.terms.amount) for each in waiting]
        checks = self._checks.begin(targets, batch, path)
        batch.execute(path.node)
        calls = checks.results()
        spent = self._sender.lost_gas.find_spent([each.terms.payer for each in waiting])
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        captures = {target.order.id: _limited(target, call, spent) for target, call in zip(targets, calls, strict=True)}
        return [_with_capture(each, captures) for each in reads.results()]

    def store(self, tx: Connection, checked: Sequence[CheckedAcceptance]) -> list[AcceptedOrder | Exception]:
        """Store signatures and captures in the caller's transaction. Return each order, or the reason against it.

        Raises `sqlalchemy.exc.IntegrityError`, `ConcurrentUpdate` and `TransactionStillOpen`, which end the
        transaction.
        """
        rejected = self._acceptances.store(tx, [each.signature for each in checked])
        accepted = [each for each in checked if each.id not in rejected]
        captures = [each.capture for each in accepted if isinstance(each.capture, CheckedCapture)]
        obstacles = self._remaining(
            tx, {each.id: each.capture for each in accepted if isinstance(each.capture, Exception)}
        )
        decided: dict[str, DecidedCapture] = {}
        stored = [each.target.order.id for each in captures]
        try:
            with tx.begin_nested():
                # An order that was paid or changed since the check is not captured.
                results = self._captures.store(tx, captures) if captures else []
            decided = {each.id: each for each in results if isinstance(each, DecidedCapture)}
            without_room = (GasBudgetSpent, GasBudgetInUse)
            obstacles |= {id: each for id, each in zip(stored, results, strict=True) if isinstance(each, without_room)}
        except TransactionStillOpen:  # a conflict of one order
            raise
        except SendingError as error:  # the key cannot sign
            obstacles |= dict.fromkeys(stored, error)
        errors = {each.id: None for each in decided.values()} | {
            id: str(error)[:_LONGEST_ERROR] for id, error in obstacles.items()
        }
        writes: list[tuple[ColumnValues, ColumnValues]] = [
            ({OrderRecord.id: id}, {OrderRecord.last_error: error}) for id, error in errors.items()
        ]
        update_all(tx, OrderRecord, writes)
        return [
            rejected.get(each.id) or AcceptedOrder(each.id, decided.get(each.id), obstacles.get(each.id))
            for each in checked
        ]

    @staticmethod
    def _remaining(tx: Connection, obstacles: Mapping[str, CaptureRejection]) -> dict[str, CaptureRejection]:
        """Return the obstacles of orders that still need a capture: an earlier transfer may have paid the others."""
        stored = {row.id for row in read_all(tx, OrderRecord, list(obstacles)) if row.state is OrderState.STORED}
        return {id: obstacle for id, obstacle in obstacles.items() if id in stored}

    def send(self, accepted: Sequence[AcceptedOrder]) -> None:
        """Send new captures, and record the node's answers. Raises nothing of the node."""
        decided = [each.capture for each in accepted if each.capture is not None]
        if decided:
            self._captures.send(decided)

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
            order = read(tx, OrderRecord, id)
        before = order.last_error
        try:
            self._sender.lost_gas.require_budget(assigned_payer(order))
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


def _limited(
    target: CaptureTarget, call: TransactionCall | CaptureRejection, spent: Mapping[str, GasBudgetSpent]
) -> CheckedCapture | CaptureRejection:
    """Return the capture of a target, or the reason against it."""
    if isinstance(call, Exception):
        return call
    return spent.get(assigned_payer(target.order)) or CheckedCapture(target, call)


def _with_capture(
    signature: CheckedSignature | Exception, captures: Mapping[str, CheckedCapture | CaptureRejection] | None
) -> CheckedAcceptance | Exception:
    if isinstance(signature, Exception):
        return signature
    return CheckedAcceptance(signature, None if captures is None else captures.get(signature.terms.id))
