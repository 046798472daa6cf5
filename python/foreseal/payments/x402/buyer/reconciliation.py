"""Reconciliation of purchases with sellers and the chain, and totals by session and day.

```text
Reserved, and its process is gone      returned: a signature, if any, was never sent
status of the seller                   settled: spent; proven never to be settled: returned
final block past the end, nonce unused returned, despite any report of the seller
nonce used in a final block            spent, with the transferred amount if the chain shows it
```
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import httpx
from sqlalchemy import select

from foreseal.payments.chain import ChainError, ChainNode
from foreseal.payments.chain.token import transfers
from foreseal.payments.ledger import ConcurrentUpdate, Database, PurchaseState, Trigger
from foreseal.payments.ledger.queries import fetch_each
from foreseal.payments.x402.buyer.models import PurchaseRecord
from foreseal.payments.x402.buyer.payment_responses import read_status
from foreseal.payments.x402.buyer.purchases import PurchaseOutcome, Purchases
from foreseal.payments.x402.buyer.spending_policy import Asset, ReportSource
from foreseal.payments.x402.payment_key import BATCH, UPTO, Payment, PaymentKey
from foreseal.payments.x402.payment_status import PaymentFate, PaymentStatus, find_status

_LARGEST = 1 << 16
"""Maximum bytes of a seller's status."""
_ABANDONED = 300
"""Seconds after which a reserved, unsent purchase counts as abandoned. Signing takes milliseconds."""


@dataclass
class ReconciliationResult:
    """Result of a reconciliation."""

    concluded: int = 0
    """Purchases with a new outcome."""
    open: int = 0
    """Purchases without a final outcome."""
    errors: dict[str, str] = field(default_factory=dict)
    """Errors by the id of the purchase, if its status could not be read."""


class Reconciliation:
    """Reconciliation of open purchases. Safe to run at any time, concurrently with buyers."""

    def __init__(
        self,
        purchases: Purchases,
        nodes: Mapping[str, ChainNode],
        sellers: httpx.Client | None = None,
    ) -> None:
        """Set up the reconciliation. `nodes` are by CAIP-2 network id.

        `sellers` requests the status URLs that sellers gave. Without it, only the chain decides.
        """
        self._purchases = purchases
        self._nodes = nodes
        self._sellers = sellers

    def run(self, payer: str, progress: Callable[[int, int], None] = lambda done, of: None) -> ReconciliationResult:
        """Check every purchase of an account without a final outcome.

        `progress` receives the number of checked purchases and the total.
        """
        result, rows = ReconciliationResult(), self._purchases.unsettled(payer)
        for done, row in enumerate(rows):
            progress(done, len(rows))
            try:
                outcome, reserved = self._outcome(row), row.state is PurchaseState.RESERVED
                if outcome is not None and self._purchases.conclude(row.id, outcome, unless_presented=reserved):
                    result.concluded += 1
            except ConcurrentUpdate:  # its buyer recorded an outcome first
                outcome = None
            except (ChainError, httpx.HTTPError) as error:
                result.errors[row.id] = str(error)
                outcome = None
            result.open += outcome is None or outcome.trigger in (Trigger.PAID, Trigger.REFUSED)
        progress(len(rows), len(rows))
        return result

    def _outcome(self, row: PurchaseRecord) -> PurchaseOutcome | None:
        if row.state is PurchaseState.RESERVED:
            abandoned = row.reserved_at + _ABANDONED < self._purchases.ledger.clock()
            return PurchaseOutcome(Trigger.UNSENT) if abandoned else None
        node = self._nodes.get(row.network)
        if node is not None:
            payee = None if row.scheme == BATCH else row.payee  # a deposit goes into a channel
            status = find_status(node, Payment(payment_key(row), row.asset, payee, row.amount, row.valid_before))
            if status.never:
                return PurchaseOutcome(Trigger.UNSPENT, None, status.transaction)
            if status.final:
                return PurchaseOutcome(Trigger.SPENT, self._settled(node, row, status), status.transaction)
        return self._seller_outcome(row) if row.state is PurchaseState.PRESENTED else None

    def _seller_outcome(self, row: PurchaseRecord) -> PurchaseOutcome | None:
        """Return the outcome from the seller's status URL."""
        if self._sellers is None or row.status_url is None:
            return None
        with self._sellers.stream("GET", row.status_url, follow_redirects=False) as response:
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    return None
        return read_status(body, row.amount) if response.status_code == httpx.codes.OK else None

    def _settled(self, node: ChainNode, row: PurchaseRecord, status: PaymentStatus) -> int:
        """Return the transferred units, or the full signed amount if the chain does not show them."""
        if status.fate is PaymentFate.SETTLED and status.amount is not None:
            return min(status.amount, row.amount)
        maximum, final = row.amount, status.final_block
        if row.scheme != UPTO or row.transaction_hash is None or self._purchases.shares_transaction(row):
            return maximum
        if row.report_source is ReportSource.CHAIN:  # the seller chose the transaction
            return maximum
        # Permit2 logs no nonce. The seller names the transaction, and the chain shows its transfers. Each transaction
        # counts only once, so a mix-up by the seller does not change the sum.
        receipt = node.receipt(row.transaction_hash)
        if receipt is None or final is None or receipt.block_number > final.number:
            return maximum
        ends = (row.payer, row.payee)
        moved = [
            transfer.amount
            for transfer in transfers(receipt, row.asset)
            if (transfer.sender, transfer.recipient) == ends
        ]
        return min(moved[0], maximum) if len(moved) == 1 else maximum


def payment_key(row: PurchaseRecord) -> PaymentKey:
    """Return the key that identifies a sent payment on the chain and in a facilitator's status."""
    assert row.contract is not None, "a presented payment has a key"
    assert row.nonce is not None, "a presented payment has a key"
    return PaymentKey(int(row.network.removeprefix("eip155:")), row.contract, row.payer, row.nonce)


@dataclass
class Totals:
    """Sums of the purchases of one account in one session, day and asset, in smallest units."""

    payer: str
    session: str
    day: str
    asset: Asset
    spent: int = 0
    reserved: int = 0
    """Amounts with an unknown outcome, which may still be charged."""
    returned: int = 0
    """Amounts that were signed or reserved and not charged, including the rest of a maximum."""
    purchases: int = 0


def totals(database: Database, payer: str | None = None) -> list[Totals]:
    """Return spent, reserved and returned sums, sorted by account, day, session and asset."""
    sums_by_key: dict[tuple[str, ...], Totals] = {}
    query = select(PurchaseRecord) if payer is None else select(PurchaseRecord).where(PurchaseRecord.payer == payer)
    with database.reading() as tx:
        for row in fetch_each(tx, query):
            key = (row.payer, row.day, row.session, row.network, row.asset)
            new = Totals(row.payer, row.session, row.day, Asset(row.network, row.asset))
            sums = sums_by_key.setdefault(key, new)
            sums.purchases += 1
            settled = row.settled or 0
            if row.state in (PurchaseState.RESERVED, PurchaseState.PRESENTED):
                sums.reserved += row.amount
            else:
                sums.spent += settled
                sums.returned += row.amount - settled
    return [sums_by_key[key] for key in sorted(sums_by_key)]
