"""Many hostile sales: the gas that merchant and facilitator pay for each."""

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from wallets.campaign import market
from wallets.catalog import OPERATIONS, reason_against
from wallets.gas import GasPaid, gas_of, sent_since
from wallets.kinds import KINDS, Form
from wallets.market import Market
from wallets.operations import Operation, Sale

HOSTILE = tuple(name for name, kind in KINDS.items() if not kind.honest)
_ROUND = 10
"""Sales that become final together."""
_ROUNDS_OF_MARKET = 5
_SALES = tuple(each for each in OPERATIONS if each.runs_code and not each.repeats)


@dataclass(slots=True)
class GasReport:
    """Gas of all hostile sales."""

    seed: int
    sales: int = 0
    transactions: int = 0
    reverted: int = 0
    """Transactions that reverted."""
    total_gas: int = 0
    most_gas: int = 0
    """Gas of the most expensive sale."""
    most_expensive: str = ""
    most_of_maximum: float = 0.0
    """Largest share that a sale used of the maximum of its operation; at most 1."""
    answers: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def add(self, name: str, answer: str, paid: GasPaid) -> None:
        self.sales += 1
        self.transactions += paid.transactions
        self.reverted += paid.reverted
        self.total_gas += paid.gas
        self.answers[answer] += 1
        if paid.gas > self.most_gas:
            self.most_gas, self.most_expensive = paid.gas, name
        if paid.maximum:
            self.most_of_maximum = max(self.most_of_maximum, paid.gas / paid.maximum)
        if paid.gas > paid.maximum:
            self.faults.append(f"{name}: {paid.gas} gas exceed the maximum of {paid.maximum}")

    def __str__(self) -> str:
        mean = self.total_gas // max(1, self.sales)
        return (
            f"seed {self.seed}: {self.sales} hostile sales in {self.seconds:.0f} s cost merchant and facilitator"
            f" {self.total_gas} gas, {mean} a sale; {self.reverted} of {self.transactions} transactions reverted;"
            f" the most expensive sale cost {self.most_gas} gas ({self.most_expensive}), at most"
            f" {self.most_of_maximum:.0%} of the maximum of its operation; {len(self.faults)} above the maximum"
        )


def run(sales: int, seed: int, shown: Callable[[str], object] = lambda _: None) -> GasReport:
    """Let hostile wallets buy at random entrances, and return what that cost."""
    draw, report, began = random.Random(seed), GasReport(seed), time.monotonic()
    while report.sales < sales:
        is_batched = draw.random() < 0.5
        with market(is_batched=is_batched) as made:
            for _ in range(_ROUNDS_OF_MARKET):
                if report.sales < sales:
                    _round(made, report, draw, min(_ROUND, sales - report.sales), is_batched=is_batched)
        shown(str(report))
    report.seconds = time.monotonic() - began
    return report


def _round(made: Market, report: GasReport, draw: random.Random, count: int, *, is_batched: bool) -> None:
    block = made.chain.pending.number
    done: list[tuple[str, Sale]] = []
    while len(done) < count:
        wallet, operation = draw.choice(HOSTILE), draw.choice(_SALES)
        if reason_against(operation, KINDS[wallet], is_batched=is_batched) is None:
            sale = Sale(made.new_payer(KINDS[wallet].form), f"s{report.sales + len(done)}")
            _sell(made, sale, wallet, operation)
            done.append((f"{wallet} x {operation.name} at {operation.entrance}", sale))
    made.settle()
    sent = sent_since(made.chain, block)
    for name, sale in done:
        report.add(name, sale.answer, gas_of(sent, sale.payer.address, made.fees))


def _sell(made: Market, sale: Sale, wallet: str, operation: Operation) -> None:
    """Let a wallet become hostile after what precedes the operation, and request the operation."""
    if KINDS[wallet].form is Form.CONTRACT:
        made.become(sale.payer, KINDS["honest_contract"])
    operation.prepare(made, sale)
    made.become(sale.payer, KINDS[wallet])
    made.switches.arm(sale.payer, KINDS[wallet], made.pending_head)
    operation.act(made, [sale])
    made.switches.disarm()
