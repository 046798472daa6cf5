"""Sending: from stored bytes to a receipt.

```text
call() -> [store() -> commit] -> deliver() -> outcome() ... -> close()
           one database           the same     receipts of      once it is
           transaction with       bytes, or    all attempts     final
           the decision           10 % more
```

Stored bytes are sent as often as needed. Sending the same bytes twice has no further effect. All attempts of an intent
share one account nonce, so at most one is included.

A transaction that the node never accepts would block all later account nonces. An empty transfer is stored as its
further attempt and takes the account nonce: the intent fails once that is final. If a block includes an earlier attempt
after all, that one counts.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from foreseal.payments.chain import (
    BlockHead,
    ChainError,
    ChainNode,
    ChainReceipt,
    ChainReorganized,
    ConfirmationPolicy,
    Heads,
    Incomplete,
    InvalidTransaction,
    NodeRequest,
    NonceTooLow,
    NoResponse,
    RejectedByNode,
    RequestBatch,
    SimulatedTransaction,
    TemporaryRejection,
    Underpriced,
    heads,
    node_requests,
)
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Finality, Ledger, StatusStep, TxStatus
from foreseal.payments.ledger.models import AttemptRecord, Purpose, TransactionRecord
from foreseal.payments.transactions.call_estimates import CallEstimates
from foreseal.payments.transactions.fees import FeeQuote, FeeSettings, quote
from foreseal.payments.transactions.intents import (
    TransactionCall,
    TransactionIntents,
    newest_ordinal,
    read_intent,
    read_new_intents,
    record_rejection,
)
from foreseal.payments.transactions.lost_gas import LostGas
from foreseal.payments.transactions.nonce_gaps import fill_gap, is_nonce_used
from foreseal.payments.transactions.signer import TransactionSigner

# A block may be sealed between a receipt and the check of its hash; a retry finds the new block.
_RECEIPT_ATTEMPTS = 3
# Blocks after which a transaction ends that the node rejects for a reason of unknown duration.
_UNKNOWN_REJECTION_BLOCKS = 3
# Characters of a stored rejection.
_MAX_REJECTION = 500


class DeliveryStatus(StrEnum):
    """Result of sending bytes to the node."""

    ACCEPTED = "taken"
    """The node has an attempt with this account nonce."""
    UNKNOWN = "unknown"
    """No answer, or the account nonce is used; receipts show by which transaction."""
    REJECTED = "refused"
    """The node rejected it, for example because the account cannot pay the gas."""


class Rejection(StrEnum):
    """Duration of a rejection."""

    PERMANENT = "permanent"
    """The rules exclude the transaction."""
    TEMPORARY = "temporary"
    """The account lacks ether, the fee is too low, or the node has no room."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class DeliveryResult:
    """A delivery, with the node's error message if it had one."""

    status: DeliveryStatus
    message: str = ""
    pooled: bool = False
    """True if the node reports a transaction with this account nonce in its pool."""
    rejection: Rejection | None = None
    """Duration of a rejection."""


@dataclass(frozen=True, slots=True)
class TransactionOutcome:
    """Result of an intent."""

    intent: int
    receipt: ChainReceipt | None = None
    """Receipt of the included attempt."""
    step: StatusStep = TxStatus.UNKNOWN
    """PROVISIONAL, CONFIRMED or FINAL with a receipt.

    Without one: FAILED if it is final that no attempt can be included, else UNKNOWN.
    """
    reason: str = ""
    """Reason of FAILED: `account_nonce_used`, or `rejected_by_node` if an empty transfer took the account nonce."""
    counts_code: bool = False
    """True if this is the first receipt of a transaction in which the code of payers runs (`release_code_gas`)."""


_DURATIONS: dict[type[ChainError], Rejection] = {
    InvalidTransaction: Rejection.PERMANENT,
    TemporaryRejection: Rejection.TEMPORARY,
}


class TransactionSender:
    """Sender for one key. The key belongs to this ledger alone; several processes may share the database."""

    def __init__(
        self,
        ledger: Ledger,
        node: ChainNode,
        intents: TransactionIntents,
        policy: ConfirmationPolicy,
        fees: FeeSettings | None = None,
    ) -> None:
        self.ledger = ledger
        self.node = node
        self.intents = intents
        self.policy = policy
        self.fees = fees or FeeSettings()
        self.lost_gas = LostGas(ledger, node, intents.chain_id, lambda: self.fees)

    def with_node(self, node: ChainNode) -> "TransactionSender":
        """Return a sender that uses another node, or `CachedHeads` of the same one."""
        return TransactionSender(self.ledger, node, self.intents, self.policy, self.fees)

    @property
    def account(self) -> TransactionSigner:
        """Account that signs the transactions."""
        return self.intents.account

    def call(self, target: str, data: bytes, *, simulated: bool = False) -> TransactionCall:
        """Return gas limit, fees and account nonce of a call, estimated at `pending`.

        With `simulated`, for a call in which code of others runs, the final transaction is simulated as well. Raises
        `Reverted` if it would revert, `FeeTooHigh`, `GasTooHigh`, `WrongChain`, and the node's errors.
        """
        batch = RequestBatch()
        estimates = self.estimates(batch)
        gas = estimates.add(target, data)
        batch.execute(self.node)
        call = estimates.call(target, data, gas)
        if simulated:
            self.node.execute(self.simulation(call))
        return call

    def simulation(self, call: TransactionCall, code: bytes | None = None) -> NodeRequest[bytes]:
        """Return the request that executes a call at `pending` like its transaction.

        An estimate has neither fees nor a gas limit, so code that reads them may act differently in it. `code` replaces
        that of the target. The request fails with `Reverted`, and with `TemporaryRejection` if the account cannot pay.
        """
        fees = call.quote
        simulated = SimulatedTransaction(
            self.account.address, call.target, call.data, call.gas, fees.fee, fees.priority_fee, code
        )
        return node_requests.simulate(simulated, "pending")

    def estimates(self, batch: RequestBatch) -> CallEstimates:
        """Return estimates for calls of this account, whose requests are added to a batch."""
        return CallEstimates(batch, self.account.address, self.intents.chain_id, self.fees)

    def deliver(self, intent: int, *, gives_up: bool = False) -> DeliveryResult:
        """Send the newest bytes of an intent. If they waited too long, send a replacement with higher fees.

        With `gives_up`, any rejection ends the intent: an empty transfer takes its account nonce. The result reports
        the node's answer or silence; the node's errors are not raised.
        """
        with self.ledger.database.reading() as tx:
            row, history = read_intent(tx, intent)
        last = history[-1]
        newest = delivered = self._send(history)
        if last.is_empty and delivered.status is DeliveryStatus.ACCEPTED:
            delivered = self._ended(row)
        # If the account cannot pay the newest attempt, an earlier one may still be in the pool, or be accepted again.
        while delivered.rejection is not None and len(history) > 1:
            history = history[:-1]
            delivered = self._send(history)
        # The stored bytes were sent without checking the current fees.
        with contextlib.suppress(ChainError):
            is_ended = self._record_rejection(row, last, delivered, gives_up=gives_up)
            if is_ended or (self._is_cheap(row, last, newest) and self.replace(intent, last.ordinal)):
                with self.ledger.database.reading() as tx:
                    row, history = read_intent(tx, intent)
                newest = self._send(history)
                return self._ended(row) if history[-1].is_empty else newest
        return delivered

    @staticmethod
    def _ended(row: TransactionRecord) -> DeliveryResult:
        """Return the rejection that ended an intent. The node has the empty transfer in its place."""
        return DeliveryResult(DeliveryStatus.REJECTED, row.rejection or "")

    def _record_rejection(
        self, row: TransactionRecord, last: AttemptRecord, delivered: DeliveryResult, *, gives_up: bool
    ) -> bool:
        """Record since when the node rejects an intent, or that it accepts it.

        Return True if an empty transfer is now its newest attempt, because the node will not accept any other.
        """
        if delivered.rejection is None:
            if row.rejected_since is not None and delivered.status is DeliveryStatus.ACCEPTED:
                with self.ledger.database.transaction(durable=False) as tx:
                    record_rejection(tx, row.id, None, None)
            return False
        head = building_head(self.node)
        since = head.number if row.rejected_since is None else row.rejected_since
        if row.rejected_since is None or row.rejection != delivered.message:
            with self.ledger.database.transaction(durable=False) as tx:
                record_rejection(tx, row.id, delivered.message, since)
        is_unknown = delivered.rejection is Rejection.UNKNOWN and head.number >= since + _UNKNOWN_REJECTION_BLOCKS
        is_over = gives_up or is_unknown or delivered.rejection is Rejection.PERMANENT
        if not is_over or last.is_empty or row.sender != self.account.address:
            return False
        # The node has no attempt in its pool, so nothing is outbid.
        fees = quote(self.node, head)
        return fees.fee <= self.fees.max_fee and self._end(row.id, last.ordinal, fees, head.number)

    def _end(self, intent: int, last: int, fees: FeeQuote, block: int) -> bool:
        """Store an empty transfer as the further attempt of an intent. Return False if it has another one already."""
        with self.ledger.database.transaction() as tx:
            if newest_ordinal(tx, intent) != last:
                return False
            row, _ = read_intent(tx, intent)
            self.intents.attempt(tx, row, last + 1, fees, block, is_empty=True)
            self.ledger.passed(CrashPoint.EMPTY_TRANSFER_DECIDED)
        self.ledger.passed(CrashPoint.EMPTY_TRANSFER_STORED)
        return True

    def _is_cheap(self, row: TransactionRecord, last: AttemptRecord, newest: DeliveryResult) -> bool:
        """Return True if the newest bytes need higher fees: they waited too long, or were rejected below current fees.

        Higher fees help neither after a rejection for another reason, such as an insufficient balance, nor behind an
        earlier account nonce. If no transaction has that earlier nonce, this fills the gap. The key of another account
        can do neither.
        """
        if row.sender != self.account.address:
            return False
        head = building_head(self.node)
        if head.number < last.since_block + self.fees.patience_blocks:
            return False
        fee_quote = quote(self.node, head)
        if newest.status is DeliveryStatus.REJECTED:
            return bool(fee_quote.fee > last.fee or fee_quote.priority_fee > last.priority_fee)
        first = self.node.transaction_count(row.sender, "pending")
        if first >= row.account_nonce:
            return newest.pooled
        with self.ledger.database.reading() as tx:
            used = is_nonce_used(tx, row.chain_id, row.sender, first)
        if not used and fee_quote.fee <= self.fees.max_fee:
            fill_gap(self.node, self.intents, first, fee_quote)
        return False

    def replace(self, intent: int, last: int | None = None) -> bool:
        """Store a further attempt with the same account nonce that pays at least 10 % more.

        Return False at the fee limit.

        With `last`, do so only if the newest attempt still has that ordinal: another process may have been faster.
        Nothing is sent; `deliver` does that.
        """
        head = building_head(self.node)
        fee_quote = quote(self.node, head)
        with self.ledger.database.transaction() as tx:
            ordinal = newest_ordinal(tx, intent)
            if last is not None and ordinal != last:
                return True
            row, history = read_intent(tx, intent)
            raised = FeeQuote(history[-1].fee, history[-1].priority_fee).raised(fee_quote)
            if raised.fee > self.fees.max_fee:
                return False
            self.intents.attempt(tx, row, ordinal + 1, raised, head.number, is_empty=history[-1].is_empty)
            self.ledger.passed(CrashPoint.REPLACEMENT_DECIDED)
        self.ledger.passed(CrashPoint.REPLACEMENT_STORED)
        return True

    def outcome(self, intent: int) -> TransactionOutcome:
        """Return the outcome from receipts of every attempt of an intent. Raises the node's errors."""
        with self.ledger.database.reading() as tx:
            row, history = read_intent(tx, intent)
        hashes = [attempt.hash for attempt in reversed(history)]
        empty = {attempt.hash for attempt in history if attempt.is_empty}
        for _ in range(_RECEIPT_ATTEMPTS):
            landed = self._landed(hashes)
            if landed is None:
                return self._missing(row, hashes)
            step = block_finality(self.node, self.policy, landed.block_number, landed.block_hash)
            if step is not None and landed.transaction_hash in empty:
                is_final = step is Finality.FINAL
                return TransactionOutcome(
                    intent, step=TxStatus.FAILED if is_final else TxStatus.UNKNOWN, reason="rejected_by_node"
                )
            if step is not None:
                return TransactionOutcome(intent, landed, step, counts_code=row.code_gas is not None)
        raise ChainReorganized("the chain changed during every search for the transaction")

    def _missing(self, row: TransactionRecord, hashes: list[str]) -> TransactionOutcome:
        """Return the outcome of an intent without a receipt."""
        # The latest block comes first: not every node has the state of older blocks.
        if self.node.transaction_count(row.sender, "latest") <= row.account_nonce:
            return TransactionOutcome(row.id)
        final = self.node.head("finalized")
        if final is None or self.node.transaction_count(row.sender, final.number) <= row.account_nonce:
            return TransactionOutcome(row.id)
        # The account nonce is used for good. Check the receipts again: an attempt may have been included in between.
        if self._landed(hashes):
            return TransactionOutcome(row.id)
        return TransactionOutcome(row.id, step=TxStatus.FAILED, reason="account_nonce_used")

    def _landed(self, hashes: list[str]) -> ChainReceipt | None:
        return next((receipt for hash in hashes if (receipt := self.node.receipt(hash)) is not None), None)

    def deliver_new(self, purpose: Purpose, subjects: Sequence[str]) -> dict[str, DeliveryResult]:
        """Send the bytes of new intents, in the order of their account nonces. Return the result of each subject."""
        with self.ledger.database.reading() as tx:
            raws = read_new_intents(tx, purpose, subjects)
        answers = self.node.batch([node_requests.send(raw) for _, raw in raws])
        self.ledger.passed(CrashPoint.TRANSACTION_SENT)
        return {
            subject: _delivery_result(answer if isinstance(answer, ChainError) else None, attempts=1)
            for (subject, _), answer in zip(raws, answers, strict=True)
        }

    def _send(self, history: list[AttemptRecord]) -> DeliveryResult:
        """Send the newest of these attempts."""
        error: ChainError | None = None
        try:
            self.node.send(history[-1].raw)
        except ChainError as raised:
            error = raised
        delivery = _delivery_result(error, len(history))
        self.ledger.passed(CrashPoint.TRANSACTION_SENT)
        return delivery


def _delivery_result(error: ChainError | None, attempts: int) -> DeliveryResult:
    """Return the result of sending the newest of this many attempts. Raises an error of another kind."""
    match error:
        case None:
            return DeliveryResult(DeliveryStatus.ACCEPTED, pooled=True)
        case Underpriced():
            # The pool has a transaction with this account nonce. If there are several attempts, it is one of ours.
            status = DeliveryStatus.ACCEPTED if attempts > 1 else DeliveryStatus.UNKNOWN
            return DeliveryResult(status, str(error), pooled=True)
        case NonceTooLow() | NoResponse() | Incomplete():
            return DeliveryResult(DeliveryStatus.UNKNOWN, str(error))
        case RejectedByNode():
            return DeliveryResult(
                DeliveryStatus.REJECTED,
                str(error)[:_MAX_REJECTION],
                rejection=_DURATIONS.get(type(error), Rejection.UNKNOWN),
            )
        case _:
            raise error


def building_head(node: ChainNode) -> BlockHead:
    """Return the pending block, or the latest if the node has none. Raises `Incomplete` without either."""
    head = node.head("pending") or node.head("latest")
    if head is None:
        raise Incomplete("the node has no latest block")
    return head


def block_finality(node: ChainNode, policy: ConfirmationPolicy, number: int, hash: str) -> Finality | None:
    """Return PROVISIONAL, CONFIRMED or FINAL for a block; None if it is not on the chain.

    The heads are read before the block's hash is compared, so they describe a chain that includes the block.
    """
    newest = heads(node)
    if number <= newest.latest:
        head = node.head(number)
        if head is None or head.hash != hash:
            return None
    return classify_finality(policy, number, newest)


def classify_finality(policy: ConfirmationPolicy, number: int, newest: Heads) -> Finality:
    """Return PROVISIONAL, CONFIRMED or FINAL for a canonical or pending block."""
    if number <= newest.finalized:
        return Finality.FINAL
    return Finality.CONFIRMED if policy.met(number, newest) else Finality.PROVISIONAL
