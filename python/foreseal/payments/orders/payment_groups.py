"""Groups of payments to one or several payees, for one or several tokens.

```text
check  signatures, and what can prevent a capture; one batch of node requests, nothing stored;
       the payments of each wallet apart
store  orders, authorizations, timeline, account nonces and signed bytes; the caller's database transaction
send   the stored bytes; one batch
```

Token and payee of a payment decide whose key signs its capture.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from foreseal.payments.chain import RequestBatch
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.group_operation import ItemResult
from foreseal.payments.ledger import DuplicateRecord, Ledger, TxStatus
from foreseal.payments.orders.captures import DecidedCapture, send_captures
from foreseal.payments.orders.new_orders import StoredOrder
from foreseal.payments.orders.payers import assigned_payer
from foreseal.payments.orders.payments import CheckedPayment, NewPayment, Payments, find_duplicates
from foreseal.payments.signatures import SignerPath, check_apart
from foreseal.payments.transactions import SendingError, TransactionSender

StorageResult = StoredOrder | DuplicateRecord | SendingError


class PaymentGroups:
    """Check, store and send of payments to any of several keys."""

    def __init__(self, ledger: Ledger, sender: TransactionSender, payments: Sequence[Payments]) -> None:
        """Set up. `sender` sends what each key has signed; it signs nothing."""
        self._ledger = ledger
        self._sender = sender
        # Sorted by account: two processes then lock the accounts in the same order.
        self._payments = sorted(payments, key=lambda each: (each.merchant.payee, each.merchant.domain.contract))
        self._positions = {
            (each.merchant.domain.contract, each.merchant.receiver): position
            for position, each in enumerate(self._payments)
        }

    def check(self, payments: Sequence[NewPayment]) -> list[ItemResult[CheckedPayment]]:
        """Return each payment that can be stored, and captured if requested, or the reason against it.

        Reasons are `InvalidSignature`, `Expired`, `NotCapturable`, `SendingError` and `ChainError`. A payment from a
        wallet has a `DeferredCheck` instead.
        """
        return check_apart(self._sender.node, payments, assigned_payer, self._check)

    def _check(self, payments: Sequence[NewPayment], path: SignerPath) -> list[CheckedPayment | Exception]:
        batch = RequestBatch()
        positions = self._by_payee(payments)
        checks = {
            key: self._payments[key].begin([payments[each] for each in group], batch, path)
            for key, group in positions.items()
        }
        batch.execute(path.node)
        results: dict[int, CheckedPayment | Exception] = {}
        for key, group in positions.items():
            results.update(zip(group, checks[key].results(), strict=True))
        self._ledger.passed(CrashPoint.CAPTURE_CHECKED)
        return [results[position] for position in range(len(payments))]

    def store(self, tx: Connection, checked: Sequence[CheckedPayment]) -> list[StorageResult]:
        """Store payments in the caller's transaction, or return the reason against each.

        If one key cannot sign, only the payments to it have that error. A capture that the budget of payers with code
        has no room for has `GasBudgetInUse` or `GasBudgetSpent`, and is not stored. Raises
        `sqlalchemy.exc.IntegrityError`, which ends the transaction, if another process stores one of them at the same
        time.
        """
        payments = [each.payment for each in checked]
        results: dict[int, StorageResult] = {**find_duplicates(tx, payments)}
        for key, group in self._by_payee(payments).items():
            new = [position for position in group if position not in results]
            refused = self._payments[key].find_without_room(tx, [checked[position] for position in new])
            results |= {at: refused[payments[at].id] for at in new if payments[at].id in refused}
            new = [position for position in new if position not in results]
            try:
                with tx.begin_nested():
                    stored = self._payments[key].insert(tx, [checked[position] for position in new])
            except SendingError as error:
                results.update(dict.fromkeys(new, error))
            else:
                results.update(zip(new, stored, strict=True))
        self._ledger.passed(CrashPoint.CAPTURE_DECIDED)
        return [results[position] for position in range(len(checked))]

    def send(self, stored: Sequence[StoredOrder]) -> None:
        """Send the captures of stored payments, and record the node's answers. Raises nothing of the node."""
        captured = [
            DecidedCapture(each.order.id, each.capture_batch)
            for each in stored
            if each.status.step is TxStatus.INTENDED
        ]
        send_captures(self._ledger, self._sender, captured)

    def _by_payee(self, payments: Sequence[NewPayment]) -> dict[int, list[int]]:
        """Return the positions of payments by the position of their key, in the order of the keys."""
        groups: dict[int, list[int]] = {}
        for position, payment in enumerate(payments):
            groups.setdefault(self._positions[payment.token, payment.payee], []).append(position)
        return dict(sorted(groups.items()))
