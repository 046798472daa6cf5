"""Health of a facilitator, from the last results of background checks: a reader never waits for node or database."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.chain import CircuitBreaker
from foreseal.payments.configuration.sections import NodeSection
from foreseal.payments.transactions import read_lost_gas
from foreseal.payments.workers import health_report
from foreseal.payments.workers.account_check import AccountCheck, WaitingAccount, blocked_reasons
from foreseal.payments.workers.background_check import BackgroundCheck
from foreseal.payments.workers.health_report import CHECK_INTERVAL, CHECK_LIMIT, MAX_TASK_AGE
from foreseal.payments.workers.node_check import CheckedAccount, CheckedNode, NodeCheck
from foreseal.payments.workers.write_check import MAX_WRITE_AGE, WRITE_INTERVAL, WRITE_LIMIT, WriteCheck
from foreseal.payments.x402.facilitator.facilitator import Facilitator

# Maximum wait for the first results at the start.
_PATIENCE = 1.0


@dataclass(frozen=True, slots=True)
class _CheckedDatabase:
    open: int
    """Settlements that are not final."""
    waiting: Mapping[str, WaitingAccount]
    code_lost_gas: int
    """Gas within an hour of settlements that payers with code made revert."""


class FacilitatorHealth:
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
        self._max_age = MAX_TASK_AGE + (node.timeout_ms + node.poll_ms) / 1000
        self._breaker = breaker
        self._clock = clock
        node_check = NodeCheck(
            facilitator.node, node.chain_id, [self._account], min_settlements, "account", "settlements"
        )
        every, limit = max(CHECK_INTERVAL, node.poll_ms / 1000), node.timeout_ms / 1000 + CHECK_LIMIT
        self._node = BackgroundCheck("node check", node_check, every, limit, monotonic)
        database = facilitator.settlements.ledger.database
        self._accounts = AccountCheck(node.chain_id, lambda: self._node.result().value or CheckedNode())
        self._open = BackgroundCheck("database check", self._check_database, CHECK_INTERVAL, CHECK_LIMIT, monotonic)
        self._writes = WriteCheck(database, monotonic)
        self._write = BackgroundCheck("write check", self._writes, WRITE_INTERVAL, WRITE_LIMIT, monotonic)
        self._checks = (self._node, self._open, self._write)

    def __enter__(self) -> Self:
        for check in self._checks:
            check.start(_PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for check in self._checks:
            check.stop()

    def run_checks(self) -> None:
        """Run all checks once and wait for them."""
        for check in self._checks:
            check.run()

    def health(self) -> dict[str, Any]:
        """Return the health with all reasons. Never waits."""
        node, open_ = self._node.result(), self._open.result()
        found = node.value or CheckedNode()
        account = found.accounts.get(self._account, CheckedAccount())
        reachable = open_.value is not None and not open_.overdue
        reasons = [
            *health_report.node_reasons(node),
            *health_report.ether_reasons(found, "account", "settlements"),
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
