"""S11: a stopped sequencer with running workers."""

import os
import signal
import time

from hostile.chain import Chain, kill_quietly, terminate
from hostile.findings.finding import Bench
from live.blocks import wait_for
from live.group import names_of
from live.process import LiveNode
from live.rpc import Rpc, RpcFailure

_REPLACE_TIME = 12.0
"""The setting's default, 3 s, and the time of a start."""
_STOP_BOUND = 15.0
"""The default drain time, 10 s, and five more."""
_STOP_TIME = 60.0
_START_TIME = 30.0


def wedged(bench: Bench) -> None:
    """S11: SIGSTOP to the sequencer; measure its replacement and SIGTERM to the node."""
    with bench.chain() as chain:
        node = _group(chain)
        try:
            first = _sequencer(node)
            os.kill(first, signal.SIGSTOP)
            begin = time.monotonic()
            while time.monotonic() - begin < _REPLACE_TIME and not _is_replaced(node, first):
                time.sleep(0.2)
            seconds = time.monotonic() - begin
            is_replaced = _is_replaced(node, first)
            measured = f"replaced after {seconds:.1f} s" if is_replaced else f"not replaced within {seconds:.0f} s"
            if is_replaced:
                measured += f", {'produces again' if _produces(node.rpc) else 'but no block follows'}"
            bench.add("S11", "sequencer stopped by SIGSTOP, --workers 2", measured, is_open=not is_replaced)
        finally:
            kill_quietly(node)
    with bench.chain() as chain:
        node = _group(chain)
        try:
            os.kill(_sequencer(node), signal.SIGSTOP)
            code, seconds = terminate(node, _STOP_TIME)
        finally:
            kill_quietly(node)
        measured = (
            f"ended after {seconds:.1f} s with {code}" if code is not None else f"still there after {seconds:.0f} s"
        )
        is_open = code is None or seconds > _STOP_BOUND
        bench.add("S11", "SIGTERM with a stopped sequencer, --workers 2", measured, is_open=is_open)


def _group(chain: Chain) -> LiveNode:
    node = chain.start("--workers", "2")
    wait_for(lambda: len(names_of(node.process.pid)) >= 3, _START_TIME, "sequencer and workers")
    return node


def _sequencer(node: LiveNode) -> int:
    return dict(names_of(node.process.pid))["sequencer"]


def _is_replaced(node: LiveNode, first: int) -> bool:
    return dict(names_of(node.process.pid)).get("sequencer", first) != first


def _produces(rpc: Rpc) -> bool:
    """Return `True` if a block is sealed within ten seconds."""
    first, end = None, time.monotonic() + 10.0
    while time.monotonic() < end:
        try:
            number = int(rpc("eth_blockNumber"), 16)
        except (OSError, RpcFailure, ValueError):
            number = -1
        if first is None and number >= 0:
            first = number
        if first is not None and number > first:
            return True
        time.sleep(0.2)
    return False
