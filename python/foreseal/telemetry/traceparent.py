"""W3C trace context: the header `traceparent`."""

import re
from typing import NamedTuple

_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_MAX_SIZE = 256
_SAMPLED = 1


class TraceParent(NamedTuple):
    """Trace and span of a caller."""

    trace_id: int
    span_id: int
    is_sampled: bool


def parse_traceparent(value: bytes | None) -> TraceParent | None:
    """Return the parent in a header; None without a valid one, which starts a new trace."""
    if value is None or len(value) > _MAX_SIZE:
        return None
    match = _FORM.fullmatch(value.strip())
    if match is None or match[1] == b"ff" or (match[1] == b"00" and match[5] is not None):
        return None
    trace_id, span_id = int(match[2], 16), int(match[3], 16)
    if not trace_id or not span_id:
        return None
    return TraceParent(trace_id, span_id, bool(int(match[4], 16) & _SAMPLED))
