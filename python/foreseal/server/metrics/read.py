"""Sources of the metrics, each read once per rendering."""

import os
import platform
import resource
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson

from foreseal.bounded_cache import BoundedCache
from foreseal.rpc.subscription_hub import SubscriptionHub
from foreseal.server.auth.tiers import CallerTier
from foreseal.server.processes.process_table import ProcessMetrics, ProcessTable

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
# Indices into /proc/self/stat after the program name, which may contain any characters.
_THREADS, _STARTED = 17, 19


class MeasuredNode(Protocol):
    """Interface of the node for metrics."""

    @property
    def running(self) -> int:
        """Number of calls that are queued for, or run on, worker threads, or wait for a step."""

    def freshness(self) -> tuple[int, int, int, int]:
        """Return block and index of the newest step, ms since the last tick, and the number of the ownership."""

    def ready(self) -> tuple[bool, str]:
        """Return True if the node is ready, and the reason if it is not."""

    def status(self) -> bytes:
        """Return the result of `foreseal_status`, JSON."""

    def waiting(self) -> list[tuple[str, float]]:
        """Return the lanes by name, each with the seconds that its oldest call has waited for a thread."""

    def metrics(self) -> bytes:
        """Return the core's metrics, JSON."""

    def reports(self) -> list[tuple[str, int, int, bytes]]:
        """Return the connected followers: name, lag in appends, ms since they connected, their metrics."""


class ConnectionCounts(Protocol):
    """Interface of the WebSocket connections for metrics."""

    hub: SubscriptionHub
    refused: int
    slow: int
    evicted: int

    def __len__(self) -> int:
        """Return the number of open connections."""


@dataclass(frozen=True, slots=True)
class MetricSources:
    """Sources of the metrics."""

    node: MeasuredNode
    tiers: Sequence[CallerTier]
    """Tiers of callers, whose calls are counted together."""
    streams: ConnectionCounts
    processes: ProcessTable | None = None
    """Metrics of all processes of the node, if a supervisor runs several."""
    caches: Mapping[str, BoundedCache[Any, Any]] = field(default_factory=dict)
    """Caches of this process by name."""


@dataclass(frozen=True, slots=True)
class ProcessUsage:
    """Kernel statistics of this process."""

    resident: int
    descriptors: int
    max_descriptors: int
    threads: int
    cpu: float
    started: float
    """Start time in seconds since 1970."""


class ConnectedFollower(NamedTuple):
    """A follower of this process."""

    name: str
    role: str
    lag: int
    """Appends that it lacks."""
    connected: int
    """Milliseconds since it connected."""


class Readings:
    """Values at one moment, each read at first use and once."""

    def __init__(self, watched: MetricSources) -> None:
        self.node = watched.node
        self.tiers = watched.tiers
        dispatcher = watched.tiers[0].dispatcher
        self.counts = dispatcher.call_metrics
        self.filters = dispatcher.router.filters
        self.streams = watched.streams
        self.caches = watched.caches
        self._processes = watched.processes

    @cached_property
    def freshness(self) -> tuple[int, int, int, int]:
        """Result of `MeasuredNode.freshness`."""
        return self.node.freshness()

    @cached_property
    def status(self) -> dict[str, Any]:
        """Result of `foreseal_status`."""
        status: dict[str, Any] = orjson.loads(self.node.status())
        return status

    @cached_property
    def metrics(self) -> dict[str, Any]:
        """Result of `MeasuredNode.metrics`."""
        metrics: dict[str, Any] = orjson.loads(self.node.metrics())
        return metrics

    @cached_property
    def cluster(self) -> dict[str, Any]:
        """Member `cluster` of `foreseal_status`; empty for a node that works alone."""
        cluster = self.status.get("cluster")
        return cluster if isinstance(cluster, dict) else {}

    @cached_property
    def followers(self) -> list[ConnectedFollower]:
        """Connected followers; those of a node that works alone are its workers."""
        if self.cluster:
            followers = self.cluster["followers"]
            return [
                ConnectedFollower(each["name"], each["role"], each["lag"], each["connectedMs"]) for each in followers
            ]
        return [ConnectedFollower(name, "worker", lag, connected) for name, lag, connected, _ in self.node.reports()]

    @cached_property
    def processes(self) -> list[ProcessMetrics]:
        """Processes of the node; empty if there is only one."""
        return [] if self._processes is None else self._processes.metrics()

    @cached_property
    def process(self) -> ProcessUsage:
        """Statistics of this process."""
        after = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        booted = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        used = os.times()
        return ProcessUsage(
            resident=int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE,
            descriptors=len(os.listdir("/proc/self/fd")),
            max_descriptors=resource.getrlimit(resource.RLIMIT_NOFILE)[0],
            threads=int(after[_THREADS]),
            cpu=used.user + used.system,
            started=booted + int(after[_STARTED]) / _TICKS,
        )

    @cached_property
    def build(self) -> dict[str, str]:
        """Versions and machine architecture."""
        # Imported here so that a process which only supervises nodes does not load it.
        from foreseal._core import build_version

        return {"version": build_version(), "python": platform.python_version(), "machine": platform.machine()}
