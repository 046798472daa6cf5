"""Background checks of the node and the database, which the service and the facilitator have in common."""

from collections.abc import Callable
from typing import Generic, TypeVar

from foreseal.payments.configuration.sections import NodeSection
from foreseal.payments.ledger import Database
from foreseal.payments.workers.background_check import BackgroundCheck
from foreseal.payments.workers.health_report import CHECK_INTERVAL, CHECK_LIMIT, MAX_TASK_AGE
from foreseal.payments.workers.node_check import CheckedNode, NodeCheck
from foreseal.payments.workers.write_check import WRITE_INTERVAL, WRITE_LIMIT, WriteCheck

# Maximum wait for the first results at the start.
_PATIENCE = 1.0

D = TypeVar("D")


class HealthChecks(Generic[D]):
    """Checks of a process, which run from `start` to `stop`."""

    def __init__(
        self,
        section: NodeSection,
        node_check: NodeCheck,
        database: Database,
        database_check: Callable[[], D],
        monotonic: Callable[[], float],
    ) -> None:
        """Set up the checks. `monotonic` is a clock in seconds for time limits."""
        self._max_age = MAX_TASK_AGE + (section.timeout_ms + section.poll_ms) / 1000
        every, limit = max(CHECK_INTERVAL, section.poll_ms / 1000), section.timeout_ms / 1000 + CHECK_LIMIT
        self._node = BackgroundCheck("node check", node_check, every, limit, monotonic)
        self._database = BackgroundCheck("database check", database_check, CHECK_INTERVAL, CHECK_LIMIT, monotonic)
        self._writes = WriteCheck(database, monotonic)
        self._write = BackgroundCheck("write check", self._writes, WRITE_INTERVAL, WRITE_LIMIT, monotonic)
        self._checks = (self._node, self._database, self._write)

    def start(self) -> None:
        """Start the checks."""
        for check in self._checks:
            check.start(_PATIENCE)

    def stop(self) -> None:
        """Stop the checks."""
        for check in self._checks:
            check.stop()

    def run_checks(self) -> None:
        """Run all checks once and wait for them."""
        for check in self._checks:
            check.run()

    def node(self) -> CheckedNode:
        """Return the last state of the node."""
        return self._node.result().value or CheckedNode()
