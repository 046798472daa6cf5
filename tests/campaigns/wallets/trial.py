"""One combination of a wallet and an operation, next to a control, and its violations."""

from dataclasses import asdict, dataclass, field
from typing import Any

from sqlalchemy import func, select

from foreseal.payments.ledger.models import TransactionRecord
from payments.people import SHOP
from wallets.gas import GasPaid, gas_of, sent_since
from wallets.kinds import KINDS, Form
from wallets.market import FUNDS, Market
from wallets.operations import Operation, Sale
from wallets.order_operations import Pay
from wallets.paid_operations import SettleExact

MAX_BLOCKS = 3
"""Blocks within which the next payment of an ordinary account must be confirmed."""
_GIVEN_UP = 6


@dataclass(slots=True)
class Trial:
    """Outcome of a combination."""

    wallet: str
    operation: str
    entrance: str
    is_batched: bool
    """True if the merchant captures through the batch capture contract."""
    answer: str = ""
    done: bool = False
    """True if the operation had its effect."""
    gas: GasPaid = field(default_factory=GasPaid)
    """Gas that merchant and facilitator paid for the wallet's operation."""
    control_answer: str = ""
    control_done: bool = False
    blocks_until_next: int | None = None
    """Blocks until the next payment of an ordinary account was in a block; None if it was never."""
    goods: int = 0
    """Value of the goods of all payers in smallest units; a refund counts against it."""
    money: int = 0
    """Sum that the payee received, in smallest units."""
    violations: list[str] = field(default_factory=list)

    def row(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    def __str__(self) -> str:
        contract = ", batch contract" if self.is_batched else ""
        text = f"{self.wallet} x {self.operation} at {self.entrance}{contract}: {self.answer}"
        text += f", {'done' if self.done else 'not done'}, gas {self.gas.gas} of {self.gas.maximum}"
        return text + "".join(f"\n    VIOLATION {each}" for each in self.violations)


class Trials:
    """Combinations on one market."""

    def __init__(self, market: Market, *, is_batched: bool) -> None:
        self._market = market
        self._is_batched = is_batched
        self._made = 0

    def run(self, wallet: str, operation: Operation) -> Trial:
        """Run one combination. Later ones on the market are independent of it, except by its violations."""
        market, kind = self._market, KINDS[wallet]
        trial = Trial(wallet, operation.name, operation.entrance, self._is_batched)
        hostile, control = self._sale(kind.form), self._sale(Form.KEY)
        sales = (hostile, control)
        if kind.form is Form.CONTRACT:
            market.become(hostile.payer, KINDS["honest_contract"])
        for sale in sales:
            operation.prepare(market, sale)
        market.become(hostile.payer, kind)
        block, before = market.chain.pending.number, market.received()
        market.switches.arm(hostile.payer, kind, market.pending_head)
        operation.act(market, sales)
        if not kind.returns:
            market.switches.disarm()
        paying, following, trial.blocks_until_next = self._pay_next(operation)
        market.settle()
        market.switches.disarm()
        for sale in sales:
            operation.finish(market, sale)
        paying.finish(market, following)
        trial.answer, trial.done = hostile.answer, hostile.done
        trial.control_answer, trial.control_done = control.answer, control.done
        trial.gas = gas_of(sent_since(market.chain, block), hostile.payer.address, market.fees)
        trial.goods = hostile.goods + control.goods + following.goods
        trial.money = market.received() - before
        trial.violations = _violations(trial, is_honest=kind.honest, open_transactions=self._open_transactions())
        return trial

    def _sale(self, form: Form) -> Sale:
        self._made += 1
        return Sale(self._market.new_payer(form), f"sale{self._made}")

    def _pay_next(self, operation: Operation) -> tuple[Operation, Sale, int | None]:
        """Let an ordinary account pay next, and count blocks until the payment is in one."""
        market, sale = self._market, self._sale(Form.KEY)
        paying: Operation = Pay() if operation.account == SHOP.address else SettleExact()
        paying.act(market, [sale])
        for blocks in range(1, _GIVEN_UP + 1):
            market.chain.mine()
            if int(market.chain.latest.state.balances.get(sale.payer.address.lower())) < FUNDS:
                return paying, sale, blocks
            market.work()
        return paying, sale, None

    def _open_transactions(self) -> int:
        """Return the number of transactions that are in flight."""
        query = select(func.count()).where(TransactionRecord.ending.is_(None))
        with self._market.service.database.reading() as tx:
            return int(tx.execute(query).scalar_one())


def _violations(trial: Trial, *, is_honest: bool, open_transactions: int) -> list[str]:
    violations = []
    if is_honest and not trial.done:
        violations.append(f"an honest wallet failed: {trial.answer}")
    if not trial.control_done:
        violations.append(f"the control failed: {trial.control_answer}")
    if trial.blocks_until_next is None or trial.blocks_until_next > MAX_BLOCKS:
        violations.append(f"the next payment was confirmed after {trial.blocks_until_next} blocks")
    if trial.goods > trial.money:
        violations.append(f"goods of {trial.goods} units were delivered for {trial.money}")
    if trial.gas.gas > trial.gas.maximum:
        violations.append(f"{trial.gas.gas} gas exceed the maximum of {trial.gas.maximum}")
    if open_transactions:
        violations.append(f"{open_transactions} transactions are in flight at the end")
    if trial.answer.startswith("5"):
        violations.append(f"the answer is an error of the server: {trial.answer}")
    return violations
