"""Health of the service, from the last results of background checks: a reader never waits for node or database."""

from foreseal.payments.api.backend import Backend
from foreseal.payments.api.health_responses import DestinationHealth, Health
from foreseal.payments.api.responses import Problem
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.task_progress import TaskProgress
from foreseal.payments.workers import health_report
from foreseal.payments.workers.account_check import AccountCheck, blocked_reasons
from foreseal.payments.workers.database_check import CheckedDatabase, DatabaseCheck, OrdersWithoutDestination
from foreseal.payments.workers.health_checks import HealthChecks
from foreseal.payments.workers.health_report import (
    MAX_TASK_AGE,
    reason,
    rounded,
)
from foreseal.payments.workers.node_check import AccountStatus, CheckedAccount, CheckedNode, NodeCheck
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.worker import WorkerState
from foreseal.payments.workers.write_check import MAX_WRITE_AGE

# Consecutive failed passes after which the health is unhealthy.
_FAILING = 3


class HealthMonitor(HealthChecks[CheckedDatabase]):
    """Health of one process. The checks run from `start` to `stop`."""

    def __init__(
        self, backend: Backend, processes: ProcessRegistry, worker: WorkerState, webhooks: TaskProgress
    ) -> None:
        """Set up the checks. `webhooks` is the progress of the webhook dispatcher."""
        node, minimum = backend.configuration.node, backend.configuration.policy.min_captures
        payees = list(dict.fromkeys(each.merchant.payee for each in backend.destinations))
        node_check = NodeCheck(backend.node, backend.chain_id, payees, minimum)
        orders = OrdersWithoutDestination(backend.destinations, backend.monotonic)
        accounts = AccountCheck(backend.chain_id, self.node)
        database_check = DatabaseCheck(backend.database, processes, backend.clock, orders, accounts, backend.chain_id)
        super().__init__(node, node_check, backend.database, database_check, backend.monotonic)
        self._backend = backend
        self._worker = worker
        self._webhooks = webhooks

    def payee(self, address: str) -> CheckedAccount:
        """Return the last state of a payee."""
        return self.node().accounts.get(address, CheckedAccount())

    def database(self) -> CheckedDatabase:
        """Return the last state of the database."""
        result = self._database.result()
        if result.value is None or result.overdue:
            return CheckedDatabase(reachable=False)
        return result.value

    def is_writable(self) -> bool:
        """Return True if the database accepted a write within the last seconds."""
        return self._writes.is_writable

    def waiting_blocks(self) -> dict[str, float | None]:
        """Return how many blocks the first transaction of each payee waits, by address; 0 without one.

        A payee is absent while node or database are not usable.
        """
        if not self.is_node_usable() or not self.database().reachable:
            return {}
        waiting = self.database().waiting
        return {address: waiting[address].blocks if address in waiting else 0 for address in self.node().accounts}

    def task_ages(self) -> dict[str, float | None]:
        """Return the seconds since the last progress of each task."""
        return {"worker": self._worker.step_age, "webhooks": self._webhooks.age}

    def watcher_ages(self) -> dict[str, float | None]:
        """Return the seconds since the last success of each watcher, by destination.

        Empty if another process reads the transfers.
        """
        return {name: each.age for name, each in self._worker.watched.items()} if self._worker.share.first else {}

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
        return {
            "node": self._node.result().age,
            "database": self._database.result().age,
            "write": self._write.result().age,
        }

    def health(self) -> Health:
        """Return the health with all reasons. Never waits."""
        state, node, checked = self._worker, self._node.result(), self._database.result()
        checked_node, database = self.node(), self.database()
        reasons = [*health_report.node_reasons(node), *health_report.ether_reasons(checked_node, "payee", "captures")]
        if not database.reachable:
            reasons.append(reason("database_unreachable", "the database does not respond"))
        reasons += health_report.write_reasons(self._writes.progress.age, MAX_WRITE_AGE)
        policy = self._backend.configuration.policy
        reasons += blocked_reasons(database.waiting, policy.patience_blocks)
        reasons += health_report.lost_gas_reasons(database.code_lost_gas, policy.fees())
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
        reasons += self._stalled()
        if state.errors >= _FAILING:
            reasons.append(reason("worker_failing", f"the worker failed {state.errors} times in a row"))
        return {
            # An old key without ether leaves the payments to the other payees.
            "status": health_report.status(reasons, *(["payee_empty"] if _has_usable_payee(checked_node) else [])),
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

    def _stalled(self) -> list[Problem]:
        """Return a reason for each task that hangs or has ended, and for each watcher that fails."""
        reasons = health_report.stalled_reasons("worker_stalled", "the worker", self._worker.step_age, self._max_age)
        reasons += health_report.stalled_reasons(
            "webhooks_stalled", "the webhook dispatcher", self._webhooks.age, MAX_TASK_AGE
        )
        for name, age in self.watcher_ages().items():
            task = f"the watcher of destination {name}"
            reasons += health_report.stalled_reasons("watcher_stalled", task, age or 0.0, self._max_age)
        return reasons

    def _destination(self, destination: Destination) -> DestinationHealth:
        label, payee = destination.label, self.payee(destination.merchant.payee)
        return {
            "name": label.name,
            "token": label.token.address,
            "symbol": label.token.symbol,
            "payee": {
                "address": label.payee,
                "balance": None if payee.balance is None else str(payee.balance),
                "captures_left": payee.captures_left,
                "status": payee.status.value,
            },
        }


def _has_usable_payee(node: CheckedNode) -> bool:
    return any(account.status in (AccountStatus.OK, AccountStatus.LOW) for account in node.accounts.values())
