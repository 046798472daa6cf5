"""Health of the service, from the last results of background checks: a reader never waits for node or database.

```text
status      HTTP   condition
ok          200    no reason
degraded    200    only reasons that do not prevent payments yet
unhealthy   503    another reason
```
"""

from collections.abc import Iterable
from typing import Any

from foreseal.payments.api.backend import Backend
from foreseal.payments.destinations.destination import Destination
from foreseal.payments.workers.background_check import BackgroundCheck, CheckResult
from foreseal.payments.workers.database_check import CheckedDatabase, DatabaseCheck, StrandedOrders
from foreseal.payments.workers.node_check import CheckedNode, CheckedPayee, NodeCheck, PayeeStatus
from foreseal.payments.workers.process_registry import ProcessRegistry
from foreseal.payments.workers.worker import WorkerState

# Consecutive failed passes after which the health is unhealthy.
_FAILING = 3
# Reasons that do not prevent payments yet.
_WARNINGS = frozenset({"payee_low", "orders_without_destination"})
# Seconds between two checks.
_INTERVAL = 1.0
# Time limit of a check of the database, and margin of a check of the node beyond the time limit of its call.
_LIMIT = 2.0
# Maximum wait for the first results at the start.
_PATIENCE = 1.0


class HealthMonitor:
    """Health of one process. The checks run from `start` to `stop`."""

    def __init__(self, backend: Backend, processes: ProcessRegistry, worker: WorkerState) -> None:
        """Set up the checks."""
        node, minimum = backend.configuration.node, backend.configuration.policy.min_captures
        payees = list(dict.fromkeys(each.merchant.payee for each in backend.destinations))
        node_check = NodeCheck(backend.node, backend.chain_id, payees, minimum)
        stranded = StrandedOrders(backend.destinations, backend.monotonic)
        database_check = DatabaseCheck(backend.database, processes, backend.clock, stranded)
        self._backend = backend
        self._worker = worker
        every, limit = max(_INTERVAL, node.poll_ms / 1000), node.timeout_ms / 1000 + _LIMIT
        self._node = BackgroundCheck("node check", node_check, every, limit, backend.monotonic)
        self._database = BackgroundCheck("database check", database_check, _INTERVAL, _LIMIT, backend.monotonic)

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

    def payee(self, address: str) -> CheckedPayee:
        """Return the last state of a payee."""
        return self.node().payees.get(address, CheckedPayee())

    def database(self) -> CheckedDatabase:
        """Return the last state of the database."""
        result = self._database.result()
        if result.value is None or result.overdue:
            return CheckedDatabase(reachable=False)
        return result.value

    def is_node_usable(self) -> bool:
        """Return True if the last check of the node succeeded and the current one is not overdue."""
        result = self._node.result()
        return result.value is not None and result.value.head is not None and not result.overdue

    def block_age(self) -> float | None:
        """Return the seconds since the timestamp of the newest block; None without a block."""
        head = self.node().head
        return None if head is None else max(self._backend.clock() - head.timestamp, 0.0)

    def ages(self) -> dict[str, float | None]:
        """Return the seconds since the end of each check, by name."""
        return {"node": self._node.result().age, "database": self._database.result().age}

    def health(self) -> dict[str, Any]:
        """Return the health with all reasons. Never waits."""
        state, node, checked = self._worker, self._node.result(), self._database.result()
        found, database = self.node(), self.database()
        reasons = [*_node_reasons(node), *_payee_reasons(found)]
        if not database.reachable:
            reasons.append(_reason("database_unreachable", "the database does not respond"))
        if database.stranded:
            message = (
                f"{database.stranded} open orders have a token and payee that no destination has: "
                "configure the destination again until they are done"
            )
            reasons.append(_reason("orders_without_destination", message))
        if state.errors >= _FAILING:
            reasons.append(_reason("worker_failing", f"the worker failed {state.errors} times in a row"))
        return {
            "status": _status(reason["code"] for reason in reasons),
            "reasons": reasons,
            "node": {
                "reachable": self.is_node_usable(),
                "latest_block": None if found.head is None else found.head.number,
                "block_age": _rounded(self.block_age()),
                "breaker": self._backend.breaker.state,
                "checked": _rounded(node.age),
            },
            "destinations": [self._destination(each) for each in self._backend.destinations],
            "orders_without_destination": database.stranded,
            "database": {"reachable": database.reachable, "checked": _rounded(checked.age)},
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


def _status(codes: Iterable[str]) -> str:
    found = set(codes)
    if found - _WARNINGS:
        return "unhealthy"
    return "degraded" if found else "ok"


def _node_reasons(result: CheckResult[CheckedNode]) -> list[dict[str, str]]:
    if result.overdue:
        return [_reason("node_unreachable", "the node did not answer the check yet")]
    assert result.value is not None
    return [] if result.value.reason is None else [_reason(*result.value.reason)]


def _payee_reasons(node: CheckedNode) -> Iterable[dict[str, str]]:
    for address, payee in node.payees.items():
        if payee.status in (PayeeStatus.LOW, PayeeStatus.EMPTY):
            left = f"enough for about {payee.captures_left} captures"
            message = f"{address} has {payee.balance} wei, {left}: send ether to it"
            yield _reason(f"payee_{payee.status}", message)


def _reason(code: str, message: str) -> dict[str, str]:
    return {"code": code, "message": message}


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
