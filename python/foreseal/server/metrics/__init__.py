"""Metrics of the node in the Prometheus text format."""

from foreseal.server.metrics.read import MetricSources, Readings
from foreseal.server.metrics.render import join, render
from foreseal.server.metrics.table import FAMILIES

__all__ = ["FAMILIES", "MetricSources", "Readings", "join", "render"]
