"""Health of a facilitator, from the last results of background checks: a reader never waits for node or database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.chain import CircuitBreaker
from foreseal.payments.configuration.sections import NodeSection
from foreseal.payments.transactions import read_lost_gas
from foreseal.payments.workers import health_report
from foreseal.payments.workers.account_check import AccountCheck, WaitingAccount, blocked_reasons
from foreseal.payments.workers.health_checks import HealthChecks
from foreseal.payments.workers.node_check import CheckedAccount, NodeCheck
from foreseal.payments.workers.write_check import MAX_WRITE_AGE
from foreseal.payments.x402.facilitator.facilitator import Facilitator


@dataclass(frozen=True, slots=True)
class _CheckedDatabase:
    open: int
    """Settlements that are not final."""
    waiting: Mapping[str, WaitingAccount]
    code_lost_gas: int
    """Gas within an hour of settlements that payers with code made revert."""


class FacilitatorHealth(HealthChecks[_CheckedDatabase | None]):
    """Health of one facilitator. A context manager: the checks run inside it."""

    def __init__(
        self,
        facilitator: Facilitator,
        breaker: CircuitBreaker,
        node: NodeSection,
        min_settlements: int,
        clock: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        """Set up the checks.

        `breaker` is that of the facilitator's node. The account is low when its ether pays fewer than
        `min_settlements`. `clock` is Unix time in seconds, `monotonic` is for time limits.
        """
        self._account = facilitator.account.address
        self._settlements = facilitator.settlements
        self._followed = facilitator.followed
        self._fees = facilitator.settlements.sender.fees
        self._chain_id = node.chain_id
        self._breaker = breaker
        self._clock = clock
        self._accounts = AccountCheck(node.chain_id, self.node)
        node_check = NodeCheck(
            facilitator.node, node.chain_id, [self._account], min_settlements, "account", "settlements"
        )
        super().__init__(node, node_check, self._settlements.ledger.database, self._check_database, monotonic)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def health(self) -> dict[str, object]:
        """Return the health with all reasons. Never waits."""
        node, open_ = self._node.result(), self._database.result()
        checked_node = self.node()
        account = checked_node.accounts.get(self._account, CheckedAccount())
        reachable = open_.value is not None and not open_.overdue
        reasons = [
            *health_report.node_reasons(node),
            *health_report.ether_reasons(checked_node, "account", "settlements"),
        ]
        if not reachable:
            reasons.append(health_report.reason("database_unreachable", "the database does not respond"))
        checked = open_.value or _CheckedDatabase(0, {}, 0)
        reasons += health_report.write_reasons(self._writes.progress.age, MAX_WRITE_AGE)
        reasons += blocked_reasons(checked.waiting, self._fees.patience_blocks)
        reasons += health_report.lost_gas_reasons(checked.code_lost_gas, self._fees)
        task = "the check of settlements that are not final"
        reasons += health_report.stalled_reasons("following_stalled", task, self._followed.age, self._max_age)
        waiting = checked.waiting.get(self._account)
        return {
            "status": health_report.status(reasons),
            "reasons": reasons,
            "node": health_report.node_section(node, self._breaker, self._clock()),
            "account": {
                "address": self._account,
                "balance": None if account.balance is None else str(account.balance),
                "settlements_left": account.captures_left,
                "status": account.status,
                "oldest_transaction_blocks": 0 if waiting is None else waiting.blocks,
            },
            "database": {
                "reachable": reachable,
                "checked": health_report.rounded(open_.age),
                "last_write": health_report.rounded(self._writes.progress.age),
            },
            "settlements": {
                "open": None if open_.value is None else open_.value.open,
                "followed": health_report.rounded(self._followed.age),
            },
        }

    def _check_database(self) -> _CheckedDatabase | None:
        """Return the state of the database; None if it does not respond."""
        try:
            with self._settlements.ledger.database.reading() as tx:
                waiting = self._accounts(tx)
                lost = read_lost_gas(tx, self._chain_id, self._clock())
            return _CheckedDatabase(self._settlements.count_open(), waiting, lost.by_code)
        except SQLAlchemyError:
            return None
