"""Gas limits with which a request does all that it does with the highest limit, judged by traces of a node."""

from typing import Any, NamedTuple

from differential.failures import Rpc


class Run(NamedTuple):
    """One execution, as `callTracer` records it."""

    succeeds: bool
    failed_calls: int
    """Calls and creations inside that failed."""
    gas_used: int
    """After refunds."""


def run(rpc: Rpc, call: dict[str, Any], gas: int, **overrides: Any) -> Run:
    """Execute a request with this gas, `overrides` as in `debug_traceCall`. A rejection raises the node's error."""
    frame = rpc("debug_traceCall", call | {"gas": hex(gas)}, "latest", {"tracer": "callTracer", **overrides})
    return Run("error" not in frame, _failures(frame.get("calls", ())), int(frame["gasUsed"], 16))


def is_lossless(rpc: Rpc, call: dict[str, Any], gas: int, highest: Run, **overrides: Any) -> bool:
    """Return whether a request that `eth_call` accepts with this gas does all that it did in its run `highest`."""
    return gas >= highest.gas_used and run(rpc, call, gas, **overrides).failed_calls <= highest.failed_calls


def _failures(frames: Any) -> int:
    return sum(("error" in frame) + _failures(frame.get("calls", ())) for frame in frames)
