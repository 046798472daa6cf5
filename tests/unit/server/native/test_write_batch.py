"""Short responses are sent together at the end of an iteration of the event loop, in order per connection."""

import asyncio
from collections.abc import Callable

import pytest

from bare_transport import BareTransport
from foreseal._core import MAX_BATCH, MAX_BATCHED_SIZE, BatchedTransport, WriteBatch


def with_connections(
    count: int, test: Callable[[list[BareTransport], list[BatchedTransport]], None]
) -> list[BareTransport]:
    """Run `test` in one iteration of the event loop over this many connections; return their transports."""

    async def run() -> list[BareTransport]:
        write_batch = WriteBatch(asyncio.get_running_loop())
        write_batch.alone = count == 1
        bare = [BareTransport() for _ in range(count)]
        test(bare, [BatchedTransport(one, write_batch) for one in bare])
        await asyncio.sleep(0)
        return bare

    return asyncio.run(run())


def test_responses_are_written_at_the_end_of_the_iteration() -> None:
    def answer(bare: list[BareTransport], connections: list[BatchedTransport]) -> None:
        for number, connection in enumerate(connections):
            connection.write_soon(b"%d" % number)
        assert [one.written for one in bare] == [b"", b"", b""]

    assert [one.written for one in with_connections(3, answer)] == [b"0", b"1", b"2"]


def test_many_responses_do_not_delay_each_other() -> None:
    def answer(bare: list[BareTransport], connections: list[BatchedTransport]) -> None:
        for connection in connections:
            connection.write_soon(b"a")
        assert [one.written for one in bare] == [b"a"] * MAX_BATCH + [b""] * 3

    assert [one.written for one in with_connections(MAX_BATCH + 3, answer)] == [b"a"] * (MAX_BATCH + 3)


def test_a_single_connection_is_not_delayed() -> None:
    def answer(bare: list[BareTransport], connections: list[BatchedTransport]) -> None:
        connections[0].write_soon(b"a")
        assert bare[0].written == b"a"

    with_connections(1, answer)


@pytest.mark.parametrize("length", [1, MAX_BATCHED_SIZE, MAX_BATCHED_SIZE + 1])
def test_later_response_is_written_later(length: int) -> None:
    def answer(bare: list[BareTransport], connections: list[BatchedTransport]) -> None:
        (first, second, third) = connections
        for connection in connections:
            connection.write_soon(b"a" * length)
        assert bare[0].written == (b"a" * length if length > MAX_BATCHED_SIZE else b"")
        first.write(b"b")
        second.writelines((b"b", b"c"))
        third.write_soon(b"b")
        assert [one.written[length:] for one in bare[:2]] == [b"b", b"bc"]

    assert [one.written[length:] for one in with_connections(3, answer)] == [b"b", b"bc", b"b"]


def test_responses_are_written_before_a_close_but_not_after() -> None:
    def end(bare: list[BareTransport], connections: list[BatchedTransport]) -> None:
        for connection in connections:
            connection.write_soon(b"a")
        closed, ended, aborted, _lost = connections
        closed.close()
        ended.write_eof()
        aborted.abort()
        bare[3].close()
        assert (bare[0].closed, bare[1].ended, bare[2].closed) == (True, True, True)

    assert [one.written for one in with_connections(4, end)] == [b"a", b"a", b"", b""]
