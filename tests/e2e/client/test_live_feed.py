"""The feed of real nodes: over HTTP and WebSocket, across a kill, in process, and on a chain that reverts."""

import asyncio
import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from foreseal.client import (
    AsyncClient,
    Backoff,
    Client,
    Cursor,
    CursorGone,
    Event,
    Flashblock,
    Options,
    RpcError,
    StepAdded,
    StepRemoved,
    TimedOut,
    calls,
)
from foreseal.ports import next_free_port
from foreseal.server import App, DevChain, Settings
from foreseal.testing import Chain
from live import DEV_ACCOUNTS, LiveNode, Rpc
from live.process import FAST, foreseal_command
from live.sending import Sender, signed

QUICK = Options(backoff=Backoff(0.01, 0.2), attempts=200, poll_interval=0.01)


def target(node: LiveNode, kind: str) -> str:
    return node.url.replace("http", kind)


def until(feed: Iterator[Event], hashes: set[str]) -> list[Event]:
    """Return events up to the one with the last of these transactions."""
    events = []
    while hashes:
        event = next(feed)
        events.append(event)
        hashes = hashes - {transaction.hash for transaction in event.flashblock.transactions}
    return events


def genesis(rpc: Rpc) -> Cursor:
    return Cursor(0, 0, rpc("eth_getBlockByNumber", "0x0", False)["hash"])


KINDS = pytest.mark.parametrize("kind", ["http", "ws"])


@KINDS
def test_every_step_has_its_added_transactions_and_logs(node: LiveNode, kind: str) -> None:
    sender = Sender(node.rpc, DEV_ACCOUNTS[0])
    with Client(target(node, kind), QUICK) as client, client.feed() as feed:
        feed.connect()
        begin = feed.cursor
        assert begin is not None
        sent = [sender.send(value=number) for number in range(3)]
        events = until(feed, set(sent))
        added = [event.flashblock for event in events]
        assert [each.hash for step in added for each in step.transactions] == sent
        assert [each.transaction_hash for step in added for each in step.receipts] == sent
        assert [step.parent for step in added] == [begin.hash, *(step.hash for step in added)][:-1]
        for step in added:
            assert client.get_block(step.cursor, full=True) is not None
            assert step.header.hash == step.hash
        # A later reader with that cursor gets the same events, over the other transport as well.
        with Client(node.url) as other:
            again = itertools.islice(other.feed(begin, follow=False), len(events))
            assert [event.flashblock for event in again] == added


@KINDS
def test_the_feed_from_genesis_yields_every_block(node: LiveNode, kind: str) -> None:
    with Client(target(node, kind), QUICK) as client, client.feed(genesis(node.rpc)) as feed:
        sealed = {}
        last = feed.cursor
        for event in feed:
            assert isinstance(event, StepAdded)
            if event.sealed is not None:
                assert last is not None
                sealed[event.sealed] = last.hash
            last = event.cursor
            if len(sealed) > 2:
                break
        assert list(sealed) == [0, 1, 2]
        for number, hash in sealed.items():
            block = client.get_block(number)
            assert block is not None
            assert block.hash == hash


def test_receipt_is_awaited_through_the_feed(node: LiveNode) -> None:
    account = DEV_ACCOUNTS[1]
    with Client(target(node, "ws")) as client:
        nonce = client.get_transaction_count(account.address, "pending")
        hash = client.send_raw_transaction(signed(account, nonce))
        receipt = client.wait_for_receipt(hash, 10)
        assert receipt.succeeded
        sealed = client.wait_for_receipt(hash, 10, sealed=True)
        assert client.block_number() >= sealed.block_number
        with pytest.raises(TimedOut, match=r"no receipt of 0xabab.* within 0\.3 s"):
            client.wait_for_receipt("0x" + "ab" * 32, 0.3)
        # Another connection sends a transaction during the wait.
        raw = signed(account, nonce + 1)

        async def main() -> None:
            async with AsyncClient(target(node, "ws")) as awaited:
                waiting = asyncio.create_task(awaited.wait_for_receipt(calls.transaction_hash(raw), 10))
                await asyncio.sleep(0)
                await awaited.send_raw_transaction(raw)
                assert (await waiting).succeeded

        asyncio.run(main())


@KINDS
async def test_error_response_without_an_id_fails_its_call(node: LiveNode, kind: str) -> None:
    batch = [calls.chain_id()] * 1001
    async with AsyncClient(target(node, kind), Options(timeout=30.0)) as client:
        with pytest.raises(RpcError, match="at most 1000"):
            await client.batch(batch)
    with Client(target(node, kind), Options(timeout=30.0)) as client, pytest.raises(RpcError, match="at most 1000"):
        client.batch(batch)


@KINDS
def test_feed_resumes_without_gaps_after_a_kill(tmp_path: Path, kind: str) -> None:
    command = [foreseal_command(), "dev", *FAST, "--datadir", str(tmp_path), "--port"]
    port = str(next_free_port())
    node = LiveNode([*command, port])
    # A busy machine's silence is no reason to connect once more.
    patient = dataclasses.replace(QUICK, heartbeat_timeout=60.0)
    try:
        with Client(target(node, kind), patient) as client, client.feed(genesis(node.rpc)) as feed:
            chain = [feed.cursor.hash if feed.cursor else ""]
            for _ in range(3):
                sender = Sender(node.rpc, DEV_ACCOUNTS[0])
                for event in until(feed, {sender.send()}):
                    assert isinstance(event, StepAdded)
                    assert event.flashblock.parent == chain[-1]
                    chain.append(event.flashblock.hash)
                node.kill()
                node = LiveNode([*command, port])
            sent = Sender(node.rpc, DEV_ACCOUNTS[0]).send()
            assert until(feed, {sent})[-1].flashblock.receipts[-1].transaction_hash == sent
            # Over HTTP the feed did not poll while the node was down.
            assert feed.connections == (4 if kind == "ws" else 1)
    finally:
        node.kill()


def test_a_chain_in_this_process_is_read_to_its_end() -> None:
    with Chain() as chain, Client(chain) as client:
        begin = client.get_flashblocks().cursor
        account = chain.accounts[0].signer()
        chain.automine = False
        client.send_raw_transaction(signed(account, 0, value=1))
        chain.step()
        snapshot = chain.snapshot()
        client.send_raw_transaction(signed(account, 1, value=2))
        chain.mine()
        events = list(client.feed(begin, follow=False))
        assert [event.flashblock.index for event in events if event.flashblock.transactions] == [1, 2]
        assert events[-1].cursor == client.get_flashblocks().cursor

        # Everything after the snapshot is reported as reorged, newest first.
        chain.revert(snapshot)
        undone = list(client.feed(events[-1].cursor, follow=False))
        assert all(isinstance(event, StepRemoved) for event in undone)
        assert [event.flashblock.hash for event in undone] == [event.flashblock.hash for event in events[:0:-1]]
        assert undone[-1].cursor == events[0].cursor == client.get_flashblocks().cursor

        with pytest.raises(CursorGone) as caught:
            list(client.feed(Cursor(1, 0, "0x" + "ab" * 32), follow=False))
        assert caught.value.oldest is not None
        assert list(client.feed(caught.value.oldest, follow=False))


async def test_an_application_in_this_process_is_followed(tmp_path: Path) -> None:
    app = App(Settings(datadir=tmp_path, dev=DevChain()))
    await app.startup()
    try:
        await app.wait_until_ready()
        async with AsyncClient(app, QUICK) as client, client.feed() as feed:
            await feed.connect()
            hash = await client.send_raw_transaction(signed(DEV_ACCOUNTS[0], 0))
            async for event in feed:
                if hash in [each.hash for each in event.flashblock.transactions]:
                    break
    finally:
        await app.shutdown()


@KINDS
def test_a_reorg_is_reported_in_reverse_order(kind: str, tmp_path: Path) -> None:
    node = LiveNode([foreseal_command(), "dev", "--port", "0", *FAST, "--datadir", str(tmp_path)])
    try:
        with Client(target(node, kind), QUICK) as client, client.feed(genesis(node.rpc)) as feed:
            sender = Sender(node.rpc, DEV_ACCOUNTS[0])
            chain: list[Event] = []
            for _ in range(3):
                chain += until(feed, {sender.send()})
                node.rpc("evm_mine")
            node.rpc("anvil_reorg", 2, [])
            marked = Sender(node.rpc, DEV_ACCOUNTS[1]).send()
            undone = 0
            for event in until(feed, {marked}):
                if isinstance(event, StepRemoved):
                    undone += 1
                    assert event.flashblock == _removed(chain.pop())
                else:
                    chain.append(event)
            assert undone >= 3
            for event in chain:
                place = client.get_block(event.cursor)
                assert place is not None
    finally:
        assert node.stop() == 0


def _removed(event: Event) -> Flashblock:
    """Return the step of an event in the form of its removal."""
    return dataclasses.replace(event.flashblock, removed=True)
