"""Bytes in flight and protocol work behind a trusted proxy count for the forwarded address."""

import asyncio

from websockets.frames import Frame, Opcode

from bare_transport import statuses_in
from foreseal.rpc import Limits
from foreseal.server.settings.access import AccessSettings
from foreseal.server.settings.public_limits import PublicLimits
from native_server import CHUNKED, HEAD, Wire, post, serving

from asgi_client import until

PROXY = "192.0.2.7"
BEHIND = AccessSettings(trusted_proxies=frozenset({f"{PROXY}/32"}))
ONE, OTHER = (b"X-Forwarded-For: 198.51.100.%d\r\n" % n for n in (1, 2))


def begun(lines: bytes, size: int = 100_000) -> bytes:
    """Return the head of a call with a body of this many bytes."""
    return HEAD + lines + b"Content-Length: %d\r\n\r\n" % size


def retry_after(wire: Wire) -> bytes:
    return wire.written.partition(b"retry-after: ")[2].partition(b"\r\n")[0]


async def test_forwarded_address_over_its_bytes_is_rejected_without_a_close() -> None:
    async with serving(limits=Limits(address_bytes=150_000), access=BEHIND) as served:
        lines = [served.connect(PROXY) for _ in range(4)]
        for http, _ in lines:
            http.data_received(begun(ONE) + b" " * 60_000)
        # The bodies of rejected requests are read to their end, which frees the connection for other clients.
        assert [statuses_in(wire.written) for _, wire in lines] == [[]] * 4
        assert served.listener.table.total_bytes == 120_000
        http, wire = lines[2]
        http.data_received(b" " * 40_000)
        assert (statuses_in(wire.written), retry_after(wire), wire.closed) == ([429], b"1", False)
        assert b"connection: close" not in wire.written
        http._pause.end()
        http.data_received(post("echo", lines=OTHER))
        await asyncio.sleep(0)
        assert statuses_in(wire.written) == [429, 200]
        assert served.listener.handler.refusals["bytes_in_flight"] == 2


async def test_other_forwarded_address_has_capacity() -> None:
    async with serving(limits=Limits(address_bytes=100_000), access=BEHIND) as served:
        greedy, _ = served.connect(PROXY)
        greedy.data_received(begun(ONE) + b" " * 90_000)
        honest, wire = served.connect(PROXY)
        honest.data_received(begun(OTHER, 95_000) + b" " * 90_000)
        assert honest.sender.bytes == greedy.sender.bytes == 90_000
        assert honest.account.bytes == 0
        honest.data_received(b" " * 5_000)
        await until(lambda: statuses_in(wire.written) == [200])


async def test_chunks_of_a_rejected_request_are_discarded_completely() -> None:
    async with serving(limits=Limits(address_bytes=100_000), access=BEHIND) as served:
        http, wire = served.connect(PROXY)
        http.data_received(CHUNKED.replace(b"\r\n\r\n", b"\r\n" + ONE + b"\r\n"))
        for _ in range(8):
            http.data_received(b"ea60\r\n" + b" " * 60_000 + b"\r\n")
            assert served.listener.table.total_bytes <= 100_000
        assert statuses_in(wire.written) == []
        http.data_received(b"0\r\n\r\n")
        assert (statuses_in(wire.written), wire.closed) == ([429], False)


async def test_a_discarded_body_may_not_exceed_the_largest_body() -> None:
    async with serving(limits=Limits(body=200_000, address_bytes=100_000), access=BEHIND) as served:
        http, wire = served.connect(PROXY)
        http.data_received(CHUNKED.replace(b"\r\n\r\n", b"\r\n" + ONE + b"\r\n"))
        for _ in range(4):
            http.data_received(b"ea60\r\n" + b" " * 60_000 + b"\r\n")
        assert statuses_in(wire.written) == [413]


async def test_a_slow_discarded_body_is_closed_like_any_other() -> None:
    async with serving(limits=Limits(address_bytes=50_000), access=BEHIND) as served:
        http, wire = served.connect(PROXY)
        http.data_received(begun(ONE) + b" " * 60_000)
        limits = served.listener.table.limits
        http.enforce_timeouts(served.listener.now + limits.body_time / 2, 600)
        assert statuses_in(wire.written) == []
        http.enforce_timeouts(served.listener.now + limits.body_time + 1, 600)
        assert statuses_in(wire.written) == [408]


async def test_response_over_the_limit_is_rejected_without_a_close() -> None:
    async with serving(limits=Limits(address_bytes=150_000), access=BEHIND) as served:
        unread, unread_wire = served.connect(PROXY)
        unread.data_received(post("large", 80_000, lines=ONE))
        unread_wire.unread = 80_000
        unread.pause_writing()
        assert unread.sender.bytes == 80_000
        http, wire = served.connect(PROXY)
        http.data_received(post("large", 80_000, lines=ONE))
        assert (statuses_in(wire.written), retry_after(wire), wire.closed) == ([429], b"1", False)
        http._pause.end()
        # Small bodies pass, and another address has its own limit.
        http.data_received(post("large", 1000, lines=ONE) + post("large", 80_000, lines=OTHER))
        await asyncio.sleep(0)
        assert statuses_in(wire.written) == [429, 200, 200]
        unread_wire.unread = 0
        unread.resume_writing()
        http.data_received(post("large", 80_000, lines=ONE))
        assert statuses_in(wire.written) == [429, 200, 200, 200]


async def test_bytes_sent_ahead_count_only_for_the_connection() -> None:
    async with serving(limits=Limits(address_bytes=60_000), access=BEHIND) as served:
        http, wire = served.connect(PROXY)
        served.node.hold = True
        http.data_received(post("slow", lines=ONE))
        http.data_received(begun(OTHER) + b" " * 50_000)
        ahead = len(begun(OTHER)) + 50_000
        assert (http.sender.bytes, http.account.bytes) == (0, ahead)
        served.node.hold = False
        served.node.release()
        for _ in range(10):
            await asyncio.sleep(0)
        assert statuses_in(wire.written) == [200]
        assert (http.sender.address, http.sender.bytes, http.account.bytes) == ("198.51.100.2", 50_000, 0)


async def test_largest_forwarded_address_loses_a_connection_at_the_total_limit() -> None:
    async with serving(limits=Limits(total_bytes=250_000), access=BEHIND) as served:
        greedy, honest = ([served.connect(PROXY) for _ in range(3)] for _ in range(2))
        for number, (http, _) in enumerate(honest):
            http.data_received(begun(b"X-Forwarded-For: 198.51.100.%d\r\n" % (50 + number)) + b" " * 40_000)
        for http, _ in greedy:
            http.data_received(begun(ONE) + b" " * 45_000)
        assert [wire.closed for _, wire in honest] == [False] * 3
        assert [statuses_in(wire.written) for _, wire in greedy].count([429]) + sum(
            wire.closed for _, wire in greedy
        ) == 1


async def test_unreadable_forwarded_address_is_limited_but_not_the_proxy() -> None:
    async with serving(access=BEHIND) as served:
        http, _ = served.connect(PROXY)
        http.data_received(begun(b"X-Forwarded-For: nobody\r\n") + b" ")
        assert (http.sender.address, http.sender.is_limited) == ("unknown", True)
        bare, _ = served.connect(PROXY)
        bare.data_received(begun(b"") + b" ")
        assert bare.sender is bare.account
        assert not bare.account.is_limited
        # Without a trusted proxy the header has no effect.
        direct, _ = served.connect("192.0.2.1")
        direct.data_received(begun(ONE) + b" ")
        assert direct.sender is direct.account
        assert direct.account.address == "192.0.2.1"


async def test_websockets_of_a_forwarded_address_share_its_bytes_in_flight() -> None:
    async with serving(limits=Limits(address_bytes=100_000), access=BEHIND) as served:
        one, _ = await served.websocket(PROXY, ONE)
        again, again_wire = await served.websocket(PROXY, ONE)
        other, other_wire = await served.websocket(PROXY, OTHER)
        half = Frame(Opcode.TEXT, b" " * 60_000, False).serialize(mask=True)
        for websocket in (one, other, again):
            websocket.data_received(half)
        assert one.sender is again.sender
        assert one.sender is not other.sender
        assert (again_wire.closed, other_wire.closed) == (True, False)


async def test_protocol_work_of_one_forwarded_address_does_not_delay_another() -> None:
    async with serving(public=True, public_limits=PublicLimits(address_work=1000), access=BEHIND) as served:
        hostile, hostile_wire = await served.websocket(PROXY, ONE)
        honest, honest_wire = await served.websocket(PROXY, OTHER)
        flood = Frame(Opcode.PING, b"").serialize(mask=True) * 100
        for _ in range(100):
            if not hostile_wire.reading:
                break
            hostile.data_received(flood)
            await asyncio.sleep(0)
        assert not hostile_wire.reading
        honest_wire.written = b""
        honest.data_received(Frame(Opcode.PING, b"x").serialize(mask=True))
        assert honest_wire.written == b"\x8a\x01x"
        assert honest_wire.reading


async def test_protocol_work_of_a_request_does_not_charge_another_client() -> None:
    async with serving(public=True, public_limits=PublicLimits(address_work=1000), access=BEHIND) as served:
        http, wire = served.connect(PROXY)
        body = b"".join(b"1\r\n%c\r\n" % byte for byte in post("echo").partition(b"\r\n\r\n")[2])
        http.data_received(
            CHUNKED.replace(b"\r\n\r\n", b"\r\n" + ONE + b"\r\n") + b"1\r\n \r\n" * 150 + body + b"0\r\n\r\n"
        )
        await until(lambda: statuses_in(wire.written) == [200])
        first, now = http.sender, served.listener.now
        http.data_received(post("echo", lines=OTHER))
        await until(lambda: statuses_in(wire.written) == [200, 200])
        assert [http._work.is_full(now), http.sender.work.is_full(now), first.work.is_full(now)] == [True, True, False]


async def test_accounts_of_forwarded_addresses_end_with_their_connections() -> None:
    async with serving(access=BEHIND) as served:
        table = served.listener.table
        http, _ = served.connect(PROXY)
        for number in range(5):
            http.data_received(post("echo", lines=b"X-Forwarded-For: 198.51.100.%d\r\n" % number))
        assert len(table._accounts) == 2
        http.connection_lost(None)
        assert not table._accounts


async def test_late_handshake_uses_the_account_of_its_address() -> None:
    async with serving(access=BEHIND) as served:
        websocket, _ = await served.websocket("192.0.2.1")
        assert served.listener.table.account(("192.0.2.1", 2), served.listener.now) is websocket.account
        forwarded, _ = await served.websocket(PROXY, ONE)
        assert served.listener.table.account(("198.51.100.1", 2), served.listener.now) is forwarded.sender
