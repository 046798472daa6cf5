"""Orders of a merchant, one at a time: terms, payer's signature, and void."""

from collections.abc import Mapping

from sqlalchemy.exc import IntegrityError

from foreseal.payments.chain import ChainNode
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import (
    DuplicateRecord,
    Ledger,
    OrderState,
    TimelineEntry,
    TransitionNotAllowed,
    Trigger,
    entries,
    locked,
    read,
)
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.acceptances import Acceptances, CheckedSignature, PayerSignature
from foreseal.payments.orders.drafts import Drafts, DraftTerms
from foreseal.payments.orders.merchant_data import NO_DATA, MerchantData
from foreseal.payments.orders.payers import Signer, UnassignedPermitTerms, UnassignedTerms
from foreseal.payments.orders.terms import OrderTerms, PermitTerms, authorization, permit
from foreseal.payments.typed_data import Permit, ReceiveAuthorization


class Orders:
    """Orders of a merchant.

    Every method that changes one may raise `TransitionNotAllowed`, `ConcurrentUpdate` and `UnknownRecord`.
    """

    def __init__(self, ledger: Ledger, node: ChainNode, merchant: Merchant) -> None:
        self._ledger = ledger
        self._drafts = Drafts(ledger, node, merchant)
        self._acceptances = Acceptances(ledger, node, merchant)

    def draft(
        self, id: str, terms: OrderTerms, data: MerchantData = NO_DATA, *, auto_capture: bool = False
    ) -> ReceiveAuthorization:
        """Create an order with these terms. Return the message that the buyer signs in the merchant's domain.

        Raises `DuplicateRecord` if the id exists, ValueError and TypeError for invalid terms, and the node's errors.
        The order records the earliest block that can include its authorization. The service captures it as soon as
        its signature is stored if `auto_capture` is true.
        """
        draft_terms = DraftTerms(terms.payer, terms.amount, terms.nonce, terms.valid_after, terms.valid_before)
        draft = self._drafts.new(id, draft_terms, data, auto_capture=auto_capture)
        return authorization(self._drafts.create(draft).order)

    def draft_unassigned(
        self, id: str, terms: UnassignedTerms, data: MerchantData = NO_DATA, *, auto_capture: bool = False
    ) -> None:
        """Create an order like `draft`, whose payer is the account that signs it. Raises the same errors."""
        draft_terms = DraftTerms(None, terms.amount, terms.nonce, terms.valid_after, terms.valid_before)
        self._drafts.create(self._drafts.new(id, draft_terms, data, auto_capture=auto_capture))

    def draft_permit(self, id: str, terms: PermitTerms, data: MerchantData = NO_DATA) -> Permit:
        """Create an order for any amount up to a maximum. Return the permit that the buyer signs.

        The permit has the payer's next nonce (EIP-2612). Until it is captured, revoked or past its deadline, create
        only one such order for a payer. Raises the same errors as `draft`. Also raises `DuplicateRecord` if the
        checkout has already captured the name, ValueError if the merchant has no checkout, and `Reverted` if the token
        has no permits.
        """
        draft = self._drafts.new(id, _permit_terms(terms.payer, terms), data)
        return permit(self._drafts.create(draft).order)

    def draft_unassigned_permit(self, id: str, terms: UnassignedPermitTerms, data: MerchantData = NO_DATA) -> None:
        """Create an order like `draft_permit`, whose payer is the account that signs it. Raises the same errors.

        The permit has the nonce that is the signer's next one when it signs.
        """
        self._drafts.create(self._drafts.new(id, _permit_terms(None, terms), data))

    def signer(self, order: OrderRecord, payer: str | None = None) -> Signer:
        """Return the account that signs an order (`Acceptances.signer`)."""
        return self._acceptances.signer(order, payer)

    def sign(self, id: str, signature: bytes, payer: str | None = None) -> None:
        """Attach the payer's signature after verifying it.

        `payer` is required for an order without a payer, whose payer it becomes. Raises `InvalidSignature`, the errors
        of `signer`, and `PayerMismatch` also if another account was faster.
        """
        checked = self._check(id, signature, payer)
        if not checked.fresh:
            raise TransitionNotAllowed(self.get(id).state, Trigger.SIGN)
        with self._ledger.database.transaction() as tx:
            _raise_any(self._acceptances.sign(tx, [checked]))

    def store(self, id: str) -> None:
        """Bind the signed authorization to its order.

        If its payer has already used it on the chain to pay the order, the order is captured. Raises `DuplicateRecord`
        if another order or an x402 payment has its nonce, or if a transfer used it without paying the order.
        """
        try:
            with self._ledger.database.transaction() as tx:
                locked(tx, OrderRecord, id)
                _raise_any(self._acceptances.bind(tx, [id]))
        except IntegrityError as error:
            raise _bound_elsewhere(id) from error

    def accept(self, id: str, signature: bytes, payer: str | None = None) -> None:
        """Run `sign` and `store` in one database transaction. Raises the same errors; then neither takes effect."""
        checked = self._check(id, signature, payer)
        try:
            with self._ledger.database.transaction() as tx:
                _raise_any(self._acceptances.store(tx, [checked]))
        except IntegrityError as error:
            raise _bound_elsewhere(id) from error

    def _check(self, id: str, signature: bytes, payer: str | None) -> CheckedSignature:
        (checked,) = self._acceptances.check([PayerSignature(id, signature, payer)])
        if isinstance(checked, Exception):
            raise checked
        return checked

    def void(self, id: str, reason: str = "") -> None:
        """Exclude any capture of this order. Rejected after a capture is decided, until its failure is final.

        Before a signature, only an order without a payer can be voided.
        """
        with self._ledger.database.transaction() as tx:
            order = locked(tx, OrderRecord, id)
            if order.state is OrderState.DRAFTED and order.payer is not None:
                raise TransitionNotAllowed(order.state, Trigger.VOID)
            self._ledger.move(tx, OrderRecord, order, Trigger.VOID, reason="merchant_voided", message=reason)
            self._ledger.passed(CrashPoint.VOID_DECIDED)

    def get(self, id: str) -> OrderRecord:
        """Return the current row of an order. Raises `UnknownRecord`."""
        with self._ledger.database.reading() as tx:
            return read(tx, OrderRecord, id)

    def timeline(self, id: str) -> list[TimelineEntry]:
        """Return the timeline of an order, oldest entry first."""
        with self._ledger.database.reading() as tx:
            return entries(tx, OrderRecord.__tablename__, id)


def _permit_terms(payer: str | None, terms: PermitTerms | UnassignedPermitTerms) -> DraftTerms:
    return DraftTerms(payer, terms.maximum, terms.name, valid_before=terms.deadline + 1, permit=True)


def _raise_any(rejected: Mapping[str, Exception]) -> None:
    for error in rejected.values():
        raise error


def _bound_elsewhere(id: str) -> DuplicateRecord:
    return DuplicateRecord(f"orders: the authorization of {id} belongs to another order or x402 payment")
