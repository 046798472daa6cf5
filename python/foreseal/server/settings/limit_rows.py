"""Rows of limits in the table of settings: for all callers, and lower ones for public callers.

A limit has a row for public callers if `PublicLimits` or `PublicCoreLimits` has a field for it.
"""

from dataclasses import fields

from foreseal.server.settings.access import PublicCoreLimits, PublicLimits
from foreseal.server.settings.kinds import Duration, Integer, ValueKind
from foreseal.server.settings.setting import Setting

_MIN_GAS = 21_000


def _limit(name: str, kind: ValueKind, help: str, more: str = "", *, path: str = "limits", unset: str = "") -> Setting:
    return Setting(
        key=f"limits.{name}", name=f"max_{name}", kind=kind, help=help, more=more, path=f"{path}.{name}", unset=unset
    )


def _core_limit(name: str, kind: ValueKind, help: str, more: str = "") -> Setting:
    return _limit(name, kind, help, more, path="core_limits")


LIMITS = (
    _limit("body", Integer(unit="bytes"), "Largest request body.", "HTTP 413."),
    _limit("batch", Integer(), "Maximum requests in a batch.", "-32005."),
    _limit("depth", Integer(1, 250), "Maximum nesting depth of JSON.", "-32005."),
    _limit("values", Integer(1000), "Maximum JSON values in a body.", "Estimated from brackets and commas; -32005."),
    _limit(
        "response",
        Integer(unit="bytes"),
        "Largest response.",
        "For a whole batch; -32005, in most cases before it is rendered.",
    ),
    _limit("calls", Integer(), "Maximum concurrent long calls.", "HTTP 429."),
    _limit(
        "caller_calls",
        Integer(),
        "Maximum concurrent long calls of one caller.",
        "In one process; HTTP 429.",
        unset="no limit",
    ),
    _limit("wait", Duration(), "Maximum time to receive the body of a request.", "HTTP 408."),
    _limit(
        "open",
        Integer(),
        "Maximum open connections of any kind in a process.",
        "Further connections wait to be accepted.",
    ),
    _limit(
        "connections",
        Integer(),
        "Maximum WebSocket connections.",
        "At the limit, the caller with the most connections loses its longest idle one; HTTP 503.",
    ),
    _limit(
        "caller_connections",
        Integer(),
        "Maximum WebSocket connections of one caller.",
        "In one process; HTTP 429.",
        unset="no limit",
    ),
    _limit(
        "connection_calls",
        Integer(),
        "Maximum concurrent long calls of one connection.",
        "At the limit, reading pauses until a call ends.",
    ),
    _limit("subscriptions", Integer(), "Maximum subscriptions of a connection.", "-32005."),
    _limit(
        "caller_subscriptions",
        Integer(),
        "Maximum subscriptions of all connections of one caller.",
        "In one process; -32005.",
        unset="no limit",
    ),
    _limit(
        "outgoing_bytes",
        Integer(unit="bytes"),
        "Maximum unsent bytes of a connection.",
        "Counted separately for notifications and responses: see [live streams](../build/streams.md).",
    ),
    _limit("outgoing_frames", Integer(), "Maximum unsent notifications of a connection."),
    _limit("idle", Duration(), "Close a WebSocket connection that has been idle this long."),
    _limit(
        "head_time",
        Duration(),
        "Maximum time to receive the head of a request.",
        "Also applies to the TLS handshake; HTTP 408. Native transport.",
    ),
    _limit(
        "body_rate",
        Integer(0, unit="bytes per second"),
        "Minimum transfer rate of a body after 5 seconds; 0 for no limit.",
        "HTTP 408. Native transport.",
    ),
    _limit(
        "address_connections",
        Integer(),
        "Maximum connections of any kind of one address.",
        "Idle and slow connections are closed first. Trusted proxies and Unix sockets are exempt. "
        "On a development chain the default is `open`. Native transport.",
    ),
    _limit(
        "address_work",
        Integer(100),
        "Maximum units of protocol work per second for one address.",
        "Frames, fragments, chunks, incomplete reads: see [transports](../operate/transports.md). Native transport.",
    ),
    _limit(
        "connection_bytes",
        Integer(unit="bytes"),
        "Maximum bytes in flight of one connection.",
        "Counts unfinished requests and unread responses; HTTP 429. Native transport.",
    ),
    _limit(
        "address_bytes",
        Integer(unit="bytes"),
        "Maximum bytes in flight of all connections of one address.",
        "HTTP 429. Behind a trusted proxy the forwarded address counts; Unix sockets are exempt. Native transport.",
    ),
    _limit(
        "total_bytes",
        Integer(unit="bytes"),
        "Maximum bytes in flight of all connections of a process.",
        "At the limit, the address with the most bytes loses its largest connection. Native transport.",
    ),
    _core_limit("logs", Integer(), "Maximum logs in one eth_getLogs.", "Queries of a single block are exempt; -32602."),
    _core_limit("log_time", Duration(), "Maximum duration of one eth_getLogs.", "-32602."),
    _core_limit(
        "filters",
        Integer(),
        "Maximum number of filters.",
        "Near the limit, the caller with the most filters loses its longest idle one; -32005.",
    ),
    _limit("caller_filters", Integer(), "Maximum filters of one caller.", "In one process; -32005.", unset="no limit"),
    _core_limit("terms", Integer(), "Maximum addresses and topics in one subscription.", "-32005."),
    _core_limit("flashblocks", Integer(), "Maximum flashblocks in one foreseal_getFlashblocks."),
    _core_limit(
        "flashblock_bytes",
        Integer(unit="bytes"),
        "Maximum size of a foreseal_getFlashblocks response in bytes.",
        "A response contains at least one flashblock, even if it is larger.",
    ),
    _core_limit(
        "call_gas", Integer(_MIN_GAS, unit="gas"), "Maximum gas of one eth_call, estimate or access list.", "-32005."
    ),
    _core_limit("call_time", Duration(), "Maximum duration of one eth_call or trace.", "-32005."),
    _core_limit(
        "simulate_gas", Integer(_MIN_GAS, unit="gas"), "Maximum gas of all calls of one eth_simulateV1.", "-38026."
    ),
    _core_limit("trace_bytes", Integer(unit="bytes"), "Largest response of a trace.", "-32005."),
    _core_limit("slots", Integer(), "Maximum slots in one eth_getProof or eth_getStorageValues.", "-32005."),
    _core_limit(
        "pool_transactions", Integer(), "Maximum transactions in txpool_content and txpool_inspect.", "-32005."
    ),
    _core_limit(
        "sync_time",
        Duration(),
        "Maximum wait of eth_sendRawTransactionSync.",
        "A longer timeout parameter is replaced by the default of `2s`.",
    ),
)

# Help texts of public callers that differ from the general ones.
_PUBLIC_HELP = {
    "calls": "Total concurrent long calls above which those of public callers are rejected.",
    "connections": "Maximum WebSocket connections of public callers.",
    "filters": "Total filters above which a new filter of a public caller replaces another public one.",
}
_LOWERED = {limit.name for group in (PublicLimits, PublicCoreLimits) for limit in fields(group)}


def _public_row(limit: Setting) -> Setting:
    """Return the row for public callers of a limit."""
    name = limit.key.partition(".")[2]
    return Setting(
        key=f"public.{name}",
        name=f"public_{limit.name}",
        kind=limit.kind,
        help=_PUBLIC_HELP.get(name, limit.help),
        path=f"public_{limit.path}",
    )


PUBLIC = tuple(_public_row(limit) for limit in LIMITS if limit.key.partition(".")[2] in _LOWERED)
