"""New orders: their terms, and the rows that they become; any number together.

```text
check  the pending block, and what a permit needs; one batch of node requests, nothing stored
store  orders and timeline; the caller's database transaction
```
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import (
    BlockTag,
    ChainError,
    ChainNode,
    PendingAnswer,
    RequestBatch,
    TokenReads,
    node_requests,
)
from foreseal.payments.chain.checkout import captured_request
from foreseal.payments.ledger import DuplicateRecord, Ledger, TimelineEntry, Trigger
from foreseal.payments.ledger.identifiers import identifier
from foreseal.payments.ledger.models import OrderRecord
from foreseal.payments.ledger.states import ORDER_TRANSITIONS, next_status
from foreseal.payments.ledger.timeline import record_entries
from foreseal.payments.merchant import Merchant
from foreseal.payments.orders.merchant_data import NO_DATA, MerchantData
from foreseal.payments.orders.new_orders import PreparedOrder, StoredOrder, insert_orders, stored_ids
from foreseal.payments.orders.payers import require_buyer
from foreseal.payments.orders.terms import EarliestBlock, memo, require_open
from foreseal.payments.typed_data import address, bytes32

# Latest time, in seconds since 1970, that a database column can hold. A uint256 could be larger.
_LATEST = 2**63 - 1
_BLOCK: BlockTag = "pending"


@dataclass(frozen=True, slots=True)
class DraftTerms:
    """Terms of a new order: an exact amount, or with `permit` a maximum that the merchant's checkout captures."""

    payer: str | None
    """None if the first account that signs becomes the payer."""
    amount: int
    """Amount or maximum, in smallest units."""
    nonce: bytes
    """32 random bytes: the nonce of the authorization, or the order's id at the checkout."""
    valid_after: int = 0
    """Unix time in seconds, exclusive; 0 for a permit."""
    valid_before: int | None = None
    """Unix time in seconds, exclusive."""
    valid_seconds: int = 0
    """Validity from the timestamp of the pending block, without `valid_before`."""
    permit: bool = False


@dataclass(frozen=True, slots=True)
class NewDraft:
    """An order that is not stored yet."""

    id: str
    terms: DraftTerms
    data: MerchantData
    auto_capture: bool


@dataclass(frozen=True, slots=True)
class CheckedDraft:
    """An order that can be stored."""

    order: PreparedOrder
    since_block: int
    """Earliest block that can include its authorization."""


@dataclass(frozen=True, slots=True)
class _Reads:
    """Answers that concern a permit."""

    captured: PendingAnswer[bool]
    nonce: PendingAnswer[int] | None
    """Next permit nonce of the payer; None without a payer."""


class Drafts:
    """New orders of a merchant."""

    def __init__(self, ledger: Ledger, node: ChainNode, merchant: Merchant) -> None:
        self._ledger = ledger
        self._node = node
        self._merchant = merchant

    def new(self, id: str, terms: DraftTerms, data: MerchantData = NO_DATA, *, auto_capture: bool = False) -> NewDraft:
        """Return an order with these terms. Raises ValueError and TypeError that begin with the argument's name."""
        if terms.permit and self._merchant.checkout is None:
            raise ValueError("checkout: the merchant has no checkout contract")
        amount, nonce, end = ("maximum", "name", "deadline") if terms.permit else ("amount", "nonce", "valid_before")
        self._merchant.check_payment(terms.amount, amount)
        if terms.valid_before is not None:
            after = check_amount(terms.valid_after, "valid_after")
            if not after < check_amount(terms.valid_before, end) <= _LATEST:
                raise ValueError(f"{end}: must be after valid_after and at most {_LATEST}, got {terms.valid_before}")
        bytes32(terms.nonce, nonce)
        if terms.payer is not None:
            terms = replace(terms, payer=address(terms.payer, "payer"))
            require_buyer(str(terms.payer), self._merchant)
        return NewDraft(identifier(id), terms, data, auto_capture)

    def create(self, draft: NewDraft) -> StoredOrder:
        """Check and store one order. Raises the reason against it."""
        (checked,) = self.check([draft])
        if isinstance(checked, Exception):
            raise checked
        with self._ledger.database.transaction() as tx:
            try:
                (stored,) = self.store(tx, [checked])
            except IntegrityError as error:  # another process stored it at the same time
                raise _duplicate(draft.id) from error
            if isinstance(stored, Exception):
                raise stored
        return stored

    def check(self, drafts: Sequence[NewDraft]) -> list[CheckedDraft | Exception]:
        """Return each order that can be stored, or the reason against it.

        Reasons are `Expired`, ValueError for terms that are never valid, `DuplicateRecord` if the checkout has already
        captured the permit's name, `Reverted` if the token has no permits, and the node's errors. A permit has the
        payer's next nonce (EIP-2612).
        """
        batch = RequestBatch()
        earliest, pending = EarliestBlock(batch), batch.add(node_requests.head(_BLOCK))
        reads = [self._add_reads(batch, each.terms) for each in drafts]
        batch.execute(self._node)
        results: list[CheckedDraft | Exception] = []
        for draft, read in zip(drafts, reads, strict=True):
            try:
                head = pending.result()
                now = earliest.timestamp() if head is None else head.timestamp
                if read is not None:
                    _require_new(draft, read.captured)
                nonce = None if read is None or read.nonce is None else read.nonce.result()
                order = self._order(draft, now, nonce)
                results.append(CheckedDraft(order, earliest.number()))
            except (ValueError, DuplicateRecord, ChainError) as error:
                results.append(error)
        return results

    def _add_reads(self, batch: RequestBatch, terms: DraftTerms) -> _Reads | None:
        checkout = self._merchant.checkout
        if not terms.permit or checkout is None:
            return None
        captured = batch.add(captured_request(checkout, terms.nonce, _BLOCK))
        if terms.payer is None:
            return _Reads(captured, None)
        token = TokenReads(self._merchant.domain.contract)
        return _Reads(captured, batch.add(token.permit_nonce(terms.payer, _BLOCK)))

    def _order(self, draft: NewDraft, now: int, permit_nonce: int | None) -> PreparedOrder:
        """Return the order that the terms give at the timestamp of the pending block.

        Raises `Expired`, and ValueError if it would never be valid.
        """
        terms, merchant = draft.terms, self._merchant
        valid_before = now + terms.valid_seconds if terms.valid_before is None else terms.valid_before
        require_open(valid_before, now)
        if terms.valid_after >= valid_before:
            raise ValueError(f"valid_after: must be before {valid_before}, the end of the validity")
        return PreparedOrder(
            id=draft.id,
            chain_id=merchant.domain.chain_id,
            token=merchant.domain.contract,
            payer=terms.payer,
            payee=merchant.payee if terms.permit else merchant.receiver,
            amount=terms.amount,
            valid_after=terms.valid_after,
            valid_before=valid_before,
            nonce=terms.nonce,
            checkout=merchant.checkout if terms.permit else None,
            permit_nonce=permit_nonce,
            reference=draft.data.reference,
            metadata_json=draft.data.metadata_json,
            auto_capture=draft.auto_capture,
            success_url=draft.data.success_url,
            cancel_url=draft.data.cancel_url,
        )

    def store(self, tx: Connection, checked: Sequence[CheckedDraft]) -> list[StoredOrder | DuplicateRecord]:
        """Store orders in the caller's transaction, or return the reason against each.

        The timeline of an order without a payer begins with its null payer. Raises `sqlalchemy.exc.IntegrityError`,
        which ends the transaction, if another process stores one of them at the same time.
        """
        taken = stored_ids(tx, [each.order.id for each in checked])
        now, status = self._ledger.clock(), next_status(ORDER_TRANSITIONS, None, Trigger.SET_TERMS)
        results: list[StoredOrder | DuplicateRecord] = []
        stored: list[StoredOrder] = []
        since_blocks: list[int] = []
        entries: list[TimelineEntry] = []
        for each in checked:
            order = each.order
            if order.id in taken:
                results.append(_duplicate(order.id))
                continue
            taken.add(order.id)
            stored.append(StoredOrder(order, status, memo(order.id), now))
            since_blocks.append(each.since_block)
            results.append(stored[-1])
            details: dict[str, object] = {"payer": None} if order.payer is None else {}
            name = OrderRecord.__tablename__
            entries.append(TimelineEntry(name, order.id, now, Trigger.SET_TERMS, None, str(status), details))
        insert_orders(tx, stored, since_blocks)
        record_entries(tx, entries)
        return results

    def send(self, stored: Sequence[StoredOrder]) -> None:
        """Send nothing: a drafted order has no transactions."""


def _require_new(draft: NewDraft, captured: PendingAnswer[bool]) -> None:
    if captured.result():
        raise DuplicateRecord(f"orders: the checkout has already captured 0x{draft.terms.nonce.hex()}")


def _duplicate(id: str) -> DuplicateRecord:
    return DuplicateRecord(f"orders: {id} or another of its keys already exists")
