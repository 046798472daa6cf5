"""Parts of a health report that the service and the facilitator share.

```text
status      HTTP   condition
ok          200    no reason
degraded    200    only reasons that do not prevent payments yet
unhealthy   503    another reason
```
"""

from collections.abc import Iterable
from typing import Any

from foreseal.payments.chain import CircuitBreaker
from foreseal.payments.workers.background_check import CheckResult
from foreseal.payments.workers.node_check import AccountStatus, CheckedNode

CHECK_INTERVAL = 1.0
"""Seconds between two checks."""
CHECK_LIMIT = 2.0
"""Time limit of a check of the database in seconds. A check of the node gets it beyond the time limit of its call."""
# Reasons that do not prevent payments yet.
_WARNINGS = frozenset({"payee_low", "account_low", "orders_without_destination", "transfers_set_aside"})

HealthReason = dict[str, str]


def reason(code: str, message: str) -> HealthReason:
    """Return the reason of a failed check."""
    return {"code": code, "message": message}


def status(reasons: Iterable[HealthReason], *warnings: str) -> str:
    """Return the status that follows from the reasons. `warnings` are further codes that do not prevent payments."""
    codes = {each["code"] for each in reasons}
    if codes - _WARNINGS - set(warnings):
        return "unhealthy"
    return "degraded" if codes else "ok"


def node_reasons(result: CheckResult[CheckedNode]) -> list[HealthReason]:
    """Return the reason why the node is not usable, if there is one."""
    if result.overdue:
        return [reason("node_unreachable", "the node has not answered the check yet")]
    assert result.value is not None
    return [] if result.value.reason is None else [reason(*result.value.reason)]


def ether_reasons(node: CheckedNode, role: str, unit: str) -> list[HealthReason]:
    """Return a reason for each account that cannot pay gas for long; `unit` names the accounts' transactions."""
    return [
        reason(
            f"{role}_{found.status}",
            f"{address} has {found.balance} wei, enough for about {found.captures_left} {unit}: send ether to it",
        )
        for address, found in node.accounts.items()
        if found.status in (AccountStatus.LOW, AccountStatus.EMPTY)
    ]


def is_node_usable(result: CheckResult[CheckedNode]) -> bool:
    """Return True if the last check of the node succeeded and the current one is not overdue."""
    return result.value is not None and result.value.head is not None and not result.overdue


def block_age(result: CheckResult[CheckedNode], now: float) -> float | None:
    """Return the seconds from the timestamp of the newest block to `now`; None without a block."""
    head = None if result.value is None else result.value.head
    return None if head is None else max(now - head.timestamp, 0.0)


def node_section(result: CheckResult[CheckedNode], breaker: CircuitBreaker, now: float) -> dict[str, Any]:
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
