"""WebSocket: endless control frames, fragments, subscriptions and connections."""

import asyncio

from hostile import bytecode
from hostile.client import Client, discard
from hostile.patterns.execution import overridden
from hostile.patterns.registry import pattern
from hostile.wire import CLOSE, HANDSHAKE, PING, PONG, TEXT, Connection, call, frame

_SOCKETS = 16
"""Maximum WebSockets of a public caller."""
_BLOCK = 200
"""Frames per write."""
_CONTINUATION = 0
_BODY = call("eth_blockNumber")
_KINDS: tuple[object, ...] = (
    "newHeads", "newFlashblocks", "newPendingTransactions", ("logs", {}), ("pendingLogs", {}), "foreseal_feed",
    ("newPendingTransactions", True), ("newFlashblockTransactions", True),
)  # fmt: skip


@pattern("ping-flood", "pings of 125 bytes whose pongs are read")
async def ping_flood(client: Client) -> None:
    """Force one pong per frame."""
    await client.frames(frame(PING, b"p" * 125) * _BLOCK, read=True)


@pattern("ping-unread", "pings of 125 bytes whose pongs are never read (S2)")
async def ping_unread(client: Client) -> None:
    """Fill the pong buffer of one connection."""
    await client.frames(frame(PING, b"p" * 125) * _BLOCK)


@pattern("ping-many", "pings over 16 WebSockets an address, never read")
async def ping_many(client: Client) -> None:
    """Fill the pong buffers of many connections."""
    await client.frames(frame(PING, b"p" * 125) * _BLOCK, _SOCKETS)


@pattern("pong-flood", "pongs that answer nothing")
async def pong_flood(client: Client) -> None:
    """Force the parsing of ignored frames."""
    await client.frames(frame(PONG, b"p" * 125) * _BLOCK, 4, read=True)


@pattern("tiny-fragments", "a message in fragments of one byte without an end")
async def tiny_fragments(client: Client) -> None:
    """Force per-fragment memory overhead."""
    opening = frame(TEXT, b"{", final=False)
    await client.frames(frame(_CONTINUATION, b" ", final=False) * _BLOCK, 8, read=True, opening=opening)


@pattern("empty-fragments", "a message in empty fragments without an end")
async def empty_fragments(client: Client) -> None:
    """Use processor time without payload bytes."""
    opening = frame(TEXT, b"{", final=False)
    await client.frames(frame(_CONTINUATION, b"", final=False) * _BLOCK, 8, read=True, opening=opening)


@pattern("empty-frames", "empty messages")
async def empty_frames(client: Client) -> None:
    """Force one error per frame."""
    await client.frames(frame(TEXT, b"") * _BLOCK, 8, read=True)


@pattern("half-frames", "frames that announce 2 MB and trickle, 16 an address")
async def half_frames(client: Client) -> None:
    """Hold incomplete messages."""

    async def act(connection: Connection) -> None:
        connection.send(frame(TEXT, b" " * 2_000_000)[:-100])
        for _ in client.ticks():
            await connection.drain(b" ")
            await asyncio.sleep(1.0)

    await client.sockets(_SOCKETS, act)


@pattern("message-flood", "calls over WebSockets as fast as they are accepted, answers read")
async def message_flood(client: Client) -> None:
    """Force calls beyond the rate limit."""
    await client.frames(frame(TEXT, _BODY) * _BLOCK, 4, read=True)


@pattern("message-flood-unread", "calls over WebSockets whose answers are never read")
async def message_flood_unread(client: Client) -> None:
    """Fill response buffers."""
    await client.frames(frame(TEXT, _BODY) * _BLOCK, _SOCKETS)


@pattern("heavy-messages-unread", "log searches over WebSockets whose answers are never read")
async def heavy_messages_unread(client: Client) -> None:
    """Fill response buffers with large responses."""
    block = client.facts.logged_block
    await client.frames(frame(TEXT, call("eth_getLogs", {"fromBlock": block, "toBlock": block})) * 20, _SOCKETS)


@pattern("long-answers-unread", "calls that return megabytes over WebSockets that are never read")
async def long_answers_unread(client: Client) -> None:
    """Fill response queues."""
    body = overridden(bytecode.LONG_RESULT)
    await client.frames(frame(TEXT, body) * 8, _SOCKETS)


@pattern("log-channels", "a different log subscription for every WebSocket and number, all of which match")
async def log_channels(client: Client) -> None:
    """Force one log search and one serialization per subscription."""

    async def act(connection: Connection) -> None:
        for _ in range(32):
            topics = [["0x" + bytecode.TRANSFER_TOPIC.hex(), f"0x{client.draw.getrandbits(256):064x}"]]
            connection.send(frame(TEXT, call("eth_subscribe", "logs", {"topics": topics})))
        await discard(connection)

    await client.sockets(_SOCKETS, act)


@pattern("feed-read", "the feed from its beginning, over and over, read")
async def feed_read(client: Client) -> None:
    """Force page reads of the journal, parsed on the event loop."""

    async def act(connection: Connection) -> None:
        for _ in range(32):
            connection.send(frame(TEXT, call("eth_subscribe", "foreseal_feed", client.facts.cursor)))
        await asyncio.wait_for(discard(connection), 2.0)

    await client.sockets(_SOCKETS, act)


@pattern("subscribe-all-unread", "every subscription, 32 a connection, and no reading")
async def subscribe_all_unread(client: Client) -> None:
    """Fill notification queues."""

    async def act(connection: Connection) -> None:
        for turn in range(32):
            kind = _KINDS[turn % len(_KINDS)]
            connection.send(frame(TEXT, call("eth_subscribe", *(kind if isinstance(kind, tuple) else (kind,)))))
        connection.stop_reading()
        await asyncio.sleep(60)

    await client.sockets(_SOCKETS, act, buffer=4096)


@pattern("subscription-churn", "subscriptions begun and ended without pause")
async def subscription_churn(client: Client) -> None:
    """Force the creation and removal of subscriptions."""

    async def act(connection: Connection) -> None:
        for turn in client.ticks():
            kind = _KINDS[turn % len(_KINDS)]
            connection.send(frame(TEXT, call("eth_subscribe", *(kind if isinstance(kind, tuple) else (kind,)))))
            _, payload = await connection.frame()
            client.seen["answers"] += 1
            subscription = payload.partition(b'"result":"')[2].partition(b'"')[0].decode()
            if subscription:
                connection.send(frame(TEXT, call("eth_unsubscribe", subscription)))

    await client.sockets(_SOCKETS, act)


@pattern("subscription-terms", "log subscriptions of 1,000 addresses each")
async def subscription_terms(client: Client) -> None:
    """Force log matching with long address lists."""
    addresses = [f"0x{number:040x}" for number in range(1000)]
    body = call("eth_subscribe", "logs", {"address": addresses})

    async def act(connection: Connection) -> None:
        for _ in range(32):
            connection.send(frame(TEXT, body))
        await discard(connection)

    await client.sockets(_SOCKETS, act)


@pattern("feed-replay", "the feed from its beginning, over and over, never read")
async def feed_replay(client: Client) -> None:
    """Force reads of the journal."""

    async def act(connection: Connection) -> None:
        for _ in range(8):
            connection.send(frame(TEXT, call("eth_subscribe", "foreseal_feed", client.facts.cursor)))
        connection.stop_reading()
        await asyncio.sleep(2)

    await client.sockets(_SOCKETS, act, buffer=4096)


@pattern("many-sockets", "WebSockets without a message, as many as are accepted")
async def many_sockets(client: Client) -> None:
    """Occupy connections that other callers need."""

    async def act(connection: Connection) -> None:
        await discard(connection)

    await client.sockets(64, act)


@pattern("handshake-flood", "WebSocket handshakes, each followed by a reset")
async def handshake_flood(client: Client) -> None:
    """Force handshakes."""

    async def act(connection: Connection) -> None:
        client.seen["opened"] += 1

    await client.sockets(_SOCKETS, act, retry=0.0)


@pattern("bad-handshakes", "WebSocket handshakes that must be refused")
async def bad_handshakes(client: Client) -> None:
    """Force rejections of handshakes."""
    bad = HANDSHAKE.replace(b"Version: 13", b"Version: 99")

    async def act(connection: Connection) -> None:
        connection.send(bad)
        client.note(await asyncio.wait_for(connection.response(), 3.0))

    await client.lanes(_SOCKETS, act, retry=0.0)


@pattern("close-flood", "close frames on new WebSockets, with and without a code")
async def close_flood(client: Client) -> None:
    """Force closing handshakes."""

    async def act(connection: Connection) -> None:
        payload = client.draw.choice([b"", b"\x03\xe8", b"\x03\xe8" + b"r" * 123, b"\x03", b"\xff\xff"])
        connection.send(frame(CLOSE, payload) * 50)
        await asyncio.wait_for(discard(connection), 3.0)

    await client.sockets(_SOCKETS, act, retry=0.0)


@pattern("bad-frames", "unmasked frames, reserved bits, unknown opcodes")
async def bad_frames(client: Client) -> None:
    """Exercise error paths."""

    async def act(connection: Connection) -> None:
        bad = client.draw.choice(
            [b"\x81\x02{}", b"\xf1\x80" + bytes(4), b"\x83\x80" + bytes(4), b"\x89\xfe\x01\x00" + bytes(260)]
        )
        connection.send(bad)
        await asyncio.wait_for(discard(connection), 3.0)

    await client.sockets(_SOCKETS, act, retry=0.0)
