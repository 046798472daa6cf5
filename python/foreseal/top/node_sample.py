"""One reading of a node: its status, the open block, the progress of the chain, and its metrics."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from foreseal.top.fields import Fields, plain, quantity
from foreseal.top.prometheus import MetricsPage, parse_metrics
from foreseal.top.source import HttpSource, SourceError
from foreseal.top.steps import ChainProgress, OpenBlock, RpcCall, StepTracker, step_calls

_OK = 200


@dataclass(frozen=True, slots=True)
class NodeSample:
    """A reading. Every text in it is safe to print."""

    time: float
    """Monotonic time in seconds."""
    node: str
    """URL of the node."""
    version: str = "-"
    chain_id: int | None = None
    status: Fields = field(default_factory=lambda: Fields(None))
    """Result of `foreseal_status`."""
    block: OpenBlock | None = None
    progress: ChainProgress = field(default_factory=ChainProgress)
    metrics: MetricsPage | None = None
    fault: str = ""
    """Reason why the node could not be read; empty if it was."""
    metrics_fault: str = ""
    """Reason why there are no metrics; empty if there are."""


class NodeSampler:
    """Reads a node. For one thread."""

    def __init__(self, source: HttpSource, clock: Callable[[], float]) -> None:
        """`clock` is monotonic, in seconds."""
        self._source = source
        self._clock = clock
        self._steps = StepTracker()
        self._version = "-"
        self._chain_id: int | None = None

    def sample(self) -> NodeSample:
        """Return a reading; one with a `fault` if the node does not answer."""
        try:
            status = self._read_status()
            self._read_steps()
        except SourceError as error:
            # The node may be another one when it returns.
            self._steps, self._chain_id = StepTracker(), None
            return NodeSample(self._clock(), self._source.name, fault=str(error))
        metrics, fault = self._read_metrics()
        return NodeSample(
            self._clock(),
            self._source.name,
            self._version,
            self._chain_id,
            status,
            self._steps.block,
            self._steps.progress,
            metrics,
            metrics_fault=fault,
        )

    def _read_status(self) -> Fields:
        calls: list[RpcCall] = [("foreseal_status", [])]
        if self._chain_id is None:
            calls += [("eth_chainId", []), ("web3_clientVersion", [])]
        status, *identity = self._source.call_batch(calls)
        if isinstance(status, SourceError):
            raise status
        if identity:
            self._chain_id = quantity(identity[0])
            self._version = plain(identity[1], 40)
        fields = Fields(status)
        self._steps.move(fields)
        return fields

    def _read_steps(self) -> None:
        positions = self._steps.positions()
        calls = step_calls(positions)
        needs_header = self._steps.needs_header
        if needs_header:
            calls.append(("eth_getBlockByNumber", ["pending", False]))
        if not calls:
            return
        results: list[Any] = self._source.call_batch(calls)
        header = Fields(results.pop()) if needs_header else None
        self._steps.accept(positions, results, header)

    def _read_metrics(self) -> tuple[MetricsPage | None, str]:
        try:
            reply = self._source.get("/metrics")
        except SourceError as error:
            return None, str(error)
        if reply.status != _OK:
            return None, f"HTTP {reply.status}"
        return parse_metrics(reply.body.decode(errors="replace")), ""
