"""What became of purchases, asked of sellers and of the chain; and what was spent, by session and day.

```text
Reserved, and its process is gone      given back: what was signed, if anything, never left
status of the seller                   settled: spent; proven that it never will be: given back
final block past the end, nonce unused given back, whatever the seller said
nonce used in a final block            spent, with the amount of the transfer where the chain tells it
```
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
from sqlalchemy import Row, select

from foreseal.payments.chain import ChainError, Node
from foreseal.payments.chain.token import transfers
from foreseal.payments.ledger import Database, Overtaken, PurchaseState, Trigger
from foreseal.payments.x402.buying.answers import read_status
from foreseal.payments.x402.buying.policy import Asset
from foreseal.payments.x402.buying.purchases import Outcome, Purchases
from foreseal.payments.x402.buying.tables import purchases
from foreseal.payments.x402.identities import UPTO, PaymentKey
from foreseal.payments.x402.proof import Fate, Status, look

_LARGEST = 1 << 16
"""Bytes of a seller's status that are read."""
_ABANDONED = 300
"""Seconds after which a purchase that was reserved and not presented is nobody's: signing takes milliseconds."""


@dataclass
class Found:
    """What a look at open purchases brought."""

    concluded: int = 0
    """Purchases of which something new is known."""
    open: int = 0
    """Purchases whose outcome no final block says yet."""
    errors: dict[str, str] = field(default_factory=dict)
    """By the id of the purchase: why nobody could be asked about it."""


class Reconciliation:
    """Asks what became of purchases. May run at any time, beside buyers, and as often as one likes."""

    def __init__(
        self,
        purchases: Purchases,
        nodes: Mapping[str, Node],
        sellers: httpx.Client | None = None,
    ) -> None:
        """`nodes` by network, as in CAIP-2.

        `sellers` asks those that named a place for it what became of a payment; without it no seller's word counts.
        """
        self._purchases = purchases
        self._nodes = nodes
        self._sellers = sellers

    def run(self, payer: str, progress: Callable[[int, int], None] = lambda done, of: None) -> Found:
        """Look at every purchase of an account whose outcome is not final; `progress` is told how many of how many."""
        found, rows = Found(), self._purchases.unsettled(payer)
        for done, row in enumerate(rows):
            progress(done, len(rows))
            try:
                outcome, reserved = self._outcome(row), row.state is PurchaseState.RESERVED
                if outcome is not None and self._purchases.conclude(row.id, outcome, unless_presented=reserved):
                    found.concluded += 1
            except Overtaken:  # its buyer was quicker
                outcome = None
            except (ChainError, httpx.HTTPError) as error:
                found.errors[row.id] = str(error)
                outcome = None
            found.open += outcome is None or outcome.trigger in (Trigger.PAID, Trigger.REFUSED)
        progress(len(rows), len(rows))
        return found

    def _outcome(self, row: Row[Any]) -> Outcome | None:
        if row.state is PurchaseState.RESERVED:
            abandoned = row.reserved_at + _ABANDONED < self._purchases.ledger.clock()
            return Outcome(Trigger.UNSENT) if abandoned else None
        node = self._nodes.get(row.network)
        if node is not None:
            status = look(node, payment_key(row), row.valid_before)
            if status.never:
                return Outcome(Trigger.UNSPENT, None, status.transaction)
            if status.final:
                return Outcome(Trigger.SPENT, self._settled(node, row, status), status.transaction)
        return self._told(row) if row.state is PurchaseState.PRESENTED else None

    def _told(self, row: Row[Any]) -> Outcome | None:
        """What the seller says at the place that it named."""
        if self._sellers is None or row.status_url is None:
            return None
        with self._sellers.stream("GET", row.status_url, follow_redirects=False) as response:
            body = b""
            for piece in response.iter_bytes():
                body += piece
                if len(body) > _LARGEST:
                    return None
        return read_status(body, int(row.amount)) if response.status_code == httpx.codes.OK else None

    def _settled(self, node: Node, row: Row[Any], status: Status) -> int:
        """Units that moved. Where the chain does not tell, all that was signed for."""
        if status.fate is Fate.SETTLED and status.amount is not None:
            return min(status.amount, int(row.amount))
        most, final = int(row.amount), status.final_block
        if row.scheme != UPTO or row.transaction_hash is None or self._purchases.shares_transaction(row):
            return most
        # Permit2 has no log of a nonce: the seller named the transaction, and the chain says what it moved. Each may be
        # named once, so a seller that mixes them up does not change the sum.
        receipt = node.receipt(row.transaction_hash)
        if receipt is None or final is None or receipt.block_number > final.number:
            return most
        ends = (row.payer, row.payee)
        moved = [each.amount for each in transfers(receipt, row.asset) if (each.sender, each.recipient) == ends]
        return min(moved[0], most) if len(moved) == 1 else most


def payment_key(row: Row[Any]) -> PaymentKey:
    """By which the chain, and a facilitator's status, know a purchase that was presented."""
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
    """Of an unknown outcome: it may be taken."""
    returned: int = 0
    """Signed or reserved, and not taken: the rest of maxima among it."""
    purchases: int = 0


def totals(database: Database, payer: str | None = None) -> list[Totals]:
    """What was spent, reserved and given back, by account, day, session and asset in this order."""
    found: dict[tuple[str, ...], Totals] = {}
    wanted = select(purchases) if payer is None else select(purchases).where(purchases.c.payer == payer)
    with database.reading() as tx:
        for row in tx.execute(wanted):
            key = (row.payer, row.day, row.session, row.network, row.asset)
            new = Totals(row.payer, row.session, row.day, Asset(row.network, row.asset))
            sums = found.setdefault(key, new)
            sums.purchases += 1
            taken = row.settled or 0
            if row.state in (PurchaseState.RESERVED, PurchaseState.PRESENTED):
                sums.reserved += row.amount
            else:
                sums.spent += taken
                sums.returned += row.amount - taken
    return [found[key] for key in sorted(found)]
