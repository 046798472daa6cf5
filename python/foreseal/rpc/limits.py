"""Limits of requests and connections."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of requests and connections; exceeding one is rejected with an error that names it."""

    body: int = 5 * 1024 * 1024
    """Largest request body, bytes (HTTP 413)."""
    batch: int = 1000
    """Most entries in one batch (-32005)."""
    depth: int = 64
    """Deepest nesting of JSON arrays and objects, the envelope included, at most 250 (-32005)."""
    values: int = 262_144
    """Most JSON values in one body, counted by its commas and brackets (-32005)."""
    response: int = 64 * 1024 * 1024
    """Largest result, bytes; the results of a batch share one such allowance (-32005)."""
    calls: int = 1024
    """Most calls waiting for or running on worker threads (HTTP 429)."""
    caller_calls: int | None = None
    """Most calls on worker threads for one caller (HTTP 429); None: as many as for all."""
    wait: int = 20_000
    """Longest time to receive a body, ms (HTTP 408)."""
    open: int = 16_384
    """Most connections of any kind that a process has open; others wait to be accepted."""
    connections: int = 512
    """Most WebSocket connections at once (HTTP 503 to the handshake)."""
    caller_connections: int | None = None
    """Most WebSocket connections of one caller (HTTP 429); None: as many as for all."""
    caller_filters: int | None = None
    """Most filters of one caller (-32005); None: as many as for all."""
    connection_calls: int = 16
    """Most calls of one connection on worker threads; reading pauses until one is answered."""
    subscriptions: int = 128
    """Most subscriptions of one connection (-32005)."""
    caller_subscriptions: int | None = None
    """Most subscriptions of all connections of one caller (-32005); None: no limit of its own."""
    outgoing_bytes: int = 16 * 1024 * 1024
    """Most bytes of notifications queued for one connection, and as many of answers (1013, or a lag)."""
    outgoing_frames: int = 16_384
    """Most frames of notifications queued for one connection, and as many of answers."""
    idle: int = 600_000
    """Longest time that a connection may be idle in both directions, ms."""
    head_time: int = 10_000
    """Longest time for the head of a request, and for a TLS handshake, ms (HTTP 408)."""
    body_rate: int = 512
    """Lowest rate of a body after its first seconds, bytes a second (HTTP 408); 0: none."""
    address_connections: int = 1024
    """Most connections of any kind of one address; idle and slow ones are closed for new ones."""
    address_work: int = 20_000
    """Units of protocol work a second for one address: control frames, fragments, chunks, reads that complete nothing.
    """
    connection_bytes: int = 96 * 1024 * 1024
    """Most bytes in flight of one connection: unfinished requests and responses that wait for the client (HTTP 429)."""
    address_bytes: int = 128 * 1024 * 1024
    """Most bytes in flight for all connections of one address."""
    total_bytes: int = 256 * 1024 * 1024
    """Most bytes in flight of a process; above it, the address with the most loses its largest connection."""
