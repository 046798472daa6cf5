"""Orders: terms, stored authorizations, and voids."""

from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, and_, insert, select, update
from sqlalchemy.exc import IntegrityError

from foreseal.codec import keccak
from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import BlockHead, ChainNode, Checkout, Incomplete, RequestBatch, Token, node_requests
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
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.ledger.models import AuthorizationRecord, OrderRecord
from foreseal.payments.ledger.queries import Column, ColumnValues
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.merchant_data import NO_DATA, MerchantData
from foreseal.payments.orders.payers import (
    PayerMismatch,
    PayerRequired,
    Signer,
    UnassignedPermitTerms,
    UnassignedTerms,
    assigned_payer,
    require_buyer,
    require_payer,
    require_wallet,
)
from foreseal.payments.signatures import InvalidSignature, check_signature
from foreseal.payments.transfers.authorization_logs import MAX_LOG_RANGE
from foreseal.payments.transfers.matching import match_earlier_transfer
from foreseal.payments.typed_data import ZERO_ADDRESS, Domain, Permit, ReceiveAuthorization, address, bytes32

# Latest time, in seconds since 1970, that a database column can hold. A uint256 could be larger.
_LATEST = 2**63 - 1
# Bytes of r, s and v: the permit function takes them separately.
_PERMIT_SIGNATURE = 65


class SignedOrder(Protocol):
    """Terms and signature of an order: a row, or a new order that is not stored yet."""

    @property
    def id(self) -> str: ...
    @property
    def chain_id(self) -> int: ...
    @property
    def token(self) -> str: ...
    @property
    def payer(self) -> str | None: ...
    @property
    def payee(self) -> str: ...
    @property
    def amount(self) -> int: ...
    @property
    def valid_after(self) -> int: ...
    @property
    def valid_before(self) -> int: ...
    @property
    def nonce(self) -> bytes: ...
    @property
    def checkout(self) -> str | None: ...
    @property
    def permit_nonce(self) -> int | None: ...
    @property
    def signature(self) -> bytes | None: ...


@dataclass(frozen=True, slots=True)
class OrderTerms:
    """Terms that a buyer signs."""

    payer: str
    amount: int
    """Amount in smallest units."""
    valid_after: int
    """Unix time in seconds, exclusive."""
    valid_before: int
    """Unix time in seconds, exclusive."""
    nonce: bytes
    """32 random bytes (`typed_data.random_nonce`, `typed_data.derive_nonce`)."""


@dataclass(frozen=True, slots=True)
class PermitTerms:
    """Terms that a buyer signs if the amount is decided at the capture."""

    payer: str
    maximum: int
    """Amount in smallest units."""
    deadline: int
    """Unix time in seconds, inclusive, for both the permit and the capture."""
    name: bytes
    """Order id at the checkout, which captures each once: 32 random bytes (`typed_data.random_nonce`).

    The order's id would suffice only for a checkout with one ledger. If several ledgers share it, the capture of
    another ledger's order with the same id would count as this order's.
    """


class EarliestBlock:
    """Block below which no authorization signed now can be included. Available after the batch was executed.

    The latest block is not safe: after a reorganization its number belongs to another block, or a lower block includes
    the transaction.
    """

    def __init__(self, batch: RequestBatch) -> None:
        self._latest, self._final = (batch.add(node_requests.head(tag)) for tag in ("latest", "finalized"))

    def number(self) -> int:
        """Return the number of the block. Raises the node's errors."""
        latest, final = self._newest(), self._final.result()
        return max(0, latest.number - MAX_LOG_RANGE) if final is None else min(final.number, latest.number)

    def timestamp(self) -> int:
        """Return the timestamp of the latest block. Raises the node's errors."""
        return self._newest().timestamp

    def _newest(self) -> BlockHead:
        latest = self._latest.result()
        if latest is None:
            raise Incomplete("the node has no latest block")
        return latest


class Orders:
    """Orders of a merchant.

    Every method that changes one may raise `TransitionNotAllowed`, `ConcurrentUpdate` and `UnknownRecord`.
    """

    def __init__(self, ledger: Ledger, node: ChainNode, merchant: Merchant) -> None:
        self._ledger = ledger
        self._node = node
        self._merchant = merchant

    def draft(
        self, id: str, terms: OrderTerms, data: MerchantData = NO_DATA, *, auto_capture: bool = False
    ) -> ReceiveAuthorization:
        """Create an order with these terms. Return the message that the buyer signs in the merchant's domain.

        Raises `DuplicateRecord` if the id exists, ValueError and TypeError for invalid terms, and the node's errors.
        The order records the earliest block that can include its authorization. `AutoCaptures` captures it as soon as
        its signature is stored if `auto_capture` is true.
        """
        _check_exact(terms)
        message = ReceiveAuthorization(
            terms.payer, self._merchant.receiver, terms.amount, terms.valid_after, terms.valid_before, terms.nonce
        )
        require_buyer(message.payer, self._merchant)
        self._create_exact(id, message.payer, terms, data, auto_capture=auto_capture)
        return message

    def draft_unassigned(
        self, id: str, terms: UnassignedTerms, data: MerchantData = NO_DATA, *, auto_capture: bool = False
    ) -> None:
        """Create an order like `draft`, whose payer is the account that signs it. Raises the same errors."""
        _check_exact(terms)
        self._create_exact(id, None, terms, data, auto_capture=auto_capture)

    def _create_exact(
        self, id: str, payer: str | None, terms: OrderTerms | UnassignedTerms, data: MerchantData, *, auto_capture: bool
    ) -> None:
        self._create(
            identifier(id),
            {
                OrderRecord.payer: payer,
                OrderRecord.payee: self._merchant.receiver,
                OrderRecord.amount: terms.amount,
                OrderRecord.valid_after: terms.valid_after,
                OrderRecord.valid_before: terms.valid_before,
                OrderRecord.nonce: bytes32(terms.nonce, "nonce"),
                OrderRecord.auto_capture: auto_capture,
                **data.columns(),
            },
        )

    def draft_permit(self, id: str, terms: PermitTerms, data: MerchantData = NO_DATA) -> Permit:
        """Create an order for any amount up to a maximum. Return the permit that the buyer signs.

        The permit has the payer's next nonce (EIP-2612). Until it is captured, revoked or past its deadline, create
        only one such order for a payer. Raises the same errors as `draft`. Also raises `DuplicateRecord` if the
        checkout has already captured the name, ValueError if the merchant has no checkout, and `Reverted` if the token
        has no permits.
        """
        payer = address(terms.payer, "payer")
        require_buyer(payer, self._merchant)
        checkout = self._checked_checkout(terms)
        nonce = Token(self._node, self._merchant.domain.contract).permit_nonce(payer, "pending")
        message = Permit(payer, checkout, terms.maximum, nonce, terms.deadline)
        self._create_permit(id, Signer(payer, nonce), terms, data)
        return message

    def draft_unassigned_permit(self, id: str, terms: UnassignedPermitTerms, data: MerchantData = NO_DATA) -> None:
        """Create an order like `draft_permit`, whose payer is the account that signs it. Raises the same errors.

        The permit has the nonce that is the signer's next one when it signs.
        """
        self._checked_checkout(terms)
        self._create_permit(id, None, terms, data)

    def _checked_checkout(self, terms: PermitTerms | UnassignedPermitTerms) -> str:
        """Return the checkout. Raises ValueError and `DuplicateRecord` if it cannot capture these terms."""
        if self._merchant.checkout is None:
            raise ValueError("checkout: the merchant has no checkout contract")
        if check_amount(terms.maximum, "maximum") == 0:
            raise ValueError("maximum: must not be 0")
        if not 0 <= check_amount(terms.deadline, "deadline") < _LATEST:
            raise ValueError(f"deadline: must be at most {_LATEST - 1}, got {terms.deadline}")
        name = bytes32(terms.name, "name")
        if Checkout(self._node, self._merchant.checkout).captured(name, "pending"):
            raise DuplicateRecord(f"orders: the checkout has already captured 0x{name.hex()}")
        return self._merchant.checkout

    def _create_permit(
        self, id: str, signer: Signer | None, terms: PermitTerms | UnassignedPermitTerms, data: MerchantData
    ) -> None:
        self._create(
            identifier(id),
            {
                OrderRecord.payer: None if signer is None else signer.payer,
                OrderRecord.payee: self._merchant.payee,
                OrderRecord.amount: terms.maximum,
                OrderRecord.valid_after: 0,
                OrderRecord.valid_before: terms.deadline + 1,
                OrderRecord.nonce: bytes32(terms.name, "name"),
                OrderRecord.checkout: self._merchant.checkout,
                OrderRecord.permit_nonce: None if signer is None else signer.permit_nonce,
                **data.columns(),
            },
        )

    def _create(self, id: str, terms: ColumnValues) -> None:
        """Insert a new order. The timeline of an unassigned one begins with its null payer."""
        domain, since = self._merchant.domain, self._since()
        pinned: ColumnValues = {
            OrderRecord.id: id,
            OrderRecord.chain_id: domain.chain_id,
            OrderRecord.token: domain.contract,
            OrderRecord.memo: memo(id),
            OrderRecord.since_block: since,
            OrderRecord.created: self._ledger.clock(),
        }
        with self._ledger.database.transaction() as tx:
            unassigned = {"payer": None} if terms[OrderRecord.payer] is None else {}
            self._ledger.create(tx, OrderRecord, Trigger.SET_TERMS, {**pinned, **terms}, **unassigned)

    def _since(self) -> int:
        batch = RequestBatch()
        earliest = EarliestBlock(batch)
        batch.execute(self._node)
        return earliest.number()

    def signer(self, order: OrderRecord, payer: str | None = None) -> Signer:
        """Return the account that signs an order: its payer, or for an unassigned order the given one.

        Raises `PayerRequired`, `PayerMismatch`, ValueError for an account that cannot pay, and the node's errors.
        """
        if payer is not None:
            payer = address(payer, "payer")
        require_payer(order, payer)
        if order.payer is not None:
            return Signer(order.payer, order.permit_nonce)
        if payer is None:
            raise PayerRequired(order.id)
        require_wallet(payer, self._merchant)
        token = Token(self._node, order.token)
        return Signer(payer, None if order.checkout is None else token.permit_nonce(payer, "pending"))

    def sign(self, id: str, signature: bytes, payer: str | None = None) -> None:
        """Attach the payer's signature after verifying it.

        `payer` is required for an unassigned order, whose payer it becomes. Raises `InvalidSignature`, the errors of
        `signer`, and `PayerMismatch` also if another account was faster.
        """
        signer = self._check(id, signature, payer)
        with self._ledger.database.transaction() as tx:
            self._sign(tx, id, signature, signer)

    def store(self, id: str) -> None:
        """Bind the signed authorization to its order.

        If its payer has already used it on the chain to pay the order, the order is captured. Raises `DuplicateRecord`
        if another order has its nonce, or if a transfer used it without paying the order.
        """
        with self._ledger.database.transaction() as tx:
            self._store(tx, locked(tx, OrderRecord, id))

    def accept(self, id: str, signature: bytes, payer: str | None = None) -> None:
        """Run `sign` and `store` in one database transaction. Raises the same errors; then neither takes effect."""
        signer = self._check(id, signature, payer)
        with self._ledger.database.transaction() as tx:
            self._store(tx, self._sign(tx, id, signature, signer))

    def _check(self, id: str, signature: bytes, payer: str | None) -> Signer:
        order = self.get(id)
        if order.checkout is not None and len(signature) != _PERMIT_SIGNATURE:
            raise InvalidSignature(f"signature: has {len(signature)} bytes; a checkout requires {_PERMIT_SIGNATURE}")
        signer = self.signer(order, payer)
        check_signature(self._node, message_by(order, signer), self._merchant.domain, signer.payer, signature)
        return signer

    def _sign(self, tx: Connection, id: str, signature: bytes, signer: Signer) -> OrderRecord:
        order = locked(tx, OrderRecord, id)
        if order.payer not in (None, signer.payer):  # another account was faster
            raise PayerMismatch(id, signer.payer, assigned_payer(order))
        values: dict[Column, Any] = {OrderRecord.signature: signature}
        assigned = {}
        if order.payer is None:
            values |= {OrderRecord.payer: signer.payer, OrderRecord.permit_nonce: signer.permit_nonce}
            assigned = {"payer": signer.payer}
        order = self._ledger.move(tx, OrderRecord, order, Trigger.SIGN, **assigned)
        tx.execute(update(OrderRecord).where(OrderRecord.id == id).values(values))
        return order

    def _store(self, tx: Connection, order: OrderRecord) -> None:
        order = self._ledger.move(tx, OrderRecord, order, Trigger.STORE)
        if order.checkout is not None:
            self._require_free(tx, order)
        values: ColumnValues = {
            AuthorizationRecord.chain_id: order.chain_id,
            AuthorizationRecord.contract: order.checkout or order.token,
            AuthorizationRecord.payer: order.payer,
            AuthorizationRecord.nonce: order.nonce,
            AuthorizationRecord.order_id: order.id,
        }
        try:
            tx.execute(insert(AuthorizationRecord).values(values))
        except IntegrityError as error:
            raise DuplicateRecord(f"orders: the authorization of {order.id} belongs to another order") from error
        match_earlier_transfer(self._ledger, tx, order)

    @staticmethod
    def _require_free(tx: Connection, order: OrderRecord) -> None:
        """Raise `DuplicateRecord` if another open order has the permit's nonce: the token accepts one of them."""
        same = and_(
            OrderRecord.chain_id == order.chain_id,
            OrderRecord.token == order.token,
            OrderRecord.payer == order.payer,
            OrderRecord.permit_nonce == order.permit_nonce,
        )
        open_ = (OrderRecord.state == OrderState.STORED) & (OrderRecord.id != order.id)
        other = tx.execute(select(OrderRecord.id).where(same, open_).limit(1)).scalar_one_or_none()
        if other is not None:
            raise DuplicateRecord(f"orders: the permit of {order.id} has the nonce of the open order {other}")

    def void(self, id: str, reason: str = "") -> None:
        """Rule out any capture of this order. Rejected after a capture is decided, until its failure is final.

        Before a signature, only an unassigned order can be voided.
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

    def in_state(self, *states: OrderState) -> list[str]:
        """Return the ids of all orders in these states."""
        with self._ledger.database.reading() as tx:
            query = select(OrderRecord.id).where(OrderRecord.state.in_(states)).order_by(OrderRecord.id)
            return list(tx.execute(query).scalars())


def _check_exact(terms: OrderTerms | UnassignedTerms) -> None:
    if check_amount(terms.amount) == 0:
        raise ValueError("amount: must not be 0")
    if not check_amount(terms.valid_after, "valid_after") < terms.valid_before <= _LATEST:
        raise ValueError(f"valid_before: must be after valid_after and at most {_LATEST}, got {terms.valid_before}")


def message(order: SignedOrder) -> ReceiveAuthorization | Permit:
    """Return the message that the payer of an order signs. Raises `PayerRequired` if it has no payer yet."""
    return message_by(order, Signer(assigned_payer(order), order.permit_nonce))


def message_by(order: SignedOrder, signer: Signer) -> ReceiveAuthorization | Permit:
    """Return the message by which an account accepts the terms of an order."""
    if order.checkout is not None:
        assert signer.permit_nonce is not None, "the signer of a permit has its nonce"
        return Permit(signer.payer, order.checkout, order.amount, signer.permit_nonce, order.valid_before - 1)
    return ReceiveAuthorization(
        signer.payer, order.payee, order.amount, order.valid_after, order.valid_before, order.nonce
    )


def order_typed_data(order: SignedOrder, domain: Domain) -> dict[str, Any]:
    """Return the typed data of an order. If it has no payer yet, the message lacks the fields of the payer."""
    if order.payer is not None:
        return message(order).typed_data(domain)
    data = message_by(order, Signer(ZERO_ADDRESS, 0)).typed_data(domain)
    missing = ("from",) if order.checkout is None else ("owner", "nonce")
    return data | {"message": {name: value for name, value in data["message"].items() if name not in missing}}


def permit(order: SignedOrder) -> Permit:
    """Return the permit that the buyer signs, for an order with a permit."""
    found = message(order)
    assert isinstance(found, Permit)
    return found


def authorization(order: SignedOrder) -> ReceiveAuthorization:
    """Return the authorization that the buyer signs, for an order with a fixed amount."""
    found = message(order)
    assert isinstance(found, ReceiveAuthorization)
    return found


def stored_signature(order: OrderRecord) -> bytes:
    """Return the signature of a signed order."""
    assert order.signature is not None, "every state after Drafted has a signature"
    return order.signature


def memo(id: str) -> bytes:
    """Return the memo by which a transfer refers to an order: keccak256 of the order's id."""
    return keccak(id.encode())
