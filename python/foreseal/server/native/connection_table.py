"""Open connections of a listener by address: their number, bytes in flight, and eviction order."""

from collections import Counter
from enum import Enum
from typing import Protocol

from foreseal.server.auth.callers import Peer, normalize_address
from foreseal.server.http.transport_limits import TransportLimits

NEVER = 0
"""Rank of a connection that is never evicted."""
IDLE, UNFINISHED = 1, 2
"""Ranks: between requests; within a request, or within a response that the client does not read."""

# Largest burst of an address, in seconds of its protocol work.
_BURST = 2
# Divisor of the address's work rate for one connection.
_CONNECTION_SHARE = 2
# Concurrent TLS handshakes of one address.
MAX_HANDSHAKES = 16
# Most connections evicted at once when the listener is full: one search makes room for many.
_EVICTED = 64
# Address of a proxy's clients whose forwarded address is invalid: all of them share one account.
_UNKNOWN = "unknown"


class ExceededLimit(Enum):
    """A limit of bytes in flight that a connection has exceeded."""

    CONNECTION = "connection_bytes"
    ADDRESS = "address_bytes"
    TOTAL = "total_bytes"


class WorkBucket:
    """Token bucket of protocol work.

    A unit is input that costs work without being a request: a control frame, a fragment, a chunk, a read that completes
    nothing. The bucket may be overdrawn: received input is processed, then reading pauses until the balance is zero.
    """

    __slots__ = ("_burst", "_left", "_rate", "_time")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._burst = self._left = rate * _BURST
        self._time = now

    def spend(self, units: int, now: float) -> float:
        """Spend units; return the seconds until the bucket is no longer overdrawn, 0 if it is not."""
        left = min(self._burst, self._left + (now - self._time) * self._rate) - units
        self._left, self._time = left, now
        return 0.0 if left >= 0 else -left / self._rate

    def is_full(self, now: float) -> bool:
        """Return True if the bucket is full."""
        return self._left + (now - self._time) * self._rate >= self._burst


class TrackedConnection(Protocol):
    """A connection in the table."""

    account: "AddressAccount"
    """Account of the address of the connection."""
    sender: "AddressAccount"
    """Account of the sender of its request: behind a trusted proxy the forwarded address, otherwise `account`."""
    in_flight: int
    """Bytes in flight that the table counts for it."""
    max_bytes: int
    """Most bytes in flight, by the tier of its newest caller."""
    request_bytes: int
    """Part of `in_flight` that belongs to the request of `sender` and its response."""
    since: float
    """Time since which it is in its state."""

    def rank(self) -> int:
        """Return `NEVER`, `IDLE` or `UNFINISHED`."""

    def abort(self) -> None:
        """Close it at once."""


class AddressAccount:
    """Connections and bytes in flight of one address."""

    __slots__ = ("address", "bytes", "connections", "forwarded", "handshakes", "is_limited", "work")

    def __init__(self, address: str, work: WorkBucket, *, is_limited: bool) -> None:
        self.address = address
        self.is_limited = is_limited
        """False for Unix sockets and for trusted proxies themselves: many callers share them."""
        self.connections: set[TrackedConnection] = set()
        self.forwarded: set[TrackedConnection] = set()
        """Connections of trusted proxies whose newest request it sent."""
        self.handshakes = 0
        self.bytes = 0
        self.work = work

    def spend(self, units: int, now: float) -> float:
        """Spend protocol work; return the seconds until the bucket is even again, 0 for an unlimited address."""
        return self.work.spend(units, now) if self.is_limited else 0.0


class ConnectionTable:
    """Open connections and their accounts. Used from the event loop's thread only."""

    def __init__(self, limits: TransportLimits, max_open: int, evicted: Counter[str]) -> None:
        """Create an empty table. `evicted` counts evicted connections by limit."""
        self.limits = limits
        self.count = 0
        """Number of connections, without those that are being evicted."""
        self.total_bytes = 0
        """Bytes in flight of all connections."""
        self._max_open = max_open
        self._evicted = evicted
        self._accounts: dict[str, AddressAccount] = {}

    def account(self, peer: Peer, now: float) -> AddressAccount:
        """Return the account of the address of a connection, or of the address that a proxy has forwarded."""
        address = "" if peer is None else normalize_address(peer[0]) or _UNKNOWN
        account = self._accounts.get(address)
        if account is None:
            is_limited = peer is not None and not self.limits.is_proxy(peer[0])
            account = AddressAccount(address, WorkBucket(self.limits.address_work, now), is_limited=is_limited)
            self._accounts[address] = account
        return account

    def connection_bucket(self, now: float) -> WorkBucket:
        """Return the bucket of a new connection."""
        return WorkBucket(self.limits.address_work / _CONNECTION_SHARE, now)

    def has_room(self, account: AddressAccount) -> bool:
        """Return True if an address may open another connection; an idle or slow one of its own may be evicted."""
        if account.is_limited and len(account.connections) + account.handshakes >= self.limits.address_connections:
            candidates = [connection for connection in account.connections if connection.rank()]
            if not candidates:
                return False
            candidates.sort(key=_order)
            for candidate in candidates[: max(1, self.limits.address_connections // 16)]:
                self._evict(candidate, "address_connections")
        return True

    def make_room(self) -> bool:
        """Evict idle and slow connections because the listener is full; return False if there is none."""
        candidates = [
            connection for account in self._accounts.values() for connection in account.connections if connection.rank()
        ]
        # Connections of the addresses with the most first.
        candidates.sort(key=lambda connection: (-len(connection.account.connections).bit_length(), *_order(connection)))
        for candidate in candidates[: max(1, min(_EVICTED, self._max_open // 16))]:
            self._evict(candidate, "open")
        return bool(candidates)

    def add(self, connection: TrackedConnection) -> None:
        """Track a connection."""
        account, sender = connection.account, connection.sender
        account.connections.add(connection)
        self.count += 1
        # A WebSocket takes over the accounts of its handshake, which may have been dropped with that.
        self._accounts[account.address] = account
        if sender is not account:
            sender.forwarded.add(connection)
            self._accounts[sender.address] = sender

    def assign(self, connection: TrackedConnection, sender: AddressAccount, now: float) -> None:
        """Account further requests on the connection of a proxy to the address that sent them."""
        former, account = connection.sender, connection.account
        if former is sender:
            return
        self.count_bytes(connection, connection.in_flight - connection.request_bytes)
        connection.sender = sender
        if sender is not account:
            sender.forwarded.add(connection)
        if former is not account:
            former.forwarded.discard(connection)
            self.drop_account(former, now)

    def remove(self, connection: TrackedConnection, now: float) -> None:
        """Stop tracking a connection."""
        self.count_bytes(connection, 0)
        self._discard(connection)
        self.drop_account(connection.account, now)
        self.drop_account(connection.sender, now)

    def drop_account(self, account: AddressAccount, now: float) -> None:
        """Drop the account of an address without connections whose bucket is full."""
        in_use = account.connections or account.forwarded or account.handshakes
        if not in_use and account.work.is_full(now) and self._accounts.get(account.address) is account:
            del self._accounts[account.address]

    def sweep(self, now: float) -> None:
        """Drop all accounts that are no longer needed."""
        for account in tuple(self._accounts.values()):
            self.drop_account(account, now)

    def count_bytes(self, connection: TrackedConnection, ahead: int, request: int = 0) -> ExceededLimit | None:
        """Set the bytes in flight of a connection; return the limit that it exceeds.

        `request` are those of the sender's request and of its response; `ahead` are all others.
        """
        more, more_of_sender = ahead + request - connection.in_flight, request - connection.request_bytes
        account, sender = connection.account, connection.sender
        connection.in_flight += more
        connection.request_bytes = request
        self.total_bytes += more
        sender.bytes += more_of_sender
        account.bytes += more - more_of_sender
        if more <= 0 and (more_of_sender <= 0 or sender is account):
            return None
        limits = self.limits
        if connection.in_flight > connection.max_bytes:
            return ExceededLimit.CONNECTION
        if sender.is_limited and sender.bytes > limits.address_bytes:
            return ExceededLimit.ADDRESS
        while self.total_bytes > limits.total_bytes:
            victim = self._largest()
            if victim is connection:
                return ExceededLimit.TOTAL
            self._evict(victim, "total_bytes")
        return None

    def has_room_for(self, connection: TrackedConnection, size: int) -> bool:
        """Return True if a response of this size may be queued, given the other bytes in flight of its sender."""
        sender = connection.sender
        others = sender.bytes - _bytes_for(connection, sender)
        return not sender.is_limited or not others or others + size <= self.limits.address_bytes

    def _largest(self) -> TrackedConnection:
        """Return the connection with the most bytes in flight, of the address with the most."""
        account = max(self._accounts.values(), key=lambda account: account.bytes)
        return max((*account.connections, *account.forwarded), key=lambda connection: _bytes_for(connection, account))

    def _evict(self, connection: TrackedConnection, limit: str) -> None:
        self._evicted[limit] += 1
        self.count_bytes(connection, 0)
        self._discard(connection)
        connection.abort()

    def _discard(self, connection: TrackedConnection) -> None:
        connections = connection.account.connections
        if connection in connections:
            connections.discard(connection)
            connection.sender.forwarded.discard(connection)
            self.count -= 1


def _bytes_for(connection: TrackedConnection, account: AddressAccount) -> int:
    """Return the bytes in flight of a connection that count for an address."""
    if connection.account is connection.sender:
        return connection.in_flight
    return connection.request_bytes if account is connection.sender else connection.in_flight - connection.request_bytes


def _order(connection: TrackedConnection) -> tuple[int, float]:
    """Return the eviction order of an address's connections: slow before idle ones, the oldest first."""
    return -connection.rank(), connection.since
