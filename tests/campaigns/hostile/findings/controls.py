"""N7, N8, N9: clocks, the engine listener and development commands."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from clock_shim import build_shim, clock_environment, set_clock
from foreseal.ports import next_free_port
from hostile.chain import kill_quietly, terminate
from hostile.findings.finding import Bench
from hostile.wire import Socket, head
from live.process import LiveNode, status_and_body
from live.rpc import Rpc, RpcFailure
from optimism.engine_client import EngineClient, read_secret

_AHEAD_TIME, _WATCH_TIME = 10.0, 20.0
_SHRUNK = 4.0
"""Seconds by which the lead of a chain must shrink while it is watched."""
_HALF_HEADS, _ENGINE_CALLS = 70, 9
_ENGINE_TIME = 5.0
_MINED = 100_000
_MINE_TIME, _ANSWER_BOUND, _STOP_BOUND, _STOP_TIME = 6.0, 1.0, 12.0, 90.0


@contextlib.contextmanager
def _variables(variables: dict[str, str]) -> Iterator[None]:
    """Set variables that processes started meanwhile inherit."""
    os.environ.update(variables)
    try:
        yield
    finally:
        for name in variables:
            del os.environ[name]


def clocks(bench: Bench) -> None:
    """N7: a clock that is ahead for ten seconds, by 30 seconds and by an hour."""
    library = build_shim(bench.folder / "shim")
    if library is None:
        raise RuntimeError("no C compiler is installed, which builds the library that moves the clock")
    for ahead in (30, 3600):
        with bench.chain() as chain:
            file = chain.folder / "clock"
            with _variables(clock_environment(library, file)):
                node = chain.start("--public")
            try:
                _move(bench, node, file, ahead)
            finally:
                kill_quietly(node)


def _move(bench: Bench, node: LiveNode, file: Path, ahead: int) -> None:
    time.sleep(3.0)
    set_clock(file, ahead)
    time.sleep(_AHEAD_TIME)
    set_clock(file, 0)
    printed = len(node.printed)
    first, block = _lead(node.rpc)
    time.sleep(_WATCH_TIME)
    last, newest = _lead(node.rpc)
    status, _ = status_and_body(f"{node.url}/healthz")
    warning = next((line for line in node.printed[printed:].splitlines() if "clock" in line.lower()), "")
    is_reported = status != 200 or bool(warning)
    stopped = newest == block and status != 200
    shrinks = first - last >= min(_SHRUNK, first)
    measured = f"lead {first:.0f} s, {_WATCH_TIME:.0f} s later {last:.0f} s, {newest - block} blocks, health {status}, "
    measured += f"logged {warning.strip()[:100]!r}" if warning else "nothing logged"
    # A lead of seconds that shrinks needs no stop, and an hour may stop the chain.
    is_open = not (stopped or shrinks) or not (is_reported or first < 1)
    bench.add("N7", f"clock {ahead} s ahead for {_AHEAD_TIME:.0f} s", measured, is_open=is_open)


def _lead(rpc: Rpc) -> tuple[float, int]:
    """Return the seconds by which the pending block is ahead of the clock, and its number."""
    block = rpc("eth_getBlockByNumber", "pending", False)
    return int(block["timestamp"], 16) - time.time(), int(block["number"], 16)


class _EngineNode(LiveNode):
    """A node that waits for its driver."""

    def _is_ready(self) -> bool:
        status, body = status_and_body(self.url + self.READY)
        return status == 200 or b"driver" in body


def engine(bench: Bench) -> None:
    """N8: half-sent heads without a token on the engine listener, and calls of the driver on new connections."""
    with bench.chain() as chain:
        port, secret = next_free_port(), chain.folder / "engine.jwt"
        options = ("--engine", f"127.0.0.1:{port}", "--engine-jwt", str(secret))
        node = _EngineNode(chain.arguments(*options, port=next_free_port()))
        lines = []
        try:
            for _ in range(_HALF_HEADS):
                with contextlib.suppress(OSError):
                    line = Socket(port, timeout=1.0)
                    lines.append(line)
                    line.send(head(10)[:-20])
            # A listener closes connections without a token after some seconds; the driver calls at once.
            failed, slowest = _drive(f"http://127.0.0.1:{port}", read_secret(secret))
        finally:
            for line in lines:
                line.close()
            kill_quietly(node)
    measured = f"{failed} of {_ENGINE_CALLS} calls of the driver failed next to {_HALF_HEADS} half-sent heads, "
    measured += f"the slowest took {slowest:.1f} s"
    bench.add("N8", "engine listener", measured, is_open=failed > 0 or slowest > 1.0)


def _drive(url: str, secret: bytes) -> tuple[int, float]:
    failed, slowest = 0, 0.0
    for _ in range(_ENGINE_CALLS):
        begin = time.monotonic()
        with contextlib.closing(EngineClient(url, secret, _ENGINE_TIME)) as driver:
            try:
                driver("eth_chainId")
            except (OSError, ValueError, PermissionError, RpcFailure):
                failed += 1
        slowest = max(slowest, time.monotonic() - begin)
    return failed, slowest


def mining(bench: Bench) -> None:
    """N9: `hardhat_mine` of 100,000 blocks, other callers meanwhile, and SIGTERM."""
    command = [str(bench.build.executable), "dev", "--port", str(next_free_port())]
    node = LiveNode(command)
    try:
        caller = threading.Thread(target=_mine, args=(node.url,), daemon=True)
        caller.start()
        time.sleep(0.5)
        slowest, answered = _probe(node.url)
        is_mining = caller.is_alive()
        code, stopped = terminate(node, _STOP_TIME)
    finally:
        kill_quietly(node)
    measured = f"slowest of {answered} answers {slowest:.1f} s while it mined, "
    measured += f"SIGTERM ended it after {stopped:.1f} s with {code}{'' if is_mining else ' (it had mined all)'}"
    is_open = slowest > _ANSWER_BOUND or code != 0 or stopped > _STOP_BOUND
    bench.add("N9", f"hardhat_mine({_MINED})", measured, is_open=is_open)


def _mine(url: str) -> None:
    with contextlib.closing(Rpc(url, 120.0)) as rpc, contextlib.suppress(OSError, ValueError, RpcFailure, KeyError):
        rpc("hardhat_mine", hex(_MINED))


def _probe(url: str) -> tuple[float, int]:
    """Return the slowest answer of a cheap read in seconds, and the number of answers."""
    slowest, answered = 0.0, 0
    end = time.monotonic() + _MINE_TIME
    while time.monotonic() < end:
        begin = time.monotonic()
        with contextlib.closing(Rpc(url, 40.0)) as rpc:
            try:
                rpc("eth_blockNumber")
                answered += 1
            except (OSError, ValueError, RpcFailure):
                pass
        slowest = max(slowest, time.monotonic() - begin)
        time.sleep(0.1)
    return slowest, answered
