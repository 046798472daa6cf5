"""Names of metrics in PromQL expressions, and the metrics that the programs have."""

import re
from unittest.mock import Mock

from foreseal.payments.hosting.router import MerchantRouter
from foreseal.payments.metrics import full_name
from foreseal.payments.workers.service_metrics import ServiceMetrics
from foreseal.server.metrics import FAMILIES

_STRINGS = re.compile(r"\"[^\"]*\"|'[^']*'")
_MATCHERS = re.compile(r"\{[^}]*\}|\[[^\]]*\]")
_GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)")
_NAME = re.compile(r"(?<![\w:])([a-zA-Z_:][\w:]*)(?!\s*\(|[\w:])")
_OPERATORS = {"and", "or", "unless", "offset", "bool"}
_EXTERNAL = ("etcd_", "node_filesystem_")
_HISTOGRAM_SUFFIXES = ("_bucket", "_sum", "_count")


def metric_names(expression: str) -> set[str]:
    """Return the names of the metrics in an expression."""
    text = _GROUPING.sub(" ", _MATCHERS.sub(" ", _STRINGS.sub(" ", expression)))
    return {name for name in _NAME.findall(text) if name not in _OPERATORS}


def node_series() -> set[str]:
    """Return the names of all series of a node."""
    return _series({family.name: family.kind for family in FAMILIES})


def pay_series() -> set[str]:
    """Return the names of all series of the merchant service."""
    metrics = ServiceMetrics()
    metrics.sample(Mock(), Mock(), Mock())
    router = MerchantRouter({}, Mock(), 1, 1)
    collectors = [*metrics.metrics, router.rejected, router.rejected_shoppers]
    return _series({full_name(family): family.type for each in collectors for family in each.describe()})


def is_external(name: str) -> bool:
    """Return True for a metric of Prometheus itself, of etcd or of the machine's exporter."""
    return name == "up" or name.startswith(_EXTERNAL)


def _series(kinds: dict[str, str]) -> set[str]:
    plain = {name for name, kind in kinds.items() if kind != "histogram"}
    return plain | {name + end for name, kind in kinds.items() if kind == "histogram" for end in _HISTOGRAM_SUFFIXES}
