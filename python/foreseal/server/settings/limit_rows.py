"""Rows of limits in the table of settings: for all callers, and lower ones for public callers.

A limit has a row for public callers if `PublicLimits` or `PublicCoreLimits` has a field for it.
"""

from dataclasses import fields

from foreseal.server.settings.access import PublicCoreLimits, PublicLimits
from foreseal.server.settings.kinds import Duration, Kind, Whole
from foreseal.server.settings.setting import Setting

_LEAST_GAS = 21_000


def _limit(name: str, kind: Kind, help: str, more: str = "", *, of: str = "limits", unset: str = "") -> Setting:
    return Setting(
        key=f"limits.{name}", name=f"max_{name}", kind=kind, help=help, more=more, place=f"{of}.{name}", unset=unset
    )


def _core_limit(name: str, kind: Kind, help: str, more: str = "") -> Setting:
    return _limit(name, kind, help, more, of="core_limits")


LIMITS = (
    _limit("body", Whole(unit="bytes"), "Largest request body.", "HTTP 413."),
    _limit("batch", Whole(), "Most requests in a batch.", "-32005."),
    _limit("depth", Whole(1, 250), "Deepest nesting of JSON.", "-32005."),
    _limit("values", Whole(1000), "Most JSON values in a body.", "By its brackets and commas; -32005."),
    _limit("response", Whole(unit="bytes"), "Largest answer.", "A batch shares it; -32005."),
    _limit("calls", Whole(), "Most long calls at once.", "HTTP 429."),
    _limit(
        "caller_calls",
        Whole(),
        "Most long calls at once for one caller.",
        "In one process; HTTP 429.",
        unset="no bound",
    ),
    _limit("wait", Duration(), "Longest time that the body of a request may take to come.", "HTTP 408."),
    _limit("open", Whole(), "Most open connections of any kind in a process.", "Others wait to be accepted."),
    _limit(
        "connections",
        Whole(),
        "Most WebSocket connections.",
        "The caller with the most loses its longest idle one; HTTP 503.",
    ),
    _limit(
        "caller_connections", Whole(), "Most of them for one caller.", "In one process; HTTP 429.", unset="no bound"
    ),
    _limit("connection_calls", Whole(), "Most long calls at once for one connection.", "It is read on after one."),
    _limit("subscriptions", Whole(), "Most subscriptions of a connection.", "-32005."),
    _limit(
        "caller_subscriptions",
        Whole(),
        "Most subscriptions of all connections of one caller.",
        "In one process; -32005.",
        unset="no bound",
    ),
    _limit(
        "outgoing_bytes",
        Whole(unit="bytes"),
        "Most bytes that wait to be taken from a connection.",
        "Of notifications, and as many of answers: see [streams.md](streams.md).",
    ),
    _limit("outgoing_frames", Whole(), "Most notifications that wait to be taken from a connection."),
    _limit("idle", Duration(), "Longest time that a client may neither say nor take anything."),
    _limit(
        "head_time",
        Duration(),
        "Longest time for the head of a request.",
        "And for a TLS handshake; HTTP 408. Native transport.",
    ),
    _limit(
        "body_rate",
        Whole(0, unit="bytes a second"),
        "Least rate of a body after 5 seconds; 0 for none.",
        "HTTP 408. Native transport.",
    ),
    _limit(
        "address_connections",
        Whole(),
        "Most connections of any kind of one address.",
        "Its idle and slow ones are closed for new ones. Not for trusted proxies and Unix sockets. Native transport.",
    ),
    _limit(
        "address_work",
        Whole(100),
        "Most units of protocol work a second for one address.",
        "Control frames, fragments, chunks, incomplete reads: see [transports.md](transports.md). Native transport.",
    ),
    _limit(
        "connection_bytes",
        Whole(unit="bytes"),
        "Most bytes in flight of one connection.",
        "Unfinished requests, and responses that the client does not read; HTTP 429. Native transport.",
    ),
    _limit(
        "address_bytes",
        Whole(unit="bytes"),
        "Most bytes in flight of all connections of one address.",
        "HTTP 429. Behind a trusted proxy those of the forwarded address; not for Unix sockets. Native transport.",
    ),
    _limit(
        "total_bytes",
        Whole(unit="bytes"),
        "Most bytes in flight of all connections of a process.",
        "The address with the most loses its largest connection. Native transport.",
    ),
    _core_limit("logs", Whole(), "Most logs in one eth_getLogs.", "A single block is excepted; -32005."),
    _core_limit("log_time", Duration(), "Longest time of one eth_getLogs.", "A single block is excepted; -32005."),
    _core_limit(
        "filters",
        Whole(),
        "Most filters at once.",
        "Near it the caller with the most loses its longest idle one; -32005.",
    ),
    _limit(
        "caller_filters", Whole(), "Most filters of one caller.", "Those made in one process; -32005.", unset="no bound"
    ),
    _core_limit("terms", Whole(), "Most addresses and topics in one subscription.", "-32005."),
    _core_limit("flashblocks", Whole(), "Most in a foreseal_getFlashblocks."),
    _core_limit(
        "flashblock_bytes",
        Whole(unit="bytes"),
        "Bytes of flashblocks that end the answer of one.",
        "One flashblock at least is given.",
    ),
    _core_limit(
        "call_gas", Whole(_LEAST_GAS, unit="gas"), "Most gas of one eth_call, estimate or access list.", "-32005."
    ),
    _core_limit("call_time", Duration(), "Longest time of one eth_call or trace.", "-32005."),
    _core_limit(
        "simulate_gas", Whole(_LEAST_GAS, unit="gas"), "Most gas of one eth_simulateV1, all calls together.", "-38026."
    ),
    _core_limit("trace_bytes", Whole(unit="bytes"), "Largest answer of traces.", "-32005."),
    _core_limit("slots", Whole(), "Most slots in one eth_getProof or eth_getStorageValues.", "-32005."),
    _core_limit("pool_transactions", Whole(), "Most transactions in txpool_content and txpool_inspect.", "-32005."),
    _core_limit(
        "sync_time",
        Duration(),
        "Longest wait of eth_sendRawTransactionSync.",
        "Asked for more it waits the usual `2s`.",
    ),
)

# Help texts of public callers that differ from the general ones.
_OF_PUBLIC = {
    "calls": "Most long calls at once of all callers at which public ones get no more.",
    "connections": "Most WebSocket connections of public callers.",
    "filters": "Most filters of all callers at which public ones make way for each other.",
}
_LOWERED = {each.name for part in (PublicLimits, PublicCoreLimits) for each in fields(part)}


def _of_public(limit: Setting) -> Setting:
    """Return the row for public callers of a limit."""
    name = limit.key.partition(".")[2]
    return Setting(
        key=f"public.{name}",
        name=f"public_{limit.name}",
        kind=limit.kind,
        help=_OF_PUBLIC.get(name, limit.help),
        place=f"public_{limit.place}",
    )


PUBLIC = tuple(_of_public(limit) for limit in LIMITS if limit.key.partition(".")[2] in _LOWERED)
