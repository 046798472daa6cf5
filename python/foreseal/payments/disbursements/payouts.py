"""Payouts: one batch to many recipients through the payouts contract, and splits of a sum."""

import json
from collections.abc import Sequence

from sqlalchemy import Connection, insert, select

from foreseal.payments.amounts import check_amount
from foreseal.payments.chain import ChainReceipt, Token
from foreseal.payments.chain.token import PAYOUT_SENT, payouts_call, payouts_sent, transfers
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.disbursements.disbursements import Disbursements, RecipientForbidden, paid_by
from foreseal.payments.ledger import DuplicateRecord, Trigger
from foreseal.payments.ledger.models import PayoutLegRecord, PayoutRecord, Purpose, TimelineRecord
from foreseal.payments.ledger.queries import ColumnValues, chunks, fetch_each, fetch_one_or_none
from foreseal.payments.transfers.authorization_logs import Topics
from foreseal.payments.typed_data import ZERO_ADDRESS, address, bytes32

MAX_RECIPIENTS = 100
BASIS_POINTS = 10_000


class NotFunded(Exception):
    """The merchant's balance, or its allowance for the contract, is less than the batch.

    Amounts are in smallest units.
    """

    def __init__(self, needed: int, there: int) -> None:
        super().__init__(needed, there)
        self.needed = needed
        self.there = there

    def __str__(self) -> str:
        return f"the batch needs {self.needed} units, but only {self.there} are available"


class Payouts(Disbursements[PayoutRecord]):
    """Payouts of a merchant."""

    model = PayoutRecord
    purpose = Purpose.PAYOUT
    decided = CrashPoint.PAYOUT_DECIDED
    stored = CrashPoint.PAYOUT_STORED

    def prepare(self, batch: bytes, contract: str, legs: Sequence[tuple[str, int]]) -> str:
        """Reserve a batch of recipients and amounts in smallest units. Return its id, the batch reference as 0x text.

        The reference is the idempotency key, in the ledger and in the contract: the same legs mean the same batch.
        Raises `RecipientForbidden` with the recipient at fault, `NotFunded`, `DuplicateRecord` if the reference exists
        with other legs, ValueError, TypeError and the node's errors.
        """
        id = "0x" + bytes32(batch, "batch").hex()
        contract_address, checked_legs = address(contract, "contract"), _checked(legs)
        with self.ledger.database.reading() as tx:
            if self._exists(tx, id, contract_address, checked_legs):
                return id
        self._check(contract_address, checked_legs)
        domain = self.merchant.domain
        with self.ledger.database.transaction() as tx:
            if self._exists(tx, id, contract_address, checked_legs):
                return id
            self.ledger.create(
                tx,
                PayoutRecord,
                Trigger.RESERVE,
                {
                    PayoutRecord.id: id,
                    PayoutRecord.chain_id: domain.chain_id,
                    PayoutRecord.token: domain.contract,
                    PayoutRecord.contract: contract_address,
                },
                payee=self.merchant.payee,
            )
            for position, (recipient, amount) in enumerate(checked_legs):
                leg: ColumnValues = {
                    PayoutLegRecord.payout_id: id,
                    PayoutLegRecord.position: position,
                    PayoutLegRecord.recipient: recipient,
                    PayoutLegRecord.amount: amount,
                }
                tx.execute(insert(PayoutLegRecord).values(leg))
        return id

    def preview(self, contract: str, legs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
        """Return the legs of a batch that could be reserved now, and reserve nothing.

        Raises `RecipientForbidden` with the recipient at fault, `NotFunded`, ValueError, TypeError and the node's
        errors.
        """
        checked_legs = _checked(legs)
        self._check(address(contract, "contract"), checked_legs)
        return checked_legs

    def recipients(self, tx: Connection, row: PayoutRecord) -> list[tuple[str, int]]:
        """Return the legs of a batch."""
        return _legs(tx, row.id)

    def call(self, row: PayoutRecord, legs: list[tuple[str, int]]) -> tuple[str, bytes]:
        """Return the call of sendPayouts."""
        return row.contract, payouts_call(bytes32(row.id, "batch"), legs)

    def trace(self, row: PayoutRecord, legs: list[tuple[str, int]]) -> tuple[str, Topics]:
        """Return the filter for PayoutSent of the batch."""
        return row.contract, ((PAYOUT_SENT,), (bytes32(row.id, "batch"),))

    def find_effect(self, row: PayoutRecord, legs: list[tuple[str, int]], receipt: ChainReceipt) -> list[int] | None:
        """Return the log index of a Transfer for each leg, if each leg has a PayoutSent as well."""
        sent = payouts_sent(receipt, row.contract, bytes32(row.id, "batch"))
        return paid_by(transfers(receipt, row.token), legs) if sent == legs else None

    def _check(self, contract: str, legs: list[tuple[str, int]]) -> None:
        token = Token(self.sender.node, self.merchant.domain.contract)
        forbidden = self.forbidden(token.address, contract, legs)
        if forbidden is not None:
            raise RecipientForbidden(forbidden)
        needed, payee = sum(amount for _, amount in legs), self.merchant.payee
        there = min(token.balance(payee, "pending"), token.allowance(payee, contract, "pending"))
        if there < needed:
            raise NotFunded(needed, there)

    def _exists(self, tx: Connection, id: str, contract: str, legs: list[tuple[str, int]]) -> bool:
        """Return True if the batch is already reserved. Raises `DuplicateRecord` if its id belongs to another batch."""
        payout = fetch_one_or_none(tx, select(PayoutRecord).where(PayoutRecord.id == id))
        if payout is None:
            return False
        payee = read_payees(tx, [id])[id]
        mine = (self.merchant.domain.contract, self.merchant.payee, contract)
        if (payout.token, payee, payout.contract) != mine or _legs(tx, id) != legs:
            raise DuplicateRecord(f"payouts: {id} is another batch")
        return True


def _checked(legs: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    checked = [(address(recipient, "recipient"), check_amount(amount)) for recipient, amount in legs]
    if not 1 <= len(checked) <= MAX_RECIPIENTS:
        raise ValueError(f"legs: {len(checked)} recipients, must be between 1 and {MAX_RECIPIENTS}")
    if any(amount == 0 for _, amount in checked):
        raise ValueError("amount: must not be 0")
    if any(recipient == ZERO_ADDRESS for recipient, _ in checked):
        raise ValueError("recipient: must not be the zero address")
    return checked


def _legs(tx: Connection, id: str) -> list[tuple[str, int]]:
    query = select(PayoutLegRecord).where(PayoutLegRecord.payout_id == id).order_by(PayoutLegRecord.position)
    return [(leg.recipient, leg.amount) for leg in fetch_each(tx, query)]


def read_payees(tx: Connection, ids: Sequence[str]) -> dict[str, str]:
    """Return the payees of payouts, by id, as recorded with the reservation."""
    payees: dict[str, str] = {}
    for chunk in chunks(ids):
        reserved = (TimelineRecord.subject == PayoutRecord.__tablename__) & TimelineRecord.subject_id.in_(chunk)
        created = select(TimelineRecord).where(reserved, TimelineRecord.trigger == Trigger.RESERVE)
        for entry in fetch_each(tx, created):
            payees[entry.subject_id] = json.loads(entry.details)["payee"]
    return payees


def split(total: int, shares: Sequence[int], remainder: int) -> list[int]:
    """Split a sum by shares in basis points. The integer remainder goes to the share at index `remainder`.

    Raises ValueError unless the shares sum to 10,000 basis points, and TypeError or ValueError for an invalid amount.
    """
    check_amount(total, "total")
    if sum(check_amount(share, "share") for share in shares) != BASIS_POINTS:
        raise ValueError(f"shares: {sum(shares)} basis points must be {BASIS_POINTS}")
    if not 0 <= remainder < len(shares):
        raise ValueError(f"remainder: share {remainder} does not exist")
    parts = [total * share // BASIS_POINTS for share in shares]
    parts[remainder] += total - sum(parts)
    return parts
