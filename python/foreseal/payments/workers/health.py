"""Health of the service, from the last results of background checks: a reader never waits for node or database."""

from typing import Any

from foreseal.payments.api.backend import Backend
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.workers import health_report
from foreseal.payments.workers.background_check import BackgroundCheck
from foreseal.payments.workers.database_check import CheckedDatabase, DatabaseCheck, OrdersWithoutDestination
from foreseal.payments.workers.health_report import CHECK_INTERVAL, CHECK_LIMIT, reason, rounded
from foreseal.payments.workers.node_check import AccountStatus, CheckedAccount, CheckedNode, NodeCheck
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.worker import WorkerState

# Consecutive failed passes after which the health is unhealthy.
_FAILING = 3
# Maximum wait for the first results at the start.
_PATIENCE = 1.0


class HealthMonitor:
    """Health of one process. The checks run from `start` to `stop`."""

    def __init__(self, backend: Backend, processes: ProcessRegistry, worker: WorkerState) -> None:
        """Set up the checks."""
        node, minimum = backend.configuration.node, backend.configuration.policy.min_captures
        payees = list(dict.fromkeys(each.merchant.payee for each in backend.destinations))
        node_check = NodeCheck(backend.node, backend.chain_id, payees, minimum)
        orders = OrdersWithoutDestination(backend.destinations, backend.monotonic)
        database_check = DatabaseCheck(backend.database, processes, backend.clock, orders)
        self._backend = backend
        self._worker = worker
        every, limit = max(CHECK_INTERVAL, node.poll_ms / 1000), node.timeout_ms / 1000 + CHECK_LIMIT
        self._node = BackgroundCheck("node check", node_check, every, limit, backend.monotonic)
        self._database = BackgroundCheck(
            "database check", database_check, CHECK_INTERVAL, CHECK_LIMIT, backend.monotonic
        )

    def start(self) -> None:
        """Start the checks."""
        for check in (self._node, self._database):
            check.start(_PATIENCE)

    def stop(self) -> None:
        """Stop the checks."""
        for check in (self._node, self._database):
            check.stop()

    def run_checks(self) -> None:
        """Run all checks once and wait for them."""
        for check in (self._node, self._database):
            check.run()

    def node(self) -> CheckedNode:
        """Return the last state of the node."""
        return self._node.result().value or CheckedNode()

    def payee(self, address: str) -> CheckedAccount:
        """Return the last state of a payee."""
        return self.node().accounts.get(address, CheckedAccount())

    def database(self) -> CheckedDatabase:
        """Return the last state of the database."""
        result = self._database.result()
        if result.value is None or result.overdue:
            return CheckedDatabase(reachable=False)
        return result.value

    def is_node_usable(self) -> bool:
        """Return True if the last check of the node succeeded and the current one is not overdue."""
        return health_report.is_node_usable(self._node.result())

    def newest_block(self) -> int | None:
        """Return the number of the newest block of the node; None if the node is not usable."""
        head = self.node().head
        return head.number if head is not None and self.is_node_usable() else None

    def block_age(self) -> float | None:
        """Return the seconds since the timestamp of the newest block; None without a block."""
        return health_report.block_age(self._node.result(), self._backend.clock())

    def ages(self) -> dict[str, float | None]:
        """Return the seconds since the end of each check, by name."""
        return {"node": self._node.result().age, "database": self._database.result().age}

    def health(self) -> dict[str, Any]:
        """Return the health with all reasons. Never waits."""
        state, node, checked = self._worker, self._node.result(), self._database.result()
        found, database = self.node(), self.database()
        reasons = [*health_report.node_reasons(node), *health_report.ether_reasons(found, "payee", "captures")]
        if not database.reachable:
            reasons.append(reason("database_unreachable", "the database does not respond"))
        if database.without_destination:
            message = (
                f"{database.without_destination} open orders have a token and payee that no destination has: "
                "configure one with them again until these orders are done"
            )
            reasons.append(reason("orders_without_destination", message))
        unread = sum(state.set_aside.values())
        if unread:
            message = f"the node does not return the transfers of {unread} transactions or blocks: see the log"
            reasons.append(reason("transfers_set_aside", message))
        if state.errors >= _FAILING:
            reasons.append(reason("worker_failing", f"the worker failed {state.errors} times in a row"))
        return {
            # An old key without ether leaves the payments to the other payees.
            "status": health_report.status(reasons, *(["payee_empty"] if _has_usable_payee(found) else [])),
            "reasons": reasons,
            "node": health_report.node_section(node, self._backend.breaker, self._backend.clock()),
            "destinations": [self._destination(each) for each in self._backend.destinations],
            "orders_without_destination": database.without_destination,
            "database": {"reachable": database.reachable, "checked": rounded(checked.age)},
            "worker": {
                "read_block": state.read,
                "latest_block": state.latest,
                "synced": state.caught_up,
                "last_success": state.passed,
                "consecutive_failures": state.errors,
            },
            "processes": database.processes,
            "webhooks": {"pending": database.pending, "dead": database.dead},
        }

    def _destination(self, destination: Destination) -> dict[str, Any]:
        label, payee = destination.label, self.payee(destination.merchant.payee)
        return {
            "name": label.name,
            "token": label.token.address,
            "symbol": label.token.symbol,
            "payee": {
                "address": label.payee,
                "balance": None if payee.balance is None else str(payee.balance),
                "captures_left": payee.captures_left,
                "status": payee.status,
            },
        }


def _has_usable_payee(node: CheckedNode) -> bool:
    return any(account.status in (AccountStatus.OK, AccountStatus.LOW) for account in node.accounts.values())
