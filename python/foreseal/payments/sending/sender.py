"""From stored bytes to a receipt.

```text
call() -> [store() -> commit] -> deliver() -> outcome() ... -> close()
           one database           the same     receipts of      once it is
           transaction with       bytes, or    all attempts     final
           the decision           10 % more
```

What is stored is sent as often as it takes: sending the same bytes twice does no more than once, and every attempt of
an intent has the same account nonce, so one of them lands at most.
"""

import contextlib
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from eth_account.signers.local import LocalAccount
from sqlalchemy import Row

from foreseal.payments.chain import (
    ChainError,
    Head,
    Heads,
    Incomplete,
    Moving,
    Node,
    NonceTooLow,
    Policy,
    Receipt,
    Refused,
    Unanswered,
    Underpriced,
    heads,
)
from foreseal.payments.crash_points import CrashPoint
from foreseal.payments.ledger import Ledger, Step
from foreseal.payments.sending.errors import FeeTooHigh, WrongChain
from foreseal.payments.sending.fees import Fees, Quote, quote
from foreseal.payments.sending.gaps import fill, is_used
from foreseal.payments.sending.intents import Call, Intents, newest_ordinal, read_intent

# A receipt may name a block that is sealed before the next answer comes: looking again finds where it is.
_LOOKS = 3


class Delivery(StrEnum):
    """What became of handing bytes to the node."""

    TAKEN = "taken"
    """The node has an attempt with this account nonce."""
    UNKNOWN = "unknown"
    """No answer, or the account nonce is used: by which transaction, receipts will tell."""
    REFUSED = "refused"
    """The node does not want it, for example because the account cannot pay the gas."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """A delivery, and the node's words where it refused."""

    delivery: Delivery
    message: str = ""
    pooled: bool = False
    """Whether the node says that its pool has a transaction with the account nonce."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Where an intent stands."""

    intent: int
    receipt: Receipt | None = None
    """Of the attempt that landed."""
    step: Step = Step.UNKNOWN
    """PROVISIONAL, CONFIRMED or FINAL with a receipt; without one UNKNOWN, or FAILED if it is final that no attempt
    can land."""


class Sender:
    """Sends for one key. The key belongs to this ledger alone; several processes may share the database."""

    def __init__(self, ledger: Ledger, node: Node, intents: Intents, policy: Policy, fees: Fees | None = None) -> None:
        self.ledger = ledger
        self.node = node
        self.intents = intents
        self.policy = policy
        self.fees = fees or Fees()

    def at(self, node: Node) -> "Sender":
        """The same, that asks another node, or the same one at a `Moment`."""
        return Sender(self.ledger, node, self.intents, self.policy, self.fees)

    @property
    def account(self) -> LocalAccount:
        """Whose transactions these are."""
        return self.intents.account

    def call(self, target: str, data: bytes) -> Call:
        """What a call will take, estimated on `pending`.

        Raises `Reverted` if it would revert, `FeeTooHigh`, `WrongChain`, and what the node raises.
        """
        found = self.node.chain_id()
        if found != self.intents.chain_id:
            raise WrongChain(f"the node is of chain {found}, configured is {self.intents.chain_id}")
        head = building(self.node)
        asked = quote(self.node, head)
        if asked.fee > self.fees.most:
            raise FeeTooHigh(f"{asked.fee} wei per gas are more than {self.fees.most}")
        gas = self.node.estimate_gas(self.account.address, target, data, "pending") * self.fees.gas_percent // 100
        nonce = self.node.transaction_count(self.account.address, "pending")
        return Call(target, data, gas, asked, nonce, head.number)

    def deliver(self, intent: int) -> Delivered:
        """Send the newest bytes of an intent, once more if need be; where they waited too long, with higher fees.

        What the node answers or does not is the result: nothing that it does is raised.
        """
        with self.ledger.database.reading() as tx:
            row, tried = read_intent(tx, intent)
        last = tried[-1]
        newest = delivered = self._send(tried)
        # Where the account cannot pay the newest, one before may be in the pool still, or get there again.
        while delivered.delivery is Delivery.REFUSED and len(tried) > 1:
            tried = tried[:-1]
            delivered = self._send(tried)
        # What is stored was sent without knowing what the chain asks for by now.
        with contextlib.suppress(ChainError):
            if self._is_cheap(row, last, newest) and self.replace(intent, last.ordinal):
                with self.ledger.database.reading() as tx:
                    return self._send(read_intent(tx, intent)[1])
        return delivered

    def _is_cheap(self, row: Row[Any], last: Row[Any], newest: Delivered) -> bool:
        """Whether the newest bytes wait in the pool for too long, or are refused and would be cheap today.

        What is refused for another reason, such as an account that cannot pay, is made no better by higher fees, and
        neither is what waits for an earlier account nonce. One that nobody uses is used up here.
        """
        head = building(self.node)
        if head.number < last.since_block + self.fees.patience:
            return False
        asked = quote(self.node, head)
        if newest.delivery is Delivery.REFUSED:
            return bool(asked.fee > last.fee or asked.priority_fee > last.priority_fee)
        first = self.node.transaction_count(row.sender, "pending")
        if first >= row.account_nonce:
            return newest.pooled
        with self.ledger.database.reading() as tx:
            used = is_used(tx, row.chain_id, row.sender, first)
        if not used and asked.fee <= self.fees.most:
            fill(self.node, self.intents, first, asked)
        return False

    def replace(self, intent: int, last: int | None = None) -> bool:
        """Store a further attempt that pays at least 10 % more, with the same account nonce; false if the limit is met.

        With `last`, only where the newest attempt still is the one of that ordinal: another process may have been
        faster. Nothing is sent: `deliver` does.
        """
        head = building(self.node)
        asked = quote(self.node, head)
        with self.ledger.database.transaction() as tx:
            ordinal = newest_ordinal(tx, intent)
            if last is not None and ordinal != last:
                return True
            row, tried = read_intent(tx, intent)
            raised = Quote(tried[-1].fee, tried[-1].priority_fee).raised(asked)
            if raised.fee > self.fees.most:
                return False
            self.intents.attempt(tx, row, ordinal + 1, raised, head.number)
            self.ledger.passed(CrashPoint.REPLACEMENT_DECIDED)
        self.ledger.passed(CrashPoint.REPLACEMENT_STORED)
        return True

    def outcome(self, intent: int) -> Outcome:
        """Look for receipts of everything that was ever signed for an intent. Raises what the node raises."""
        with self.ledger.database.reading() as tx:
            row, tried = read_intent(tx, intent)
        hashes = [attempt.hash for attempt in reversed(tried)]
        for _ in range(_LOOKS):
            landed = self._landed(hashes)
            if landed is None:
                return self._missing(row, hashes)
            step = safety(self.node, self.policy, landed.block_number, landed.block_hash)
            if step is not None:
                return Outcome(intent, landed, step)
        raise Moving("the chain moved each time that the transaction was looked for")

    def _missing(self, row: Row[Any], hashes: list[str]) -> Outcome:
        """Where an intent stands of which there was no receipt."""
        # Asked of the newest block first: not every node has the state of old ones.
        if self.node.transaction_count(row.sender, "latest") <= row.account_nonce:
            return Outcome(row.id)
        final = self.node.head("finalized")
        if final is None or self.node.transaction_count(row.sender, final.number) <= row.account_nonce:
            return Outcome(row.id)
        # The account nonce is used for good. Asked again, because an attempt may have landed between the answers.
        return Outcome(row.id, step=Step.UNKNOWN if self._landed(hashes) else Step.FAILED)

    def _landed(self, hashes: list[str]) -> Receipt | None:
        return next((found for hash in hashes if (found := self.node.receipt(hash)) is not None), None)

    def _send(self, tried: list[Row[Any]]) -> Delivered:
        """Hand over the newest of these attempts."""
        try:
            self.node.send(tried[-1].raw)
            found = Delivered(Delivery.TAKEN, pooled=True)
        except Underpriced as error:
            # A transaction with this account nonce is in the pool: where there are several attempts, one of ours.
            found = Delivered(Delivery.TAKEN if len(tried) > 1 else Delivery.UNKNOWN, str(error), pooled=True)
        except (NonceTooLow, Unanswered, Incomplete) as error:
            found = Delivered(Delivery.UNKNOWN, str(error))
        except Refused as error:
            found = Delivered(Delivery.REFUSED, str(error))
        self.ledger.passed(CrashPoint.TRANSACTION_SENT)
        return found


def building(node: Node) -> Head:
    """The block being built; where a node has none, the newest one. Raises `Incomplete` without any."""
    head = node.head("pending") or node.head("latest")
    if head is None:
        raise Incomplete("the node has no latest block")
    return head


def safety(node: Node, policy: Policy, number: int, hash: str) -> Step | None:
    """How safe a block is: PROVISIONAL, CONFIRMED or FINAL; None if it is not on the chain.

    The newest blocks are read before its hash is compared, so what they say was true of a chain that it is in.
    """
    newest = heads(node)
    if number <= newest.latest:
        head = node.head(number)
        if head is None or head.hash != hash:
            return None
    return grade(policy, number, newest)


def grade(policy: Policy, number: int, newest: Heads) -> Step:
    """PROVISIONAL, CONFIRMED or FINAL, for a block that is on the chain or being built."""
    if number <= newest.finalized:
        return Step.FINAL
    return Step.CONFIRMED if policy.met(number, newest) else Step.PROVISIONAL
