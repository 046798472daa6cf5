"""Figures of the node in the Prometheus text format."""

from collections.abc import Iterable
from typing import Any, Protocol

import orjson

from foreseal.rpc import Dispatcher

Sample = tuple[dict[str, str], float]


class Measured(Protocol):
    """What is read off the node."""

    def freshness(self) -> tuple[int, int, int]:
        """Number of the block being built, index of its newest step, ms since the last tick."""

    def ready(self) -> tuple[bool, str]:
        """Whether the node is ready, or why not."""

    def status(self) -> bytes:
        """The answer of `foreseal_status`, JSON."""


def render_metrics(node: Measured, dispatcher: Dispatcher) -> str:
    """All metrics, one family after the other."""
    block, index, age = node.freshness()
    pool = _pool(node)
    calls = [({"method": method, "outcome": "ok"}, count) for method, count in dispatcher.answered.items()]
    calls += [({"method": method, "outcome": str(code)}, count) for (method, code), count in dispatcher.failed.items()]
    families: list[tuple[str, str, str, Iterable[Sample]]] = [
        ("foreseal_view_block", "gauge", "Number of the block being built.", [({}, block)]),
        ("foreseal_view_index", "gauge", "Index of the newest step of that block.", [({}, index)]),
        ("foreseal_view_age_seconds", "gauge", "Time since the last tick.", [({}, age / 1000)]),
        ("foreseal_ready", "gauge", "Whether the node is ready to answer.", [({}, int(node.ready()[0]))]),
        (
            "foreseal_pool_transactions",
            "gauge",
            "Transactions in the pool, ready or queued.",
            [
                ({"state": "ready"}, pool["pooled"]),
                ({"state": "queued"}, pool["queued"]),
            ],
        ),
        ("foreseal_pool_bytes", "gauge", "Bytes that those take.", [({}, pool["bytes"])]),
        (
            "foreseal_calls_in_flight",
            "gauge",
            "Calls on core threads.",
            [({}, len(dispatcher.calls.completions))],
        ),
        ("foreseal_calls_total", "counter", "Calls by method and outcome: ok or an error code.", calls),
    ]
    return "".join(_family(*family) for family in families)


def _pool(node: Measured) -> dict[str, Any]:
    """The pool's own figures, as `foreseal_status` has them."""
    pool: dict[str, Any] = orjson.loads(node.status())["pool"]
    return pool


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        marks = ",".join(f'{label}="{_escaped(mark)}"' for label, mark in labels.items())
        lines.append(f"{name}{{{marks}}} {value}" if marks else f"{name} {value}")
    return "\n".join(lines) + "\n"


def _escaped(mark: str) -> str:
    return mark.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
