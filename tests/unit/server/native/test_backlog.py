"""Input that waits for a later iteration of the event loop."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from foreseal.server.native.backlog import Backlog, Pause
from foreseal.server.native.connection_table import AddressAccount, WorkBucket
from native_server import Wire, post, serving

from access_doubles import KeyRing


class Clock:
    """A clock in seconds that tests advance."""

    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now


class Iterations:
    """A backlog on a double of the event loop; the test advances its time."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.soon: list[Callable[[], None]] = []
        self.backlog = Backlog(self.soon.append, self.clock)
        self.resumed: list[str] = []
        # Pauses in this test never use it.
        self.loop: Any = None

    def run(self) -> list[str]:
        """Run one iteration and return the names of resumed connections."""
        called, self.soon[:] = self.soon[:], []
        self.resumed = []
        for function in called:
            function()
        return self.resumed

    def wait(self, address: AddressAccount, name: str, seconds: float = 0.0) -> Pause:
        """Queue a connection whose resumed work takes some seconds."""

        def resume() -> None:
            self.resumed.append(name)
            self.clock.now += seconds

        pause = Pause(self.loop, resume)
        pause.wait(self.backlog, address)
        return pause


def account(address: str) -> AddressAccount:
    return AddressAccount(address, WorkBucket(1.0, 0.0), is_limited=True)


def test_iteration_over_its_time_budget_is_late() -> None:
    loop = Iterations()
    assert not loop.backlog.is_late()
    loop.clock.now += 0.003
    assert not loop.backlog.is_late()
    loop.clock.now += 0.002
    assert loop.backlog.is_late()
    loop.run()
    assert not loop.backlog.is_late(), "the next one begins"


def test_addresses_are_served_in_rotation() -> None:
    loop = Iterations()
    crowd, other = account("192.0.2.1"), account("192.0.2.2")
    for number in range(3):
        loop.wait(crowd, f"crowd {number}")
    loop.wait(other, "other")
    assert loop.backlog.is_late(), "nobody overtakes those that wait"
    assert loop.run() == ["crowd 0", "other", "crowd 1", "crowd 2"]
    assert not loop.backlog.is_late()


def test_iteration_resumes_as_many_connections_as_time_allows() -> None:
    loop = Iterations()
    for number in range(6):
        loop.wait(account(f"192.0.2.{number}"), str(number), 0.0015)
    assert [loop.run(), loop.run(), loop.run()] == [["0", "1", "2"], ["3", "4", "5"], []]


def test_closed_connection_is_not_resumed() -> None:
    loop = Iterations()
    pause = loop.wait(account("192.0.2.1"), "closed")
    pause.cancel()
    assert not pause.is_on
    assert loop.run() == []


def test_requeued_connection_is_served_once() -> None:
    loop = Iterations()
    address = account("192.0.2.1")
    pause = loop.wait(address, "twice")
    pause.cancel()
    pause.wait(loop.backlog, address)
    assert loop.run() == ["twice"]
    assert not loop.backlog.is_late()


async def test_key_holder_is_answered_before_a_crowd(tmp_path: Path) -> None:
    keyed = post("echo", lines=b"Authorization: Bearer %b\r\n" % KeyRing(tmp_path).add("shop").encode())

    def answered(wire: Wire) -> int:
        return wire.written.count(b"HTTP/1.1 200")

    async with serving(iteration=0.004, folder=tmp_path, public=True) as served:
        listener = served.listener
        shop, shop_wire = served.connect()
        shop.data_received(keyed)
        assert answered(shop_wire) == 1
        clock = Clock()
        listener.backlog = Backlog(listener.loop.call_soon, clock)
        crowd = [served.connect(f"198.51.100.{number}") for number in range(5)]
        # Responses are written at once.
        listener.write_batch.alone = True
        for http, _ in crowd:
            http.data_received(post("echo"))
            # Each one uses the whole time of an iteration.
            clock.now += 1.0
        shop.data_received(keyed)
        assert answered(shop_wire) == 2
        assert [answered(wire) for _, wire in crowd] == [1, 0, 0, 0, 0]
        assert [wire.reading for _, wire in crowd] == [True, False, False, False, False]
        await asyncio.sleep(0)
        assert [answered(wire) for _, wire in crowd] == [1] * 5
        assert all(wire.reading for _, wire in crowd)
