"""A process of one honest follower with a key: `python -m hostile.listener FACTS`.

It prints each message of the feed with the time of its arrival and, for a step, the time at which it was made. It has
its own process, so that the size of a step does not delay the calls of the other honest clients.
"""

import asyncio
import re
import sys
import time
from pathlib import Path

import orjson

from hostile.child_process import run_until_input_ends
from hostile.facts import Facts
from hostile.observer import ADDRESSES, Unexpected, report, tls_context
from hostile.wire import Connection, call, frame

CALLER = "keyed"
HEADS, FEED, LAGGED = "newHeads", "foreseal_feed", "foreseal_lagged"
_OPENING = 1024
"""Bytes of a message that identify it: the rest of a step is not parsed."""
_HEARTBEAT = b'"heartbeat":'
_TIME = re.compile(rb'"time":"(0x[0-9a-f]+)"')
_CLOSE, _PING, _PONG = 8, 9, 10


def event_of(kind: str, payload: bytes, at: float) -> dict[str, object]:
    """Return the event of a message: its kind, its arrival and, for a step, the time of production in ms."""
    opening = payload[:_OPENING]
    if b'"method":"foreseal_lagged"' in opening:
        return {"at": at, "event": LAGGED}
    event: dict[str, object] = {"at": at, "event": kind}
    if kind == FEED and _HEARTBEAT not in opening:
        match = _TIME.search(opening)
        # Later parts of a large step name only the step.
        event |= {"time": int(match[1], 16)} if match else {}
        event["bytes"] = len(payload)
    return event


class Listener:
    """A subscription whose messages are printed with their arrival times."""

    def __init__(self, facts: Facts, kind: str) -> None:
        self._facts = facts
        self._kind = kind

    async def run(self) -> None:
        """Listen until cancelled; reconnect after an end."""
        tls = tls_context(self._facts)
        while True:
            connection = None
            try:
                connection = await Connection.open(self._facts.port, ADDRESSES[CALLER], tls)
                await self._listen(connection)
            except (OSError, asyncio.IncompleteReadError, Unexpected, ValueError) as error:
                report(time.monotonic(), CALLER, "subscription", 0.0, f"{self._kind}: {error!r}"[:200])
                await asyncio.sleep(0.5)
            finally:
                if connection is not None:
                    connection.close()

    async def _listen(self, connection: Connection) -> None:
        status = await connection.upgrade(f"Authorization: Bearer {self._facts.keys[0]}")
        if status != 101:
            raise Unexpected(f"HTTP {status}")
        connection.send(frame(1, call("eth_subscribe", self._kind)))
        await connection.frame()
        while True:
            kind, payload = await connection.frame()
            if kind == _CLOSE:
                raise Unexpected(f"closed with {int.from_bytes(payload[:2])} {payload[2:].decode(errors='replace')}")
            if kind == _PING:
                connection.send(frame(_PONG, payload))
            else:
                print(orjson.dumps(event_of(self._kind, payload, time.monotonic())).decode(), flush=True)


async def listen(facts: Facts) -> None:
    """Run every subscription until cancelled."""
    async with asyncio.TaskGroup() as group:
        for kind in (HEADS, FEED):
            group.create_task(Listener(facts, kind).run())


def main() -> int:
    """Follow the node described by the facts file, until standard input ends."""
    run_until_input_ends(listen(Facts.load(Path(sys.argv[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
