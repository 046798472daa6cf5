"""Health of a facilitator, from the last results of background checks: a reader never waits for node or database."""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from sqlalchemy.exc import SQLAlchemyError

from foreseal.payments.chain import CircuitBreaker
from foreseal.payments.configuration.sections import NodeSection
from foreseal.payments.workers import health_report
from foreseal.payments.workers.background_check import BackgroundCheck
from foreseal.payments.workers.health_report import CHECK_INTERVAL, CHECK_LIMIT
from foreseal.payments.workers.node_check import CheckedAccount, CheckedNode, NodeCheck
from foreseal.payments.x402.facilitator.facilitator import Facilitator

# Maximum wait for the first results at the start.
_PATIENCE = 1.0


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
        self._breaker = breaker
        self._clock = clock
        node_check = NodeCheck(
            facilitator.node, node.chain_id, [self._account], min_settlements, "account", "settlements"
        )
        every, limit = max(CHECK_INTERVAL, node.poll_ms / 1000), node.timeout_ms / 1000 + CHECK_LIMIT
        self._node = BackgroundCheck("node check", node_check, every, limit, monotonic)
        self._open = BackgroundCheck("database check", self._count_open, CHECK_INTERVAL, CHECK_LIMIT, monotonic)

    def __enter__(self) -> Self:
        for check in (self._node, self._open):
            check.start(_PATIENCE)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for check in (self._node, self._open):
            check.stop()

    def run_checks(self) -> None:
        """Run all checks once and wait for them."""
        for check in (self._node, self._open):
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
        return {
            "status": health_report.status(reasons),
            "reasons": reasons,
            "node": health_report.node_section(node, self._breaker, self._clock()),
            "account": {
                "address": self._account,
                "balance": None if account.balance is None else str(account.balance),
                "settlements_left": account.captures_left,
                "status": account.status,
            },
            "database": {"reachable": reachable, "checked": health_report.rounded(open_.age)},
            "settlements": {"open": open_.value},
        }

    def _count_open(self) -> int | None:
        """Return the number of settlements that are not final; None if the database does not respond."""
        try:
            return self._settlements.count_open()
        except SQLAlchemyError:
            return None
