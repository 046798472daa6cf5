"""Rows of limits: those with a setting, for all and for public callers, and those that are fixed.

A limit has a setting only if an operator has a reason to change it. The reference and the errors for removed settings
are made from the rows of both kinds.
"""

from dataclasses import dataclass

from foreseal.server.settings.kinds import Duration, Integer, ValueKind
from foreseal.server.settings.setting import Setting

_MIN_GAS = 21_000
_NO_LIMIT = "no separate limit"


@dataclass(frozen=True, slots=True)
class FixedLimit:
    """A limit without a setting."""

    row: Setting
    reason: str
    """Clause for people: why the limit needs no setting. {section.name} is another setting."""
    is_derived: bool = False
    """True if the limit grows with others, as `reason` states; otherwise it is constant."""


def _limit(name: str, kind: ValueKind, help: str, more: str = "", *, path: str = "limits", unset: str = "") -> Setting:
    return Setting(
        key=f"limits.{name}", name=f"max_{name}", kind=kind, help=help, more=more, path=f"{path}.{name}", unset=unset
    )


def _core_limit(name: str, kind: ValueKind, help: str, more: str = "") -> Setting:
    return _limit(name, kind, help, more, path="core_limits")


def _public(name: str, kind: ValueKind, help: str, *, path: str = "public_limits") -> Setting:
    return Setting(
        key=f"public.{name}",
        name=f"public_max_{name}",
        kind=kind,
        help=help,
        more=f"At most `[limits]` `{name}`.",
        path=f"{path}.{name}",
    )


LIMITS = (
    _limit("body", Integer(unit="bytes"), "Largest request body.", "HTTP 413."),
    _limit("batch", Integer(), "Maximum requests in a batch.", "-32005."),
    _limit(
        "response",
        Integer(unit="bytes"),
        "Largest response, and largest trace.",
        "For a whole batch; -32005, in most cases before it is rendered.",
    ),
    _limit("calls", Integer(), "Maximum concurrent long calls.", "HTTP 429."),
    _limit(
        "connections",
        Integer(),
        "Maximum WebSocket connections.",
        "At the limit, the caller with the most connections loses its longest idle one; HTTP 503.",
    ),
    _limit(
        "address_connections",
        Integer(),
        "Maximum connections of any kind of one address.",
        "Idle and slow connections are closed first. Trusted proxies and Unix sockets are exempt. "
        "On a development chain the default is 16384. Native transport.",
    ),
    _core_limit("logs", Integer(), "Maximum logs in one eth_getLogs.", "Queries of a single block are exempt; -32602."),
    _core_limit(
        "call_gas", Integer(_MIN_GAS, unit="gas"), "Maximum gas of one eth_call, estimate or access list.", "-32005."
    ),
    _core_limit("call_time", Duration(), "Maximum duration of one eth_call or trace.", "-32005."),
)
"""Limits for every caller that are settings. Public callers have a share of each, or a setting of their own."""

PUBLIC = (
    _public("caller_calls", Integer(), "Maximum concurrent long calls of one public caller."),
    _public("caller_connections", Integer(), "Maximum WebSocket connections of one public caller."),
    _public("logs", Integer(), "Maximum logs in one eth_getLogs of a public caller.", path="public_core_limits"),
    _public(
        "call_gas",
        Integer(_MIN_GAS, unit="gas"),
        "Maximum gas of one eth_call, estimate or access list of a public caller.",
        path="public_core_limits",
    ),
    _public(
        "call_time",
        Duration(),
        "Maximum duration of one eth_call or trace of a public caller.",
        path="public_core_limits",
    ),
)
"""Limits of public callers that are settings."""

FIXED_LIMITS = (
    FixedLimit(_limit("depth", Integer(), "Maximum nesting depth of JSON.", "-32005."), "no request nests deeper"),
    FixedLimit(
        _limit("values", Integer(), "Maximum JSON values in a body.", "Estimated from brackets and commas; -32005."),
        "{limits.body} limits the size of a body",
    ),
    FixedLimit(
        _limit("wait", Duration(), "Maximum time to receive the body of a request.", "HTTP 408."),
        "a body that takes longer only occupies memory",
    ),
    FixedLimit(
        _limit(
            "open",
            Integer(),
            "Maximum open connections of any kind in a process.",
            "Further connections wait to be accepted.",
        ),
        "the open file limit of the process (LimitNOFILE) lowers it, and more {server.workers} raise the total",
    ),
    FixedLimit(
        _limit("caller_calls", Integer(), "Maximum concurrent long calls of one caller.", "HTTP 429.", unset=_NO_LIMIT),
        "callers share the threads fairly, and {public.caller_calls} limits public ones",
    ),
    FixedLimit(
        _limit(
            "caller_connections",
            Integer(),
            "Maximum WebSocket connections of one caller.",
            "HTTP 429.",
            unset=_NO_LIMIT,
        ),
        "{limits.address_connections} limits every address, and {public.caller_connections} public callers",
    ),
    FixedLimit(
        _limit(
            "connection_calls",
            Integer(),
            "Maximum concurrent long calls of one connection.",
            "At the limit, reading pauses until a call ends.",
        ),
        "further calls of the connection wait",
    ),
    FixedLimit(
        _limit("subscriptions", Integer(), "Maximum subscriptions of a connection.", "-32005."),
        "a client that needs more opens another connection",
    ),
    FixedLimit(
        _limit(
            "caller_subscriptions",
            Integer(),
            "Maximum subscriptions of all connections of one caller.",
            "-32005.",
            unset=_NO_LIMIT,
        ),
        "{public.caller_connections} limits the connections of public callers",
    ),
    FixedLimit(
        _limit(
            "outgoing_bytes",
            Integer(unit="bytes"),
            "Maximum unsent bytes of a connection.",
            "Counted separately for notifications and responses: see [live streams](../build/streams.md).",
        ),
        "a client that lags is notified and resumes from its cursor",
    ),
    FixedLimit(
        _limit("outgoing_frames", Integer(), "Maximum unsent notifications of a connection."),
        "a client that lags is notified and resumes from its cursor",
    ),
    FixedLimit(
        _limit("idle", Duration(), "Close a WebSocket connection that has been idle this long.", "Code 1000."),
        "a connection with a subscription or a ping is not idle",
    ),
    FixedLimit(
        _limit(
            "head_time",
            Duration(),
            "Maximum time to receive the head of a request, and for the TLS handshake.",
            "HTTP 408. Native transport.",
        ),
        "a head is a few kilobytes",
    ),
    FixedLimit(
        _limit(
            "body_rate",
            Integer(0),
            "Minimum transfer rate of a body after 5 seconds, bytes per second.",
            "HTTP 408. Native transport.",
        ),
        "a slower client cannot send a body in time",
    ),
    FixedLimit(
        _limit(
            "address_work",
            Integer(),
            "Maximum units of protocol work per second for one address.",
            "Frames, fragments, chunks, incomplete reads: see [transports](../operate/transports.md). "
            "Native transport.",
        ),
        "no regular client reaches it",
    ),
    FixedLimit(
        _limit(
            "connection_bytes",
            Integer(unit="bytes"),
            "Maximum bytes in flight of one connection.",
            "Counts unfinished requests and unread responses; HTTP 429. Native transport.",
        ),
        "grows with {limits.response} and {limits.body}",
        is_derived=True,
    ),
    FixedLimit(
        _limit(
            "address_bytes",
            Integer(unit="bytes"),
            "Maximum bytes in flight of all connections of one address.",
            "HTTP 429. Behind a trusted proxy the forwarded address counts; Unix sockets are exempt. Native transport.",
        ),
        "grows with {limits.response} and {limits.body}",
        is_derived=True,
    ),
    FixedLimit(
        _limit(
            "total_bytes",
            Integer(unit="bytes"),
            "Maximum bytes in flight of all connections of a process.",
            "At the limit, the address with the most bytes loses its largest connection. Native transport.",
        ),
        "grows with {limits.response} and {limits.body}",
        is_derived=True,
    ),
    FixedLimit(
        _core_limit("log_time", Duration(), "Maximum duration of one eth_getLogs.", "-32602."),
        "foreseal_getLogs reads the rest of a long search",
    ),
    FixedLimit(
        _core_limit(
            "filters",
            Integer(),
            "Maximum number of filters.",
            "Near the limit, the caller with the most filters loses its longest idle one; -32005.",
        ),
        "near the limit, the caller with the most filters loses its longest idle one",
    ),
    FixedLimit(
        _limit("caller_filters", Integer(), "Maximum filters of one caller.", "-32005.", unset=_NO_LIMIT),
        "near the limit of all filters, the caller with the most loses its longest idle one",
    ),
    FixedLimit(
        _core_limit("terms", Integer(), "Maximum addresses and topics in one subscription.", "-32005."),
        "a client with more filters the logs itself",
    ),
    FixedLimit(
        _core_limit("flashblocks", Integer(), "Maximum flashblocks in one foreseal_getFlashblocks."),
        "the cursor of a response continues it",
    ),
    FixedLimit(
        _core_limit(
            "flashblock_bytes",
            Integer(unit="bytes"),
            "Maximum size of a foreseal_getFlashblocks response in bytes.",
            "A response contains at least one flashblock, even if it is larger.",
        ),
        "the cursor of a response continues it",
    ),
    FixedLimit(
        _core_limit(
            "simulate_gas", Integer(_MIN_GAS, unit="gas"), "Maximum gas of all calls of one eth_simulateV1.", "-38026."
        ),
        "a longer simulation is sent as several",
    ),
    FixedLimit(
        _core_limit("trace_bytes", Integer(unit="bytes"), "Largest response of a trace.", "-32005."),
        "grows with {limits.response}",
        is_derived=True,
    ),
    FixedLimit(
        _core_limit("slots", Integer(), "Maximum slots in one eth_getProof or eth_getStorageValues.", "-32005."),
        "a client that needs more sends another request",
    ),
    FixedLimit(
        _core_limit(
            "pool_transactions", Integer(), "Maximum transactions in txpool_content and txpool_inspect.", "-32005."
        ),
        "txpool_contentFrom returns the transactions of one sender",
    ),
    FixedLimit(
        _core_limit(
            "sync_time",
            Duration(),
            "Maximum wait of eth_sendRawTransactionSync.",
            "A longer timeout parameter is replaced by the default of 2s.",
        ),
        "a client that waits longer polls the receipt",
    ),
)
"""Limits for every caller without a setting. Public callers have a share of most."""
