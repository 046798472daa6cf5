"""Signatures of payers: verified, and bound to their orders; any number together.

```text
check  the signer of each order, and its signature; batches of node requests, nothing stored
store  payer, signature, authorization, and a transfer that used it earlier; the caller's database transaction
```
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from sqlalchemy import Connection, select

from foreseal.payments.chain import BlockTag, ChainError, ChainNode, PendingAnswer, RequestBatch, TokenReads
from foreseal.payments.group_operation import ItemResult, run_deferred
from foreseal.payments.ledger import (
    DuplicateRecord,
    Ledger,
    OrderState,
    OrderStatus,
    TransitionNotAllowed,
    Trigger,
    TxStatus,
    UnknownRecord,
    lock_names,
    locked_all,
    read_all,
    unknown_record,
)
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.queries import ColumnValues, update_all
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.new_orders import ANOTHER_ORDER, bind_authorizations, bound_authorizations
from foreseal.payments.orders.payers import (
    PayerMismatch,
    PayerRequired,
    Signer,
    assigned_payer,
    require_payer,
    require_wallet,
)
from foreseal.payments.orders.terms import message
from foreseal.payments.signatures import InvalidSignature, SignatureChecks, SignedMessage, SignerPath, check_apart
from foreseal.payments.transfers.earlier_transfers import EarlierTransfers, find_earlier_transfers
from foreseal.payments.typed_data import address

# Bytes of r, s and v: the permit function takes them separately.
_Result = TypeVar("_Result")

_PERMIT_SIGNATURE = 65
_BLOCK: BlockTag = "pending"


@dataclass(frozen=True, slots=True)
class PayerSignature:
    """A signature of an order."""

    id: str
    """Id of the order."""
    signature: bytes
    payer: str | None = None
    """Account that signed; required for an order without a payer."""


@dataclass(frozen=True, slots=True)
class SignedTerms:
    """Terms of a stored order with the signature of its payer, as `orders.terms.SignedOrder`."""

    id: str
    chain_id: int
    token: str
    payer: str
    payee: str
    amount: int
    valid_after: int
    valid_before: int
    nonce: bytes
    checkout: str | None
    permit_nonce: int | None
    signature: bytes

    @property
    def contract(self) -> str:
        """Contract that accepts the nonce once."""
        return self.checkout or self.token


@dataclass(frozen=True, slots=True)
class CheckedSignature:
    """A valid signature of an order."""

    terms: SignedTerms
    fresh: bool
    """False if the order had this signature already, which was therefore not checked again."""
    auto_capture: bool
    """True if the order is captured without a request, and its capture has not begun."""


class SignatureReads:
    """Checks of signatures that are in a batch of requests. Execute the batch, then call `results`."""

    def __init__(
        self, merchant: Merchant, batch: RequestBatch, signatures: Sequence[CheckedSignature], *, has_code: bool
    ) -> None:
        self._signatures = signatures
        fresh = [each.terms for each in signatures if each.fresh]
        signed = [SignedMessage(message(terms), terms.payer, terms.signature) for terms in fresh]
        self._checks = SignatureChecks(batch, merchant.domain, signed, has_code=has_code)

    def results(self) -> list[CheckedSignature | Exception]:
        """Return each valid signature, or the reason against it."""
        results: list[CheckedSignature | Exception] = []
        position = 0
        for each in self._signatures:
            if not each.fresh:
                results.append(each)
                continue
            try:
                self._checks.require(position)
                results.append(each)
            except (InvalidSignature, ChainError) as error:
                results.append(error)
            position += 1
        return results


class Acceptances:
    """Signatures of a merchant's orders."""

    def __init__(self, ledger: Ledger, node: ChainNode, merchant: Merchant) -> None:
        self._ledger = ledger
        self._node = node
        self._merchant = merchant

    def check(self, signatures: Sequence[PayerSignature]) -> list[CheckedSignature | Exception]:
        """Return each valid signature, or the reason against it. Stores nothing.

        Reasons are `UnknownRecord`, `TransitionNotAllowed`, `InvalidSignature`, `PayerRequired`, `PayerMismatch`,
        ValueError for an account that cannot pay, and the node's errors.
        """
        return run_deferred(check_signatures(self._node, self.find(signatures), self._check))

    def _check(self, signatures: Sequence[CheckedSignature], path: SignerPath) -> list[CheckedSignature | Exception]:
        batch = RequestBatch()
        reads = self.begin(signatures, batch, path)
        batch.execute(path.node)
        return reads.results()

    def begin(self, signatures: Sequence[CheckedSignature], batch: RequestBatch, path: SignerPath) -> SignatureReads:
        """Add the requests that check signatures of `find` to a batch. All signers have code, or none has."""
        return SignatureReads(self._merchant, batch, signatures, has_code=path.has_code)

    def find(self, signatures: Sequence[PayerSignature]) -> list[CheckedSignature | Exception]:
        """Return the terms that each signature is for, or the reason against it. No signature is verified."""
        with self._ledger.database.reading() as tx:
            orders = {row.id: row for row in read_all(tx, OrderRecord, [each.id for each in signatures])}
        batch, results = RequestBatch(), list[CheckedSignature | Exception]()
        nonces: dict[int, PendingAnswer[int]] = {}
        for position, each in enumerate(signatures):
            try:
                checked = self._terms(each, orders.get(each.id))
                results.append(checked)
            except (UnknownRecord, TransitionNotAllowed, PayerMismatch, ValueError, TypeError) as error:
                results.append(error)
                continue
            if checked.terms.checkout is not None and checked.terms.permit_nonce is None:
                token = TokenReads(checked.terms.token)
                nonces[position] = batch.add(token.permit_nonce(checked.terms.payer, _BLOCK))
        if nonces:
            batch.execute(self._node)
        for position, answer in nonces.items():
            unassigned = results[position]
            assert isinstance(unassigned, CheckedSignature)
            try:
                terms = replace(unassigned.terms, permit_nonce=answer.result())
                results[position] = replace(unassigned, terms=terms)
            except ChainError as error:
                results[position] = error
        return results

    def _terms(self, given: PayerSignature, order: OrderRecord | None) -> CheckedSignature:
        if order is None:
            raise unknown_record(OrderRecord, given.id)
        if order.state is not OrderState.DRAFTED:
            require_payer(order, given.payer)
            if order.signature is None or bytes(order.signature) != given.signature:
                raise TransitionNotAllowed(order.state, Trigger.SIGN)
            terms = _signed(order, assigned_payer(order), given.signature)
            return CheckedSignature(terms, fresh=False, auto_capture=_awaits_capture(order))
        payer = self._payer(order, given.payer)
        if order.checkout is not None and len(given.signature) != _PERMIT_SIGNATURE:
            size = len(given.signature)
            raise InvalidSignature(f"signature: has {size} bytes; a checkout requires {_PERMIT_SIGNATURE}")
        terms = _signed(order, payer, given.signature)
        return CheckedSignature(terms, fresh=True, auto_capture=_awaits_capture(order))

    def _payer(self, order: OrderRecord, given: str | None) -> str:
        """Return the account that signs an order: its payer, or for an order without a payer the given one."""
        payer = None if given is None else address(given, "payer")
        require_payer(order, payer)
        if order.payer is not None:
            return order.payer
        if payer is None:
            raise PayerRequired(order.id)
        require_wallet(payer, self._merchant)
        return payer

    def signer(self, order: OrderRecord, payer: str | None = None) -> Signer:
        """Return the account that signs an order: its payer, or for an order without a payer the given one.

        Raises `PayerRequired`, `PayerMismatch`, ValueError for an account that cannot pay, and the node's errors.
        """
        account = self._payer(order, payer)
        if order.payer is not None or order.checkout is None:
            return Signer(account, order.permit_nonce)
        return Signer(account, self._node.execute(TokenReads(order.token).permit_nonce(account, _BLOCK)))

    def sign(self, tx: Connection, checked: Sequence[CheckedSignature]) -> dict[str, Exception]:
        """Attach fresh signatures to their orders, which are then Signed. Return the reasons against some, by id.

        A reason is `PayerMismatch` or `TransitionNotAllowed`: another request was faster.
        """
        rejected, signed = self._open(tx, checked)
        self._sign(tx, signed)
        return rejected

    def bind(self, tx: Connection, ids: Collection[str]) -> dict[str, DuplicateRecord]:
        """Bind the signed authorizations to their orders, which are then Stored. Return the reasons against some.

        An order is captured if its payer has already used the authorization on the chain to pay it. Raises
        `TransitionNotAllowed` for an order that is not Signed, and IntegrityError.
        """
        rows = locked_all(tx, OrderRecord, ids)
        for row in rows:
            next_status(ORDER_TRANSITIONS, OrderStatus(row.state, row.step), Trigger.STORE)
        signed = [_signed(row, assigned_payer(row), bytes(row.signature or b"")) for row in rows]
        rejected, earlier = self._conflicts(tx, signed)
        self._bind(tx, [row for row in rows if row.id not in rejected], earlier)
        return rejected

    def store(self, tx: Connection, checked: Sequence[CheckedSignature]) -> dict[str, Exception]:
        """Sign and bind orders in the caller's transaction. Return the reasons against some, by id.

        Reasons are those of `sign` and `bind`; such an order is unchanged. An order that had its signature already is
        bound if it was not. Raises IntegrityError, which ends the transaction, if another process binds one of the
        authorizations at the same time.
        """
        rejected, signed = self._open(tx, [each for each in checked if each.fresh])
        repeated = [each.terms for each in checked if not each.fresh]
        waiting = locked_all(tx, OrderRecord, [terms.id for terms in repeated])
        unbound = {row.id for row in waiting if row.state is OrderState.SIGNED}
        binding = [*signed, *(terms for terms in repeated if terms.id in unbound)]
        conflicts, earlier = self._conflicts(tx, binding)
        self._sign(tx, [terms for terms in signed if terms.id not in conflicts])
        free = [terms.id for terms in binding if terms.id not in conflicts]
        self._bind(tx, locked_all(tx, OrderRecord, free), earlier)
        return {**rejected, **conflicts}

    @staticmethod
    def _open(tx: Connection, checked: Sequence[CheckedSignature]) -> tuple[dict[str, Exception], list[SignedTerms]]:
        """Return the reasons against orders that were changed since the check, and the terms of the others."""
        rows = {row.id: row for row in locked_all(tx, OrderRecord, [each.terms.id for each in checked])}
        rejected: dict[str, Exception] = {}
        signed: list[SignedTerms] = []
        for each in checked:
            terms, row = each.terms, rows[each.terms.id]
            if row.payer not in (None, terms.payer):
                rejected[row.id] = PayerMismatch(row.id, terms.payer, assigned_payer(row))
            elif row.state is not OrderState.DRAFTED:
                rejected[row.id] = TransitionNotAllowed(row.state, Trigger.SIGN)
            else:
                signed.append(terms)
        return rejected, signed

    def _sign(self, tx: Connection, signed: Sequence[SignedTerms]) -> None:
        """Attach signatures to drafted orders. An order without a payer gets the signer."""
        rows = locked_all(tx, OrderRecord, [terms.id for terms in signed])
        payers = {terms.id: terms.payer for terms in signed}
        assigned = {row.id: {"payer": payers[row.id]} for row in rows if row.payer is None}
        self._ledger.move_all(tx, OrderRecord, rows, Trigger.SIGN, assigned)
        writes: list[tuple[ColumnValues, ColumnValues]] = [
            (
                {OrderRecord.id: terms.id},
                {
                    OrderRecord.payer: terms.payer,
                    OrderRecord.permit_nonce: terms.permit_nonce,
                    OrderRecord.signature: terms.signature,
                },
            )
            for terms in signed
        ]
        update_all(tx, OrderRecord, writes)

    def _bind(self, tx: Connection, rows: Sequence[OrderRecord], earlier: EarlierTransfers) -> None:
        self._ledger.move_all(tx, OrderRecord, rows, Trigger.STORE)
        bind_authorizations(tx, rows)
        earlier.match(self._ledger, tx, {row.id for row in rows})

    def _conflicts(
        self, tx: Connection, signed: Sequence[SignedTerms]
    ) -> tuple[dict[str, DuplicateRecord], EarlierTransfers]:
        """Return the reasons against binding authorizations, and the transfers that used the others earlier."""
        # Another process may bind an order with the same permit at the same time.
        lock_names(tx, {_permit_name(terms) for terms in signed if terms.checkout is not None})
        earlier = find_earlier_transfers(tx, signed)
        used = bound_authorizations(tx, self._merchant.domain.chain_id, [terms.nonce for terms in signed])
        permits: dict[tuple[str, str, int | None], str] = {}
        rejected: dict[str, DuplicateRecord] = {}
        for terms in signed:
            key, permit = (terms.contract, terms.payer, terms.nonce), (terms.token, terms.payer, terms.permit_nonce)
            other = None if terms.checkout is None else permits.get(permit) or _open_permit(tx, terms)
            if key in used:
                rejected[terms.id] = DuplicateRecord(f"orders: the authorization of {terms.id} belongs to {used[key]}")
            elif other is not None:
                rejected[terms.id] = DuplicateRecord(
                    f"orders: the permit of {terms.id} has the nonce of the open order {other}"
                )
            elif terms.id in earlier.wrong:
                rejected[terms.id] = DuplicateRecord(
                    f"orders: the authorization of {terms.id} was used by {earlier.wrong[terms.id]}, "
                    "which does not pay it, or is refunded or resolved"
                )
            else:
                used[key] = ANOTHER_ORDER
                permits[permit] = terms.id
        return rejected, earlier


def check_signatures(
    node: ChainNode,
    outcomes: Sequence[CheckedSignature | Exception],
    check: Callable[[Sequence[CheckedSignature], SignerPath], Sequence[_Result | Exception]],
) -> list[ItemResult[_Result]]:
    """Return the results of `check` for the signatures that `Acceptances.find` returned, and its errors.

    A signature of a wallet has a `DeferredCheck` instead.
    """
    signatures = [each for each in outcomes if isinstance(each, CheckedSignature)]
    checked = iter(check_apart(node, signatures, _called_signer, check))
    return [each if isinstance(each, Exception) else next(checked) for each in outcomes]


def _called_signer(signature: CheckedSignature) -> str | None:
    """Return the account whose code the check may call; None if nothing is left to check."""
    return signature.terms.payer if signature.fresh or signature.auto_capture else None


def _awaits_capture(order: OrderRecord) -> bool:
    open_ = order.state in (OrderState.DRAFTED, OrderState.SIGNED, OrderState.STORED)
    return order.auto_capture and open_ and order.step is TxStatus.IDLE


def _signed(order: OrderRecord, payer: str, signature: bytes) -> SignedTerms:
    return SignedTerms(
        order.id,
        order.chain_id,
        order.token,
        payer,
        order.payee,
        order.amount,
        order.valid_after,
        order.valid_before,
        bytes(order.nonce),
        order.checkout,
        order.permit_nonce,
        signature,
    )


def _permit_name(terms: SignedTerms) -> str:
    return f"permit {terms.chain_id} {terms.token} {terms.payer} {terms.permit_nonce}"


def _open_permit(tx: Connection, terms: SignedTerms) -> str | None:
    """Return another open order with the permit's nonce: the token accepts one of them."""
    query = select(OrderRecord.id).where(
        OrderRecord.chain_id == terms.chain_id,
        OrderRecord.token == terms.token,
        OrderRecord.payer == terms.payer,
        OrderRecord.permit_nonce == terms.permit_nonce,
        OrderRecord.state == OrderState.STORED,
        OrderRecord.id != terms.id,
    )
    return tx.execute(query.limit(1)).scalar_one_or_none()
