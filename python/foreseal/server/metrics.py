"""Figures of the node in the Prometheus text format."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import orjson

from foreseal.rpc.hub import Hub
from foreseal.server.tier import Tier

Sample = tuple[dict[str, str], float]


class Measured(Protocol):
    """What is read off the node."""

    def freshness(self) -> tuple[int, int, int]:
        """Number of the block being built, index of its newest step, ms since the last tick."""

    def ready(self) -> tuple[bool, str]:
        """Whether the node is ready, or why not."""

    def status(self) -> bytes:
        """The answer of `foreseal_status`, JSON."""


class Streams(Protocol):
    """What is read off the WebSocket connections."""

    hub: Hub
    refused: int
    slow: int

    def __len__(self) -> int:
        """How many are open."""


def render_metrics(node: Measured, tiers: Sequence[Tier], streams: Streams) -> str:
    """All metrics, one family after the other. Calls of all tiers are counted together."""
    dispatcher = tiers[0].dispatcher
    counts = dispatcher.counts
    block, index, age = node.freshness()
    status = orjson.loads(node.status())
    pool, store = status["pool"], status.get("store")
    calls = [({"method": method, "outcome": "ok"}, count) for method, count in counts.answered.items()]
    calls += [({"method": method, "outcome": str(code)}, count) for (method, code), count in counts.failed.items()]
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
        *_store_families(store),
        (
            "foreseal_calls_in_flight",
            "gauge",
            "Calls on core threads.",
            [({}, len(dispatcher.calls.completions))],
        ),
        ("foreseal_calls_total", "counter", "Calls by method and outcome: ok or an error code.", calls),
        (
            "foreseal_refused_total",
            "counter",
            "Calls and handshakes refused for a caller's own bounds, by tier and reason.",
            [
                ({"tier": tier.name, "reason": reason}, count)
                for tier in tiers
                for reason, count in tier.refusals.items()
            ],
        ),
        *_stream_families(streams),
    ]
    return "".join(_family(*family) for family in families)


def _stream_families(streams: Streams) -> list[tuple[str, str, str, Iterable[Sample]]]:
    """The figures of WebSocket connections."""
    kinds = [({"kind": kind}, count) for kind, count in streams.hub.kinds.items()]
    traffic = streams.hub.traffic
    closed, refused = "Connections closed with 1013: too slow, or a loss.", "Handshakes refused for want of room."
    return [
        ("foreseal_connections", "gauge", "Open WebSocket connections.", [({}, len(streams))]),
        ("foreseal_connections_refused_total", "counter", refused, [({}, streams.refused)]),
        ("foreseal_connections_slow_total", "counter", closed, [({}, streams.slow)]),
        ("foreseal_subscriptions", "gauge", "Subscriptions by kind.", kinds),
        ("foreseal_notifications_total", "counter", "Notifications sent.", [({}, traffic.notified)]),
        ("foreseal_lagged_total", "counter", "Times that a reader of the feed missed steps.", [({}, traffic.lagged)]),
    ]


def _store_families(store: dict[str, Any] | None) -> list[tuple[str, str, str, Iterable[Sample]]]:
    """The store's figures, as `foreseal_status` has them; none while the node starts."""
    if store is None:
        return []
    head = -1 if store["head"] is None else int(store["head"], 16)
    return [
        ("foreseal_store_block", "gauge", "Number of the newest stored block; -1 for none.", [({}, head)]),
        (
            "foreseal_store_backlog",
            "gauge",
            "Transactions that are sealed and not yet stored; a block counts 500 more.",
            [({}, store["backlog"])],
        ),
        (
            "foreseal_store_share",
            "gauge",
            "How much the builder takes of what it could; below 1 the store is behind.",
            [({}, store["share"])],
        ),
        ("foreseal_store_bytes", "gauge", "Bytes of the store in use.", [({}, store["bytes"])]),
    ]


def _family(name: str, kind: str, text: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]
    for labels, value in samples:
        marks = ",".join(f'{label}="{_escaped(mark)}"' for label, mark in labels.items())
        lines.append(f"{name}{{{marks}}} {value}" if marks else f"{name} {value}")
    return "\n".join(lines) + "\n"


def _escaped(mark: str) -> str:
    return mark.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
