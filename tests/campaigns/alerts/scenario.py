"""A cause of alerts: processes, and what Prometheus scrapes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from live import LiveNode
from live.process import Served

SECONDS = 60.0
"""Seconds until processes must have the state in which a cause begins."""
ALONE = ("foreseal-node.rules.yml", "foreseal-pay.rules.yml")
"""Rules of a node that works alone, and of a merchant service."""
CLUSTER = ("foreseal-node.rules.yml", "foreseal-cluster.rules.yml")
"""Rules of several machines."""


@dataclass(frozen=True)
class Started:
    """Running processes: what Prometheus scrapes, and what the campaign repeats until the alerts fire."""

    jobs: dict[str, list[str]]
    act: Callable[[], object] = field(default=lambda: None)
    is_healthy_first: bool = False
    """True if the fault is in `act`: none of the alerts may fire before it."""


@dataclass(frozen=True)
class Scenario:
    """A cause, the alerts that it must fire, and the rules that apply."""

    cause: str
    alerts: frozenset[str]
    start: Callable[[Path], AbstractContextManager[Started]]
    rules: tuple[str, ...] = ALONE


def node_job(node: LiveNode) -> dict[str, list[str]]:
    """Return the job of a node."""
    return {"foreseal": [_address(node)]}


def pay_job(service: Served) -> dict[str, list[str]]:
    """Return the job of a merchant service."""
    return {"foreseal-pay": [_address(service)]}


def _address(served: Served) -> str:
    return served.url.removeprefix("http://")
