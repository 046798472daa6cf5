"""S1, S2, S4, S5: one address takes processor time, memory or connections from all others."""

import threading
import time
from collections.abc import Callable
from statistics import median

from hostile.build import TRANSPORTS
from hostile.chain import Chain
from hostile.findings.finding import Bench, pids_of
from hostile.trial import DEFAULT_BOUNDS, STARVATION, run_trial, worst_p99
from hostile.usage import Sampler, measure
from hostile.watch import Watch
from hostile.wire import HANDSHAKE, PING, Socket, call, chunked_head, frame, head, post
from live.process import LiveNode

_CALM = 4.0
_MEMORY_BOUND = 100 * 1024
"""Limit in KiB: higher growth counts as unbounded."""
_MEMORY_STOP = 600 * 1024
"""KiB of growth at which a measurement stops."""
_DELAY_BOUND = 0.05
_CHUNKS_TIME = 60.0
_HEAD_BOUND = 15.0
"""Maximum lifetime of a partial head in seconds: the default limit, 10 s, and five more."""
_BODIES_BOUND = 400 * 1024
"""Limit in KiB for 600 MB of bodies in flight: the default limit of a process, 256 MiB, and allocator overhead."""
_BLOCK_NUMBER = post(call("eth_blockNumber"))


def starvation(bench: Bench) -> None:
    """S1: hash loops in calls of one, ten and a hundred addresses."""
    for transport in TRANSPORTS:
        for addresses in bench.addresses:
            with bench.node(*bench.build.transport_options(transport), keys=1) as (chain, node):
                chain.populate(node.rpc)
                _starve(bench, chain, node, (transport, addresses))


def _starve(bench: Bench, chain: Chain, node: LiveNode, case: tuple[str, int]) -> None:
    transport, addresses = case
    with Watch(chain.facts, chain.folder, pids_of(node)) as watch:
        time.sleep(2.0)
        trial = run_trial(watch, chain.folder, STARVATION, transport, addresses, seconds=bench.seconds, calm=_CALM)
    pairs = [(kind, caller) for kind in ("submissions", "reads") for caller in ("public", "keyed")]
    p99 = [[getattr(window, kind)[caller].p99 for window in (trial.before, trial.during)] for kind, caller in pairs]
    named = zip(pairs, p99, strict=True)
    shown = ", ".join(f"{caller} {kind} {old:.0f} -> {new:.0f} ms" for (kind, caller), (old, new) in named)
    rise = worst_p99(trial.during) - worst_p99(trial.before)
    measured = f"honest p99 {shown}; processor time of the attackers {trial.hostile_processor:.1f} s"
    is_open = rise > DEFAULT_BOUNDS.delay or bool(trial.during.faults)
    bench.add("S1", f"{transport}, {addresses} hostile addresses", measured, is_open=is_open)


def pongs(bench: Bench) -> None:
    """S2: pings of 125 bytes over one WebSocket whose pongs are never read."""
    block = frame(PING, b"p" * 125) * 500
    for transport in TRANSPORTS:
        with bench.node(*bench.build.transport_options(transport)) as (chain, node):
            grown, sent, seconds = _grow(node, chain.facts.port, HANDSHAKE, block, bench.seconds)
            measured = f"anonymous memory +{grown // 1024} MiB in {seconds:.1f} s, {sent >> 20} MiB of pings accepted"
            bench.add("S2", transport, measured, is_open=grown > _MEMORY_BOUND)


def _grow(node: LiveNode, port: int, opening: bytes, block: bytes, seconds: float) -> tuple[int, int, float]:
    """Send a block in a loop without reading; return growth in KiB, bytes accepted and seconds."""
    pids = pids_of(node)
    first = measure(pids).anonymous
    peak = sent = 0
    begin = time.monotonic()
    with Socket(port, timeout=1.0) as line:
        line.send(opening)
        if opening == HANDSHAKE:
            line.response()
        while time.monotonic() - begin < seconds and peak < _MEMORY_STOP:
            try:
                line.send(block)
                sent += len(block)
            except TimeoutError:
                break
            except OSError:
                break
            peak = max(peak, measure(pids).anonymous - first)
        peak = max(peak, measure(pids).anonymous - first)
    return peak, sent, time.monotonic() - begin


def framing(bench: Bench) -> None:
    """S4: endless trailers, ping floods, bodies in chunks of two bytes."""
    for transport in TRANSPORTS:
        options = bench.build.transport_options(transport)
        trailer = b"".join(b"x-%d: y\r\n" % number for number in range(2000))
        opening = chunked_head() + b"2\r\n{}\r\n0\r\n"
        with bench.node(*options) as (chain, node):
            calm, busy = _others(chain.facts.port, opening, trailer, bench.seconds)
            _add_delays(bench, transport, "trailer without an end", calm, busy)
        with bench.node(*options) as (chain, node):
            calm, busy = _others(chain.facts.port, HANDSHAKE, frame(PING, b"p" * 125) * 2000, bench.seconds)
            _add_delays(bench, transport, "ping flood of one connection", calm, busy)
        with bench.node(*options) as (chain, node):
            _chunks(bench, transport, node, chain.facts.port)


def _add_delays(bench: Bench, transport: str, case: str, calm: list[float], busy: list[float]) -> None:
    shown = [f"{median(delays) * 1000:.1f} ms (max {max(delays) * 1000:.0f})" for delays in (calm, busy)]
    is_open = median(busy) - median(calm) > _DELAY_BOUND
    bench.add(
        "S4",
        f"{transport}, {case}",
        f"p50 of eth_blockNumber by another address {shown[0]} -> {shown[1]}",
        is_open=is_open,
    )


def _others(port: int, opening: bytes, block: bytes, seconds: float) -> tuple[list[float], list[float]]:
    """Return delays of another address before and while a connection sends a block in a loop."""
    with Socket(port, "127.0.1.1", 30.0) as honest:
        calm = [_timed(honest) for _ in range(50)]
        busy: list[float] = []
        thread = _flooding(port, opening, block, seconds)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            busy.append(_timed(honest))
            time.sleep(0.02)
        thread()
    return calm, busy


def _flooding(port: int, opening: bytes, block: bytes, seconds: float) -> Callable[[], None]:
    def flood() -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                with Socket(port, timeout=2.0) as line:
                    line.send(opening)
                    while time.monotonic() < end:
                        line.send(block)
            except OSError:
                time.sleep(0.05)

    thread = threading.Thread(target=flood, daemon=True)
    thread.start()
    return thread.join


def _timed(line: Socket) -> float:
    begin = time.monotonic()
    line.send(_BLOCK_NUMBER)
    line.response()
    return time.monotonic() - begin


def _chunks(bench: Bench, transport: str, node: LiveNode, port: int) -> None:
    """Twenty bodies of almost 2 MB in chunks of two bytes, unfinished."""
    pids = pids_of(node)
    first = measure(pids).anonymous
    lines = []
    block = b"2\r\n  \r\n" * 10_000
    end = time.monotonic() + _CHUNKS_TIME
    with Sampler(pids) as sampler:
        for number in range(20):
            line = Socket(port, f"127.0.0.{2 + number}", 5.0)
            lines.append(line)
            try:
                line.send(chunked_head())
                for _ in range(100):
                    if time.monotonic() < end:
                        line.send(block)
            except OSError:
                continue
        time.sleep(1.0)
        held = measure(pids).anonymous - first
        for line in lines:
            line.close()
        time.sleep(5.0)
        left = measure(pids).anonymous - first
        peak = max(sample.anonymous for sample in sampler.samples) - first
    measured = f"anonymous memory +{max(peak, held) // 1024} MiB, +{left // 1024} MiB five seconds after their end"
    is_open = max(peak, held) > 2 * _MEMORY_BOUND or left > _MEMORY_BOUND
    bench.add("S4", f"{transport}, 20 unfinished bodies in 2-byte chunks", measured, is_open=is_open)


def connections(bench: Bench) -> None:
    """S5: partial heads, and unfinished bodies."""
    for transport in TRANSPORTS:
        options = bench.build.transport_options(transport)
        # Earlier builds have an option for the maximum.
        maximum = ("--max-open", "300") if bench.build.has_option("--max-open") else ()
        with bench.node(*maximum, *options) as (chain, _):
            _half_heads(bench, transport, chain.facts.port)
        with bench.node(*options) as (chain, node):
            _half_bodies(bench, transport, node, chain.facts.port)


def _half_heads(bench: Bench, transport: str, port: int) -> None:
    lines = []
    half = head(10)[:-20]
    for _ in range(400):
        try:
            line = Socket(port, timeout=1.0)
            line.send(half)
            lines.append(line)
        except OSError:
            break
    answered = 0
    for number in range(10):
        try:
            with Socket(port, f"127.0.1.{1 + number}", 1.0) as honest:
                honest.send(_BLOCK_NUMBER)
                answered += honest.response().status == 200
        except (OSError, ValueError, IndexError):
            continue
    measured = f"{answered} of 10 calls of other addresses answered next to 400 half-sent heads of one address"
    bench.add("S5", f"{transport}, half-sent heads", measured, is_open=answered < 10)
    for line in lines:
        line.close()
    # A fresh address: a node near its limit closes other addresses' connections earlier.
    begin = time.monotonic()
    with Socket(port, "127.0.0.9") as line:
        line.send(half)
        is_closed = line.is_closed_within(_HEAD_BOUND)
    lived = time.monotonic() - begin
    shown = f"ended after {lived:.0f} s" if is_closed else f"still open after {lived:.0f} s"
    bench.add("S5", f"{transport}, life of a partial head", shown, is_open=not is_closed)


def _half_bodies(bench: Bench, transport: str, node: LiveNode, port: int) -> None:
    pids = pids_of(node)
    first = measure(pids).anonymous
    peak = 0
    lines = []
    body = b" " * 2_000_000
    for number in range(300):
        try:
            line = Socket(port, f"127.0.0.{2 + number % 200}", 2.0)
            lines.append(line)
            line.send(head(2_097_000))
            line.send(body)
        except OSError:
            pass
        if number % 20 == 19:
            peak = max(peak, measure(pids).anonymous - first)
    time.sleep(0.5)
    peak = max(peak, measure(pids).anonymous - first)
    for line in lines:
        line.close()
    measured = f"anonymous memory +{peak // 1024} MiB with 300 unfinished bodies of 2 MB"
    bench.add("S5", f"{transport}, bodies in flight", measured, is_open=peak > _BODIES_BOUND)
