"""Delay from the submission of a transaction until others can see it."""

import time
from collections.abc import Callable
from typing import Any

from foreseal.bench.chain_content import native, owner
from foreseal.bench.content_writer import FilledNode
from foreseal.bench.errors import BenchError
from foreseal.bench.node import BenchNode
from foreseal.bench.progress import ProgressCallback, ProgressUpdate, visible_on
from foreseal.bench.run_metrics import Latencies
from foreseal.bench.throughput import producing

_POLL_INTERVAL = 0.001
_PATIENCE = 30.0


def visibility(filled: FilledNode, samples: int, show: ProgressCallback) -> dict[str, Any]:
    """Measure one transaction after the other: until the sender's pending nonce counts it, and until it has a receipt.

    Both are polled every millisecond over a second connection. Raise BenchError on failure.
    """
    node = filled.node
    reader = BenchNode(node.name, node.url)
    sender = filled.contents.senders[0]
    address = "0x" + sender.address.hex()
    counted, received = [], []
    try:
        with producing(node):
            for number in range(samples):
                (signed,) = sender.sign(filled.contents.chain_id, [native(owner(number))])
                began = time.perf_counter()
                node.call("eth_sendRawTransaction", signed.raw)
                _until(lambda: int(reader.call("eth_getTransactionCount", address, "pending"), 16) >= sender.nonce)
                counted.append(time.perf_counter() - began)
                digest = signed.hash
                _until(lambda digest=digest: reader.call("eth_getTransactionReceipt", digest) is not None)  # type: ignore[misc]
                received.append(time.perf_counter() - began)
                show(ProgressUpdate(visible_on(node.name), "", number + 1, samples))
    finally:
        reader.close()
    return {"node": node.name, "samples": samples, "nonce": _quantiles(counted), "receipt": _quantiles(received)}


def _until(seen: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not seen():
        if time.monotonic() > deadline:
            raise BenchError(f"a transaction is not seen after {_PATIENCE:g} s")
        time.sleep(_POLL_INTERVAL)


def _quantiles(seconds: list[float]) -> dict[str, float]:
    return Latencies((round(delay * 1e9), 1) for delay in seconds).quantiles()
