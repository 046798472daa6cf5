"""Gas lost to transactions that reverted because of a payer: a budget for each payer, and one for those with code.

A payer can change its account, or its code its answer, between the last simulation and the transaction. Its payments
cost gas then, and bring nothing. Beyond a budget, no transaction of the payer is sent without a decision of the
merchant. New wallets are free, so payers with code have a budget in common as well. What their transactions without a
receipt may still cost counts against it (`code_gas`): the losses never exceed it, except by decisions of the merchant.

A revert counts unless it has another cause: the token is paused or forbids one of the accounts, or the block is past
the payment's end.
"""

import logging
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection, func, select

from foreseal.payments.chain import (
    ChainNode,
    ChainReceipt,
    CodeTimeout,
    Incomplete,
    PendingAnswer,
    RejectedByNode,
    RequestBatch,
    RestrictionReads,
    Reverted,
    TokenReads,
    TransferParties,
    node_requests,
)
from foreseal.payments.ledger import Ledger, ensure
from foreseal.payments.ledger.models import LostGasRecord
from foreseal.payments.ledger.queries import ColumnValues, chunks
from foreseal.payments.transactions.code_gas import lock_code_gas, read_code_gas
from foreseal.payments.transactions.errors import GasBudgetInUse, GasBudgetSpent
from foreseal.payments.transactions.fees import FeeSettings
from foreseal.payments.transactions.intents import TransactionCall

LOST_GAS_PERIOD = 3_600
"""Seconds for which lost gas counts."""

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RevertedPayment:
    """A payment whose transaction, or whose share of a transaction, reverted."""

    token: str
    parties: TransferParties
    """Accounts of its transfer; the sender is the payer."""
    end: int | None
    """Time in seconds since 1970 from which it is not valid; None if it is always valid."""
    gas: int
    charged: str | None = None
    """Account that is charged in place of the payer: a token that a stranger named, whose code chose to revert."""

    @property
    def account(self) -> str:
        """Account whose budget the gas counts for."""
        return self.charged or self.parties.sender


@dataclass(frozen=True, slots=True)
class LostGasTotals:
    """Gas lost within `LOST_GAS_PERIOD`."""

    total: int
    by_code: int
    """Gas lost to payers with code."""


def read_lost_gas(tx: Connection, chain_id: int, now: float) -> LostGasTotals:
    """Return the gas lost on a chain. `now` is Unix time in seconds."""
    query = select(LostGasRecord.has_code, func.sum(LostGasRecord.gas)).where(_counts(chain_id, now))
    gas_by_code = {bool(has_code): int(gas) for has_code, gas in tx.execute(query.group_by(LostGasRecord.has_code))}
    return LostGasTotals(sum(gas_by_code.values()), gas_by_code.get(True, 0))


def _spent_by_code(lost_gas: int, fees: FeeSettings) -> str:
    """Return the sentence about gas that payers with code have lost, and its maximum."""
    return (
        f"transactions of payers with code that reverted cost {lost_gas} gas within an hour; the maximum is "
        f"code_lost_gas = {fees.code_lost_gas}, with payer_code_gas = {fees.payer_code_gas} for the next one"
    )


def _counts(chain_id: int, now: float) -> ColumnElement[bool]:
    return (LostGasRecord.chain_id == chain_id) & (LostGasRecord.time > now - LOST_GAS_PERIOD)


class LostGas:
    """Budget of an account's gas that payers may waste."""

    def __init__(self, ledger: Ledger, node: ChainNode, chain_id: int, fees: Callable[[], FeeSettings]) -> None:
        """Set up the budget. `fees` returns the current settings."""
        self._ledger = ledger
        self._node = node
        self._chain_id = chain_id
        self._fees = fees
        # Second in which the table had no lost gas. Nearly every payment is checked then, so it is not read again.
        self._empty_at: int | None = None

    def record(self, receipt: ChainReceipt, payments: Sequence[RevertedPayment], node: ChainNode | None = None) -> None:
        """Record the gas of a transaction that these payers made revert. Repeated calls record nothing more.

        `node` replaces the account's, for a token that anybody may have named. Raises the node's errors.
        """
        same = (LostGasRecord.chain_id == self._chain_id) & (LostGasRecord.transaction_hash == receipt.transaction_hash)
        with self._ledger.database.reading() as tx:
            known = set(tx.execute(select(LostGasRecord.payer).where(same)).scalars())
        for payer in dict.fromkeys(payment.account for payment in payments):
            if payer in known:
                continue
            mine = [payment for payment in payments if payment.account == payer]
            causes = [self._read_cause(node or self._node, receipt, payment) for payment in mine]
            gas = sum(payment.gas for payment, (is_caused, _) in zip(mine, causes, strict=True) if is_caused)
            values: ColumnValues = {
                LostGasRecord.chain_id: self._chain_id,
                LostGasRecord.transaction_hash: receipt.transaction_hash,
                LostGasRecord.payer: payer,
                LostGasRecord.gas: gas,
                LostGasRecord.has_code: causes[0][1] or mine[0].charged is not None,
                LostGasRecord.time: self._ledger.clock(),
            }
            with self._ledger.database.transaction() as tx:
                ensure(tx, LostGasRecord, values)
            self._empty_at = None
            details = {"payer": payer, "transaction": receipt.transaction_hash, "lost_gas": gas}
            _log.warning("a payment reverted", extra=details)

    def find_spent(self, payers: Collection[str], *, runs_code: bool = False) -> dict[str, GasBudgetSpent]:
        """Return the payers whose budget is spent, with the reason. Raises the node's errors.

        With `runs_code`, they are contracts, and their code need not be read. What another process records in the
        same second may be missing.
        """
        now = self._ledger.clock()
        if self._empty_at == now:
            return {}
        with self._ledger.database.reading() as tx:
            lost_gas = read_lost_gas(tx, self._chain_id, now)
            if not lost_gas.total:
                self._empty_at = now
                return {}
            lost = self._by_payer(tx, payers)
        fees = self._fees()
        spent = {
            payer: GasBudgetSpent(
                f"transactions of {payer} that reverted cost {gas} gas within an hour; the maximum is "
                f"payer_lost_gas = {fees.payer_lost_gas}"
            )
            for payer, gas in lost.items()
            if gas >= fees.payer_lost_gas
        }
        if fees.is_code_budget_spent(lost_gas.by_code):
            message = _spent_by_code(lost_gas.by_code, fees)
            others = [each for each in payers if each not in spent]
            for payer in others if runs_code else self._with_code(others):
                spent[payer] = GasBudgetSpent(message)
        return spent

    def require_budget(self, payer: str, *, runs_code: bool = False) -> None:
        """Raise `GasBudgetSpent` if the budget of a payer is spent (`find_spent`), and the node's errors."""
        for error in self.find_spent([payer], runs_code=runs_code).values():
            raise error

    def find_without_room(
        self, tx: Connection, calls: Sequence[TransactionCall]
    ) -> dict[int, GasBudgetSpent | GasBudgetInUse]:
        """Return the calls, by position, that the common budget of payers with code has no room for, with the reason.

        The caller stores the others in this transaction: until it ends, no other process decides about this budget.
        """
        if not any(call.runs_code for call in calls):
            return {}
        lock_code_gas(tx, self._chain_id)
        return self._without_room(tx, calls)

    def require_room(self, tx: Connection, call: TransactionCall) -> None:
        """Raise the reason if the common budget has no room for a call that is stored now (`find_without_room`)."""
        for error in self.find_without_room(tx, [call]).values():
            raise error

    def is_in_use(self, call: TransactionCall) -> bool:
        """Return True if a call now has no room because of transactions in flight."""
        with self._ledger.database.reading() as tx:
            return isinstance(self._without_room(tx, [call]).get(0), GasBudgetInUse)

    def _without_room(
        self, tx: Connection, calls: Sequence[TransactionCall]
    ) -> dict[int, GasBudgetSpent | GasBudgetInUse]:
        # In this order: a revert is recorded before its gas in flight is released.
        in_flight = read_code_gas(tx, self._chain_id)
        lost, fees = read_lost_gas(tx, self._chain_id, self._ledger.clock()).by_code, self._fees()
        refused: dict[int, GasBudgetSpent | GasBudgetInUse] = {}
        for position, call in enumerate(calls):
            # A single transaction may exceed a small budget: otherwise no payer with code could ever pay.
            if not call.runs_code or not lost + in_flight:
                in_flight += call.gas if call.runs_code else 0
            elif lost and lost + call.gas > fees.code_lost_gas:
                refused[position] = GasBudgetSpent(f"{_spent_by_code(lost, fees)}; this one may cost {call.gas}")
            elif lost + in_flight + call.gas > fees.code_lost_gas:
                refused[position] = GasBudgetInUse(
                    f"transactions of payers with code in flight may cost {in_flight} gas, this one {call.gas}, and "
                    f"reverted ones cost {lost} within an hour; the maximum is code_lost_gas = {fees.code_lost_gas}"
                )
            else:
                in_flight += call.gas
        return refused

    def _by_payer(self, tx: Connection, payers: Collection[str]) -> dict[str, int]:
        gas_by_payer: dict[str, int] = {}
        for chunk in chunks(sorted(set(payers))):
            query = select(LostGasRecord.payer, func.sum(LostGasRecord.gas)).where(
                _counts(self._chain_id, self._ledger.clock()), LostGasRecord.payer.in_(chunk)
            )
            gas_by_payer |= {payer: int(gas) for payer, gas in tx.execute(query.group_by(LostGasRecord.payer))}
        return gas_by_payer

    def _with_code(self, payers: Sequence[str]) -> list[str]:
        batch = RequestBatch()
        codes = {payer: batch.add(node_requests.code(payer, "pending")) for payer in payers}
        batch.execute(self._node)
        return [payer for payer, code in codes.items() if code.result()]

    @staticmethod
    def _read_cause(node: ChainNode, receipt: ChainReceipt, payment: RevertedPayment) -> tuple[bool, bool]:
        """Return if the payer caused the revert, and if it has code.

        A wallet may remove its code in the block, so the block before it counts as well.
        """
        batch, token, payer = RequestBatch(), TokenReads(payment.token), payment.parties.sender
        head = batch.add(node_requests.head(receipt.block_number))
        paused = batch.add(token.paused("pending"))
        codes = [batch.add(node_requests.code(payer, block)) for block in ("pending", receipt.block_number - 1)]
        restrictions = RestrictionReads(token, "pending", batch)
        restrictions.add(payment.parties)
        batch.execute(node)
        restrictions.read_policies(node, [payment.parties])
        block_head = head.result() or node.head("pending")
        is_late = payment.end is not None and block_head is not None and block_head.timestamp >= payment.end
        is_stopped = _answer(paused, default=False) or _is_forbidden(restrictions, payment.parties)
        return not (is_late or is_stopped), any(_answer(code, b"") for code in codes)


def _answer(answer: PendingAnswer[T], default: T) -> T:
    """Return an answer; the default if the token has no such function, or the node no state of that block."""
    try:
        return answer.result()
    except (Reverted, Incomplete, RejectedByNode, CodeTimeout):
        return default


def _is_forbidden(restrictions: RestrictionReads, parties: TransferParties) -> bool:
    try:
        return restrictions.forbidden(parties) is not None
    except (Reverted, Incomplete, CodeTimeout):
        return False
