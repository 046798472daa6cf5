"""Sections of a node."""

from collections.abc import Iterator

from rich.text import Text

from foreseal.top.formats import count, duration, gwei, integer, rate, share, size
from foreseal.top.lines import BAD, GOOD, LABEL, WARNING, StyledText, Value, ViewSection, pairs, table, wrapped
from foreseal.top.node_model import LatencySummary, MethodRow, NodeModel
from foreseal.top.steps import OpenBlock

_LEVELS = " ▁▂▃▄▅▆▇█"
_ASCII_LEVELS = " .:-=+*%#"
_SHORT_HASH = 10
# Milliseconds since the last tick and seconds of waiting from which the value is highlighted.
_OLD_TICK_MS = 2_000
_OLD_CALL = 1.0
_MAX_LAG = 100
_PHASES = {"producing": GOOD, "following": GOOD, "failed": BAD}


def header(model: NodeModel, wall: float) -> list[Text]:
    """Return the lines above the sections. `wall` is the Unix time in seconds."""
    sample, status = model.sample, model.status
    if sample.fault:
        return [
            pairs(("", StyledText(sample.node, "bold")), ("", StyledText("unreachable", BAD))),
            pairs(("", StyledText(sample.fault, BAD)), ("", StyledText("retrying", LABEL))),
        ]
    phase = status.text("phase", 20)
    age = status.quantity("age")
    first = pairs(
        ("", StyledText(sample.node, "bold")),
        ("chain", "-" if sample.chain_id is None else str(sample.chain_id)),
        ("", status.text("role", 16)),
        ("", StyledText(phase, _PHASES.get(phase, WARNING))),
        ("up", duration(model.uptime)),
    )
    second = pairs(
        ("latest", integer(status.quantity("latest"))),
        ("safe", integer(status.quantity("safe"))),
        ("finalized", integer(status.quantity("finalized"))),
        ("tick", StyledText(_milliseconds(age), BAD if age is not None and age > _OLD_TICK_MS else "")),
        *([("lag", _milliseconds(status.quantity("lag")))] if status.quantity("lag") else []),
    )
    base_fee = None if model.block is None else model.block.base_fee
    third = pairs(
        ("gas", rate(model.gas_rate)),
        ("tx", rate(model.tx_rate)),
        ("base fee", gwei(base_fee)),
        ("cpu", "-" if model.cpu is None else f"{model.cpu:.2f}"),
        ("memory", size(model.memory)),
        ("", StyledText(sample.version, LABEL)),
    )
    lines = [first, second, third]
    if "reason" in status:
        lines.append(pairs(("reason", StyledText(status.text("reason", 200), BAD))))
    return lines


def node_sections(
    model: NodeModel, width: int, wall: float, *, by_time: bool, ascii_only: bool
) -> Iterator[ViewSection]:
    """Yield the sections, most important first. `by_time` orders methods by time, not by calls."""
    if model.block is not None:
        yield ViewSection("STEPS", _steps(model, model.block, width, wall, ascii_only=ascii_only))
    yield ViewSection("POOL", list(_pool(model, width)))
    if model.sample.metrics is None:
        yield ViewSection("METRICS", [pairs(("", StyledText(f"no /metrics: {model.sample.metrics_fault}", WARNING)))])
    else:
        yield ViewSection("LANES", _lanes(model))
        yield ViewSection("CALLS", _calls(model, width, by_time=by_time))
        yield ViewSection("JOURNAL AND STORE", _storage(model, width))
    if model.cluster is not None:
        yield ViewSection("CLUSTER", _cluster(model, width))
    if model.followers:
        yield ViewSection("FOLLOWERS", _followers(model))
    if model.caches:
        yield ViewSection("CACHES", _caches(model))


def strip(block: OpenBlock, cells: int, *, ascii_only: bool) -> Text:
    """Return the newest steps as bars of the gas that each added; a withdrawn step is a red x."""
    levels = _ASCII_LEVELS if ascii_only else _LEVELS
    indices = sorted({*block.steps, *block.withdrawn})
    added: dict[int, float] = {}
    for index in indices:
        totals, earlier = block.steps.get(index), block.steps.get(index - 1)
        if totals is not None and (earlier is not None or index == 0):
            added[index] = max(totals.gas - (0.0 if earlier is None else earlier.gas), 0.0)
    highest = max(added.values(), default=0.0)
    line = Text(no_wrap=True)
    for index in indices[-cells:]:
        if index in block.withdrawn:
            line.append("x", style=BAD)
        elif index not in added:
            line.append("?", style=LABEL)
        else:
            level = 1 + round(added[index] / highest * (len(levels) - 2)) if highest else 1
            line.append(levels[level], style="bold cyan" if index == block.newest else "cyan")
    return line


def bar(filled: float, cells: int, *, ascii_only: bool) -> Text:
    """Return a bar of which the share `filled` is full."""
    full = min(cells, max(0, round(filled * cells)))
    marks = ("#", "-") if ascii_only else ("█", "░")
    return Text.assemble((marks[0] * full, GOOD if filled < 0.9 else WARNING), (marks[1] * (cells - full), LABEL))


def _steps(model: NodeModel, block: OpenBlock, width: int, wall: float, *, ascii_only: bool) -> list[Text]:
    totals = block.steps.get(-1 if block.newest is None else block.newest)
    left = None if block.timestamp is None else block.timestamp - wall
    filled = totals.gas / block.gas_limit if totals is not None and block.gas_limit else None
    first = pairs(
        ("block", StyledText(integer(block.number), "bold")),
        ("step", StyledText(integer(block.newest), "bold")),
        ("tx", "-" if totals is None else integer(totals.transactions)),
        ("seals in", _countdown(left)),
        (
            "withdrawn",
            StyledText(count(model.sample.progress.withdrawn), BAD if model.sample.progress.withdrawn else ""),
        ),
    )
    cells = max(10, width - 2)
    half = max(10, min(40, width // 3))
    second = Text.assemble(
        bar(filled or 0.0, half, ascii_only=ascii_only),
        f" {share(filled)} of {count(block.gas_limit)} gas",
        no_wrap=True,
    )
    hash = model.status.text("hash", 66)
    build = _latency_items("build", model.step)
    third = pairs(("hash", hash[:_SHORT_HASH] if width < 60 else hash[:26]), *build)
    return [first, strip(block, cells, ascii_only=ascii_only), second, third]


def _countdown(left: float | None) -> StyledText:
    if left is None:
        return StyledText("-")
    return StyledText(duration(left)) if left > -1 else StyledText(f"overdue by {duration(-left)}", WARNING)


def _pool(model: NodeModel, width: int) -> Iterator[Text]:
    pool = model.status.child("pool")
    dropped = [(f"dropped: {reason}", StyledText(rate(value), WARNING)) for reason, value in model.pool_dropped.items()]
    yield from wrapped(
        [
            ("pending", integer(pool.quantity("pooled"))),
            ("queued", integer(pool.quantity("queued"))),
            ("size", size(pool.number("bytes"))),
            ("added", rate(model.pool_added)),
            ("replaced", rate(model.pool_replaced)),
            *dropped[:4],
        ],
        width,
    )


def _lanes(model: NodeModel) -> list[Text]:
    rows: list[list[Value]] = [
        [
            lane.name,
            StyledText(count(lane.waiting), WARNING if lane.waiting else ""),
            count(lane.running),
            StyledText(duration(lane.oldest), BAD if lane.oldest >= _OLD_CALL else ""),
            rate(lane.rate),
            duration(lane.queueing.p99),
            StyledText(rate(lane.ended), WARNING if lane.ended else ""),
        ]
        for lane in model.lanes
    ]
    return table(("lane", "waiting", "running", "oldest", "calls", "wait p99", "ended"), rows)


def _calls(model: NodeModel, width: int, *, by_time: bool) -> list[Text]:
    rejected: list[tuple[str, Value]] = [
        (f"rejected: {reason}", StyledText(rate(value), WARNING)) for reason, value in model.rejected.items()
    ]
    if not rejected:
        rejected.append(("rejected", rate(None if model.calls is None else 0.0)))
    lines = wrapped(
        [
            ("calls", StyledText(rate(model.calls), "bold")),
            ("errors", StyledText(rate(model.errors), WARNING if model.errors else "")),
            ("in flight", count(model.in_flight)),
            ("websockets", count(model.connections)),
            ("notifications", rate(model.notifications)),
            ("slow clients", StyledText(rate(model.slow_connections), BAD if model.slow_connections else "")),
            *rejected[:6],
        ],
        width,
    )
    rows: list[list[Value]] = [
        [
            method.name,
            rate(method.rate),
            duration(method.latency.mean),
            duration(method.latency.p99),
            share(method.busy),
        ]
        for method in sorted(model.methods, key=lambda each: _order(each, by_time=by_time), reverse=True)[:5]
    ]
    return [*lines, *(table(("method", "calls", "mean", "p99", "busy"), rows) if rows else [])]


def _order(method: MethodRow, *, by_time: bool) -> float:
    return method.busy if by_time else method.rate


def _storage(model: NodeModel, width: int) -> list[Text]:
    store = model.status.child("store")
    throttle = store.number("share")
    damaged = store.child("scrub").quantity("damaged")
    return wrapped(
        [
            *_latency_items("append", model.append),
            ("written", "-" if model.journal_bytes is None else f"{size(model.journal_bytes)}/s"),
            ("store block", integer(store.quantity("head"))),
            ("backlog", count(store.number("backlog"))),
            ("throttle", StyledText(share(throttle), WARNING if throttle is not None and throttle < 1 else "")),
            *_latency_items("commit", model.commit),
            ("size", size(store.number("bytes"))),
            *([("damaged pages", StyledText(count(damaged), BAD))] if damaged else []),
        ],
        width,
    )


def _followers(model: NodeModel) -> list[Text]:
    rows: list[list[Value]] = [
        [
            follower.name,
            follower.role,
            StyledText(count(follower.lag), WARNING if follower.lag > _MAX_LAG else ""),
            duration(follower.connected),
        ]
        for follower in model.followers
    ]
    return table(("follower", "role", "lag", "connected"), rows, texts=2)


def _cluster(model: NodeModel, width: int) -> list[Text]:
    cluster = model.cluster
    assert cluster is not None
    quorum = {True: StyledText("ok", GOOD), False: StyledText("silent", BAD), None: StyledText("-")}[cluster.quorum_ok]
    return wrapped(
        [
            ("name", cluster.name),
            ("role", cluster.role),
            ("owner", StyledText(cluster.owner, BAD if cluster.owner == "-" else "")),
            ("epoch", integer(cluster.epoch)),
            ("etcd", quorum),
            ("silence", duration(cluster.silence)),
            *_latency_items("append", cluster.append),
            *(("finding", StyledText(code, WARNING)) for code in cluster.findings),
        ],
        width,
    )


def _caches(model: NodeModel) -> list[Text]:
    rows: list[list[Value]] = [
        [cache.name, share(cache.hit_share), rate(cache.lookups), size(cache.used), size(cache.capacity)]
        for cache in model.caches
    ]
    return table(("cache", "hits", "lookups", "size", "capacity"), rows)


def _latency_items(name: str, latency: LatencySummary) -> list[tuple[str, Value]]:
    return [(name, duration(latency.mean)), ("p99", duration(latency.p99))]


def _milliseconds(value: int | None) -> str:
    return duration(None if value is None else min(value, 10**12) / 1000)
