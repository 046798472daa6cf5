"""The open connections of a listener by address: how many, how many bytes in flight, and which one to close first."""

from collections import Counter
from enum import Enum
from typing import Protocol

from foreseal.server.callers import Peer, network_of
from foreseal.server.transport_limits import TransportLimits

NEVER = 0
"""Rank of a connection that is not closed to make room."""
IDLE, UNFINISHED = 1, 2
"""Ranks: between requests; within a request, or a response that the client does not read."""

# Seconds of protocol work that an address may do at once.
_BURST = 2
# A connection gets this part of the work of its address.
_PART = 2
# TLS handshakes of one address at once.
MAX_HANDSHAKES = 16
# Closed at once where there is no more room: one search finds the room for many.
_EVICTED = 64
# Address of the clients of a proxy that forwards no address which can be read: all of them share one account.
_UNKNOWN = "unknown"


class Excess(Enum):
    """Limit of bytes in flight that a connection has exceeded."""

    CONNECTION = "connection_bytes"
    ADDRESS = "address_bytes"
    TOTAL = "total_bytes"


class WorkBucket:
    """Token bucket of protocol work.

    A unit is a piece of input that makes work without being a request: a control frame, a fragment, a chunk, a read
    that completes nothing. It may be overdrawn: what has arrived is processed, then nothing is read until it is even.
    """

    __slots__ = ("_burst", "_left", "_rate", "_time")

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._burst = self._left = rate * _BURST
        self._time = now

    def spend(self, units: int, now: float) -> float:
        """Spend units; return the seconds until the bucket is even again, 0 if it is."""
        left = min(self._burst, self._left + (now - self._time) * self._rate) - units
        self._left, self._time = left, now
        return 0.0 if left >= 0 else -left / self._rate

    def is_full(self, now: float) -> bool:
        """Return `True` if nothing that was spent is missing."""
        return self._left + (now - self._time) * self._rate >= self._burst


class Tracked(Protocol):
    """A connection in the table."""

    account: "AddressAccount"
    """Account of the address that it comes from."""
    sender: "AddressAccount"
    """Account of the address that sent its request: behind a trusted proxy the forwarded one, else `account`."""
    in_flight: int
    """Bytes in flight that the table counts for it."""
    request_bytes: int
    """Bytes among them that belong to the request of `sender` and its response."""
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
        """False for Unix sockets and for trusted proxies as such: many callers share them."""
        self.connections: set[Tracked] = set()
        self.forwarded: set[Tracked] = set()
        """Connections of trusted proxies whose newest request it sent."""
        self.handshakes = 0
        self.bytes = 0
        self.work = work

    def spend(self, units: int, now: float) -> float:
        """Spend protocol work; return the seconds until it is made good, 0 if it is or the address has no bound."""
        return self.work.spend(units, now) if self.is_limited else 0.0


class ConnectionTable:
    """Used from the event loop's thread only."""

    def __init__(self, limits: TransportLimits, max_open: int, evicted: Counter[str]) -> None:
        """`evicted` counts the connections that were closed to make room, by the limit."""
        self.limits = limits
        self.count = 0
        """Connections, without those that are being closed to make room."""
        self.total_bytes = 0
        """Bytes in flight of all connections."""
        self._max_open = max_open
        self._evicted = evicted
        self._accounts: dict[str, AddressAccount] = {}

    def account(self, peer: Peer, now: float) -> AddressAccount:
        """Return the account of the address that a connection comes from, or that a proxy has forwarded."""
        address = "" if peer is None else network_of(peer[0]) or _UNKNOWN
        found = self._accounts.get(address)
        if found is None:
            is_limited = peer is not None and not self.limits.is_proxy(peer[0])
            found = AddressAccount(address, WorkBucket(self.limits.address_work, now), is_limited=is_limited)
            self._accounts[address] = found
        return found

    def work_of_connection(self, now: float) -> WorkBucket:
        """Return the bucket of a new connection."""
        return WorkBucket(self.limits.address_work / _PART, now)

    def has_room(self, account: AddressAccount) -> bool:
        """Return `True` if one more connection of an address may open; an idle or slow one of it may make way."""
        if account.is_limited and len(account.connections) + account.handshakes >= self.limits.address_connections:
            candidates = [one for one in account.connections if one.rank()]
            if not candidates:
                return False
            candidates.sort(key=_order)
            for one in candidates[: max(1, self.limits.address_connections // 16)]:
                self._evict(one, "address_connections")
        return True

    def make_room(self) -> bool:
        """Close idle and slow connections where the listener is full; False if there is none."""
        candidates = [one for account in self._accounts.values() for one in account.connections if one.rank()]
        # Connections of the addresses with the most first.
        candidates.sort(key=lambda one: (-len(one.account.connections).bit_length(), *_order(one)))
        for one in candidates[: max(1, min(_EVICTED, self._max_open // 16))]:
            self._evict(one, "open")
        return bool(candidates)

    def add(self, connection: Tracked) -> None:
        """Track a connection."""
        account, sender = connection.account, connection.sender
        account.connections.add(connection)
        self.count += 1
        # A WebSocket takes over the accounts of its handshake, which may have been dropped with that.
        self._accounts[account.address] = account
        if sender is not account:
            sender.forwarded.add(connection)
            self._accounts[sender.address] = sender

    def assign(self, connection: Tracked, sender: AddressAccount, now: float) -> None:
        """Count what follows on the connection of a proxy for the address that sent it."""
        former, account = connection.sender, connection.account
        if former is sender:
            return
        self.count_bytes(connection, connection.in_flight - connection.request_bytes)
        connection.sender = sender
        if sender is not account:
            sender.forwarded.add(connection)
        if former is not account:
            former.forwarded.discard(connection)
            self.forget(former, now)

    def remove(self, connection: Tracked, now: float) -> None:
        """Stop tracking a connection."""
        self.count_bytes(connection, 0)
        self._discard(connection)
        self.forget(connection.account, now)
        self.forget(connection.sender, now)

    def forget(self, account: AddressAccount, now: float) -> None:
        """Drop the account of an address without connections whose bucket is full."""
        in_use = account.connections or account.forwarded or account.handshakes
        if not in_use and account.work.is_full(now) and self._accounts.get(account.address) is account:
            del self._accounts[account.address]

    def sweep(self, now: float) -> None:
        """Drop the accounts that are not needed any more."""
        for account in tuple(self._accounts.values()):
            self.forget(account, now)

    def count_bytes(self, connection: Tracked, ahead: int, request: int = 0) -> Excess | None:
        """Set the bytes in flight of a connection; return the limit that it exceeds.

        `request` are those of the request that its sender has sent, and of the response; `ahead` are others.
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
        if connection.in_flight > limits.connection_bytes:
            return Excess.CONNECTION
        if sender.is_limited and sender.bytes > limits.address_bytes:
            return Excess.ADDRESS
        while self.total_bytes > limits.total_bytes:
            victim = self._largest()
            if victim is connection:
                return Excess.TOTAL
            self._evict(victim, "total_bytes")
        return None

    def has_room_for(self, connection: Tracked, size: int) -> bool:
        """Return `True` if a response of this size may wait for the client, whose other bytes in flight count."""
        sender = connection.sender
        others = sender.bytes - _bytes_for(connection, sender)
        return not sender.is_limited or not others or others + size <= self.limits.address_bytes

    def _largest(self) -> Tracked:
        """Return the connection with the most bytes in flight, of the address with the most."""
        account = max(self._accounts.values(), key=lambda account: account.bytes)
        return max((*account.connections, *account.forwarded), key=lambda one: _bytes_for(one, account))

    def _evict(self, connection: Tracked, limit: str) -> None:
        self._evicted[limit] += 1
        self.count_bytes(connection, 0)
        self._discard(connection)
        connection.abort()

    def _discard(self, connection: Tracked) -> None:
        connections = connection.account.connections
        if connection in connections:
            connections.discard(connection)
            connection.sender.forwarded.discard(connection)
            self.count -= 1


def _bytes_for(connection: Tracked, account: AddressAccount) -> int:
    """Bytes in flight of a connection that count for an address."""
    if connection.account is connection.sender:
        return connection.in_flight
    return connection.request_bytes if account is connection.sender else connection.in_flight - connection.request_bytes


def _order(connection: Tracked) -> tuple[int, float]:
    """Order in which connections of one address make way: slow before idle ones, the oldest first."""
    return -connection.rank(), connection.since
