"""Parts of a health report that the service and the facilitator share.

```text
status      HTTP   condition
ok          200    no reason
degraded    200    only reasons that do not prevent payments yet
unhealthy   503    another reason
```
"""

from collections.abc import Iterable

from foreseal.payments.api.health_responses import HealthStatus, NodeHealth
from foreseal.payments.api.responses import Problem
from foreseal.payments.chain import CircuitBreaker
from foreseal.payments.transactions import FeeSettings
from foreseal.payments.workers.background_check import CheckResult
from foreseal.payments.workers.node_check import AccountStatus, CheckedNode

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
CHECK_LIMIT = 2.0
"""Time limit of a check of the database in seconds. A check of the node gets it beyond the time limit of its call."""
MAX_TASK_AGE = 120.0
"""Seconds after which a task without progress hangs, beyond its interval and the time limit of a call to the node.

A task waits up to 30 s for SQLite's write lock, and then tries again. The alert `ForesealPayWorkerStalled` has the same
value.
"""
# Reasons that do not prevent payments yet, or not because of this process.
_WARNINGS = frozenset(
    {
        "payee_low",
        "account_low",
        "account_blocked",
        "gas_budget_spent",
        "orders_without_destination",
        "transfers_set_aside",
        "watcher_stalled",
        "webhooks_stalled",
        "following_stalled",
    }
)


def reason(code: str, message: str) -> Problem:
    """Return the reason of a failed check."""
    return {"code": code, "message": message}


def status(reasons: Iterable[Problem], *warnings: str) -> HealthStatus:
    """Return the status that follows from the reasons. `warnings` are further codes that do not prevent payments."""
    codes = {each["code"] for each in reasons}
    if codes - _WARNINGS - set(warnings):
        return "unhealthy"
    return "degraded" if codes else "ok"


def node_reasons(result: CheckResult[CheckedNode]) -> list[Problem]:
    """Return the reason why the node is not usable, if there is one."""
    if result.overdue:
        return [reason("node_unreachable", "the node has not answered the check yet")]
    assert result.value is not None
    return [] if result.value.reason is None else [reason(*result.value.reason)]


def write_reasons(age: float, limit: float) -> list[Problem]:
    """Return the reason why the database accepts no writes, if the last one is older than `limit` seconds."""
    if age <= limit:
        return []
    message = f"the last write is {age:.0f} s old: another program holds a lock, or the database is read-only or full"
    return [reason("database_not_writable", message)]


def stalled_reasons(code: str, task: str, age: float, limit: float) -> list[Problem]:
    """Return a reason if a task has made no progress for `limit` seconds."""
    return [] if age <= limit else [reason(code, f"{task} has made no progress for {age:.0f} s: see the log")]


def lost_gas_reasons(gas: int, fees: FeeSettings) -> list[Problem]:
    """Return a reason if reverted transactions of payers with code cost their budget of gas within an hour."""
    if not fees.is_code_budget_spent(gas):
        return []
    message = (
        f"transactions of payers with code that reverted cost {gas} gas within an hour; the maximum is "
        f"policy.code_lost_gas = {fees.code_lost_gas}, with policy.payer_code_gas = {fees.payer_code_gas} for the next "
        "one: until then such payers are captured only on request, and cannot pay by x402"
    )
    return [reason("gas_budget_spent", message)]


def ether_reasons(node: CheckedNode, role: str, unit: str) -> list[Problem]:
    """Return a reason for each account that cannot pay gas for long; `unit` names the accounts' transactions."""
    return [
        reason(
            f"{role}_{account.status}",
            f"{address} has {account.balance} wei, enough for about {account.captures_left} {unit}: send ether to it",
        )
        for address, account in node.accounts.items()
        if account.status in (AccountStatus.LOW, AccountStatus.EMPTY)
    ]


def is_node_usable(result: CheckResult[CheckedNode]) -> bool:
    """Return True if the last check of the node succeeded and the current one is not overdue."""
    return result.value is not None and result.value.head is not None and not result.overdue


def block_age(result: CheckResult[CheckedNode], now: float) -> float | None:
    """Return the seconds from the timestamp of the newest block to `now`; None without a block."""
    head = None if result.value is None else result.value.head
    return None if head is None else max(now - head.timestamp, 0.0)


def node_section(result: CheckResult[CheckedNode], breaker: CircuitBreaker, now: float) -> NodeHealth:
    """Return the section `node`. `now` is Unix time in seconds."""
    head = None if result.value is None else result.value.head
    return {
        "reachable": is_node_usable(result),
        "latest_block": None if head is None else head.number,
        "block_age": rounded(block_age(result, now)),
        "breaker": breaker.state,
        "checked": rounded(result.age),
    }


def rounded(seconds: float | None) -> float | None:
    """Return seconds with the precision of reports."""
    return None if seconds is None else round(seconds, 3)
