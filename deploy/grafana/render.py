"""Generator of the Grafana dashboards from the tables of metrics; `--check` only lists stale files.

Each metric has one panel. A counter is shown as a rate, a histogram by two quantiles.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prometheus_client import Counter, Histogram

from foreseal.payments.hosting.router import MerchantRouter
from foreseal.payments.metrics import SampledMetric, full_name
from foreseal.payments.workers.service_metrics import ServiceMetrics
from foreseal.server.metrics import FAMILIES

FOLDER = Path(__file__).resolve().parent
# Width and height of a panel on Grafana's grid of 24 columns.
_WIDTH, _HEIGHT, _COLUMNS = 8, 7, 24
_QUANTILES = (0.5, 0.99)
_UNITS = {"_seconds": "s", "_bytes": "bytes", "_bytes_total": "Bps", "_seconds_total": "percentunit"}
_DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}

NODE_ROWS = (
    (
        "Chain",
        (
            "foreseal_view_",
            "foreseal_clock_",
            "foreseal_ready",
            "foreseal_blocks_",
            "foreseal_steps_",
            "foreseal_transactions_",
        ),
    ),
    ("Steps", ("foreseal_gas_", "foreseal_step_")),
    ("Pool", ("foreseal_pool_",)),
    ("Journal", ("foreseal_journal_",)),
    ("Store", ("foreseal_store_",)),
    ("Calls", ("foreseal_call", "foreseal_refused_")),
    ("Lanes", ("foreseal_lane_", "foreseal_queue_")),
    ("Followers and cluster", ("foreseal_follower", "foreseal_cluster_", "foreseal_quorum_")),
    ("Driver", ("foreseal_engine_",)),
    ("Streams", ("foreseal_connections", "foreseal_subscriptions", "foreseal_notifications_", "foreseal_lagged_")),
    ("Filters and caches", ("foreseal_filters", "foreseal_cache_")),
    ("Processes", ("process_", "foreseal_memory_", "foreseal_restarts_", "foreseal_heartbeat_", "foreseal_build_info")),
)
PAY_ROWS = (
    (
        "Payments",
        (
            "foreseal_pay_transitions_",
            "foreseal_pay_capture_",
            "foreseal_pay_rejections_",
            "foreseal_pay_oldest_",
            "foreseal_pay_code_",
        ),
    ),
    ("Requests", ("foreseal_pay_request_", "foreseal_pay_requests_", "foreseal_pay_shopper_")),
    ("Node and payees", ("foreseal_pay_node_", "foreseal_pay_blocks_", "foreseal_pay_payee_")),
    ("Transfers", ("foreseal_pay_set_aside", "foreseal_pay_ignored_", "foreseal_pay_watcher_")),
    ("Webhooks", ("foreseal_pay_webhook",)),
    (
        "Worker and database",
        ("foreseal_pay_worker_", "foreseal_pay_task_", "foreseal_pay_database_", "foreseal_pay_orders_"),
    ),
    ("Processes", ("foreseal_pay_processes", "foreseal_pay_check_")),
)
Rows = Sequence[tuple[str, Sequence[str]]]


@dataclass(frozen=True)
class ShownMetric:
    """A metric as a panel shows it."""

    name: str
    kind: str
    help: str
    labels: tuple[str, ...]


def node_metrics() -> list[ShownMetric]:
    """Return the metrics of a node."""
    return [ShownMetric(family.name, family.kind, family.help, family.labels) for family in FAMILIES]


def pay_metrics() -> list[ShownMetric]:
    """Return the metrics of the merchant service."""
    metrics = ServiceMetrics()
    # The metrics read these objects only when they are rendered.
    unread: Any = None
    metrics.sample(unread, unread, unread)
    router = MerchantRouter({}, unread, 1, 1)
    exported = (*metrics.metrics, router.rejected, router.rejected_shoppers)
    return [_shown(metric) for metric in exported]


def _shown(metric: Counter | Histogram | SampledMetric) -> ShownMetric:
    (family,) = metric.describe()
    # The package has no public name for the labels of its own metrics.
    labels = metric.labels if isinstance(metric, SampledMetric) else metric._labelnames
    return ShownMetric(full_name(family), family.type, family.documentation, tuple(labels))


def queries(metric: ShownMetric) -> Iterator[tuple[str, str]]:
    """Yield the queries of a panel, each with its legend."""
    by = ", ".join(("instance", *metric.labels))
    legend = " ".join(f"{{{{{label}}}}}" for label in ("instance", *metric.labels))
    selected = '{job=~"$job", instance=~"$instance"}'
    if metric.kind == "histogram":
        rates = f"sum by (le, {by}) (rate({metric.name}_bucket{selected}[$__rate_interval]))"
        for quantile in _QUANTILES:
            yield f"histogram_quantile({quantile}, {rates})", f"p{round(quantile * 100)} {legend}"
    elif metric.kind == "counter":
        yield f"sum by ({by}) (rate({metric.name}{selected}[$__rate_interval]))", legend
    else:
        yield f"{metric.name}{selected}", legend


def dashboard(title: str, uid: str, job: str, rows: Rows, metrics: Sequence[ShownMetric]) -> dict[str, Any]:
    """Return a dashboard. Raises ValueError if a metric belongs to no row."""
    panels: list[dict[str, Any]] = []
    remaining, y = list(metrics), 0
    for name, prefixes in rows:
        shown = [metric for metric in remaining if metric.name.startswith(tuple(prefixes))]
        remaining = [metric for metric in remaining if metric not in shown]
        panels.append({"type": "row", "title": name, "collapsed": False, "panels": [], "gridPos": _place(0, y, 24, 1)})
        y += 1
        for index, metric in enumerate(shown):
            x = index * _WIDTH % _COLUMNS
            panels.append(_panel(metric, _place(x, y + index * _WIDTH // _COLUMNS * _HEIGHT, _WIDTH, _HEIGHT)))
        y += -(-len(shown) * _WIDTH // _COLUMNS) * _HEIGHT
    if remaining:
        raise ValueError(f"no row has {remaining[0].name}")
    return {
        "uid": uid,
        "title": title,
        "tags": ["foreseal"],
        "schemaVersion": 39,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": _variables(job, metrics[0].name)},
        "panels": [{"id": number, **panel} for number, panel in enumerate(panels, 1)],
    }


def _place(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(metric: ShownMetric, place: dict[str, int]) -> dict[str, Any]:
    return {
        "type": "timeseries",
        "title": metric.name,
        "description": metric.help,
        "datasource": _DATASOURCE,
        "fieldConfig": {"defaults": {"unit": _unit(metric)}, "overrides": []},
        "gridPos": place,
        "targets": [
            {"refId": chr(ord("A") + index), "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(queries(metric))
        ],
    }


def _unit(metric: ShownMetric) -> str:
    if metric.name.endswith("_timestamp_seconds") or metric.name == "process_start_time_seconds":
        return "dateTimeAsIso"
    ending = max((end for end in _UNITS if metric.name.endswith(end)), key=len, default=None)
    return _UNITS[ending] if ending else "ops" if metric.kind == "counter" else "short"


def _variables(job: str, metric: str) -> list[dict[str, Any]]:
    def query(name: str, definition: str) -> dict[str, Any]:
        return {
            "name": name,
            "type": "query",
            "datasource": _DATASOURCE,
            "query": definition,
            "refresh": 2,
            "multi": True,
            "includeAll": True,
            "allValue": ".*",
            "current": {"text": "All", "value": "$__all"},
        }

    return [
        {"name": "datasource", "type": "datasource", "query": "prometheus"},
        {**query("job", f"label_values({metric}, job)"), "current": {"text": job, "value": job}},
        query("instance", f'label_values({metric}{{job=~"$job"}}, instance)'),
    ]


def dashboards() -> dict[Path, str]:
    """Return the text of each dashboard, by its file."""
    boards = {
        "foreseal-node.json": dashboard("Foreseal node", "foreseal-node", "foreseal", NODE_ROWS, node_metrics()),
        "foreseal-pay.json": dashboard("Foreseal payments", "foreseal-pay", "foreseal-pay", PAY_ROWS, pay_metrics()),
    }
    return {FOLDER / name: json.dumps(content, indent=1) + "\n" for name, content in boards.items()}


def main() -> int:
    """Write every dashboard. Return 1 if `--check` finds a stale one, otherwise 0."""
    stale = [file for file, text in dashboards().items() if not file.exists() or file.read_text() != text]
    for file in stale:
        if "--check" in sys.argv:
            print(f"{file.name} does not match the metrics: `make docs`")
        else:
            file.write_text(dashboards()[file])
    return int("--check" in sys.argv and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
