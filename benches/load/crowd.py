"""Many subscribers in one process, as cheap as Python allows: sockets, one epoll, and a check of each frame's step.

`python -m benches.load.crowd PORT COUNT PARAMS` subscribes COUNT connections to PARAMS (JSON, those of eth_subscribe),
prints `ready`, and listens until its standard input has a line with the number of messages to come in all. Once it
has them, or after 30 s, it prints the results as JSON.
"""

import argparse
import json
import select
import socket
import struct
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from benches.load.websocket import CLOSE, PING, PONG, TEXT, after_head, frame, opening, request

_READ = 1 << 20
_KEY, _HASH = b'"blockHash":"', 66
_OPENING_TIME = 10.0
# Maximum time for the last messages, and seconds between two checks for them.
_LAST_TIME, _LOOK = 30.0, 0.05
# Maximum unparsed bytes: above it the process parses although more data is readable.
_UNPARSED = 64 << 20


@dataclass
class Member:
    """One subscriber."""

    socket: socket.socket
    rest: bytes = b""
    arrived: list[tuple[float, bytes, int]] = field(default_factory=list)
    """Unix time, hash of a step, and the number of its messages that arrived at that time."""
    closed: str | None = None
    """Code and reason, if the server closed the connection."""

    def record(self, data: bytes, at: float) -> None:
        """Count the messages that arrived at this time."""
        data = self.rest + data if self.rest else data
        start, size = 0, len(data)
        while start + 2 <= size:
            length, body = data[start + 1], start + 2
            if length == 126:
                body += 2
                length = (data[start + 2] << 8 | data[start + 3]) if body <= size else 0
            elif length == 127:
                body += 8
                length = int.from_bytes(data[start + 2 : body])
            end = body + length
            if end > size or body > size:
                break
            if data[start] == 0x80 | TEXT:
                offset = data.find(_KEY, body, end) + len(_KEY)
                step = data[offset : offset + _HASH]
                if self.arrived and self.arrived[-1][:2] == (at, step):
                    self.arrived[-1] = (at, step, self.arrived[-1][2] + 1)
                else:
                    self.arrived.append((at, step, 1))
            else:
                self._control(data[start] & 0x0F, data[body:end])
            start = end
        self.rest = data[start:]

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.socket.send(frame(payload, PONG))
        elif opcode == CLOSE:
            code = struct.unpack(">H", payload[:2])[0] if len(payload) >= 2 else 1005
            self.closed = f"{code} {payload[2:].decode()}".strip()
        else:
            raise RuntimeError(f"a frame that is not expected: {opcode}")


def subscribe(port: int, params: list[object]) -> Member:
    """Return one open connection whose subscription is confirmed."""
    member = Member(socket.create_connection(("127.0.0.1", port), _OPENING_TIME))
    member.socket.sendall(opening(port))
    data = b""
    while (rest := after_head(data)) is None:
        data += _received(member.socket)
    member.socket.sendall(request("eth_subscribe", *params))
    while len(rest) < 2 or len(rest) < 2 + rest[1]:
        rest += _received(member.socket)
    end = 2 + rest[1]
    if b'"result"' not in rest[:end]:
        raise RuntimeError(f"eth_subscribe: {rest[2:end].decode()}")
    member.record(rest[end:], time.time())
    member.socket.setblocking(False)
    return member


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(_READ)
    if not data:
        raise RuntimeError("the server closed a connection that opens")
    return data


def listen(members: list[Member]) -> float:
    """Receive messages as told by standard input; return the share of time that this process was busy."""
    poll = select.epoll()
    by_number = {member.socket.fileno(): member for member in members}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    poll.register(sys.stdin.fileno(), select.EPOLLIN | select.EPOLLHUP)
    began, busy_before = time.perf_counter(), time.process_time()
    unparsed: list[tuple[Member, bytes, float]] = []
    size, expected, end = 0, -1, 0.0
    # Available data is read first, for exact arrival times; it is parsed when no more is available.
    while unparsed or expected < 0 or (_arrived(members) < expected and time.perf_counter() < end):
        for number, _ in poll.poll(0 if unparsed else -1 if expected < 0 else _LOOK):
            member = by_number.get(number)
            if member is None:
                poll.unregister(number)
                expected, end = int(sys.stdin.readline() or 0), time.perf_counter() + _LAST_TIME
                continue
            try:
                data = member.socket.recv(_READ)
            except ConnectionResetError:
                data = b""
            if not data:
                poll.unregister(number)
                member.closed = member.closed or "reset"
                continue
            unparsed.append((member, data, time.time()))
            size += len(data)
        else:
            if size and (size > _UNPARSED or not poll.poll(0)):
                for taken in unparsed:
                    taken[0].record(*taken[1:])
                unparsed, size = [], 0
    return (time.process_time() - busy_before) / (time.perf_counter() - began)


def _arrived(members: list[Member]) -> int:
    return sum(count for member in members for _, _, count in member.arrived)


def limit(seconds: float = 0.5) -> float:
    """Return the notifications per second that one subscriber of this process can handle, the measurement's limit."""
    here, there = socket.socketpair()
    member = Member(here)
    text = (
        b'{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":{"blockHash":"0x%b"'
        % (b"0" * 64)
    )
    message = struct.pack(">BBH", 0x80 | TEXT, 126, 600) + text.ljust(600, b"0")
    burst = message * 50
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < seconds:
        there.sendall(burst)
        member.record(here.recv(_READ), time.time())
        count += 50
    here.close()
    there.close()
    return count / (time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("params", type=json.loads)
    given = parser.parse_args()
    most = limit()
    members = [subscribe(given.port, given.params) for _ in range(given.count)]
    print("ready", flush=True)
    busy = listen(members)
    report = {
        "busy": busy,
        "limit_per_second": round(most),
        "closed": dict(Counter(member.closed for member in members if member.closed)),
        # For each member: arrival time, step and count.
        "arrived": [[(at, step.decode(), count) for at, step, count in member.arrived] for member in members],
        "open": [member.closed is None for member in members],
    }
    json.dump(report, sys.stdout)


if __name__ == "__main__":
    main()
