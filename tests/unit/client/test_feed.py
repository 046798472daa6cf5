"""The feed against a scripted node: every step once and in order, despite failing connections and reorgs."""

from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.scripted import EndOfScript, ScriptedNode, ScriptedTransport, Step, options
from foreseal.client import (
    ConnectionLost,
    Cursor,
    CursorGone,
    Event,
    FeedBroken,
    InvalidResponse,
    RpcError,
    StepAdded,
    StepRemoved,
    TimedOut,
)
from foreseal.client.feed import Feed
from foreseal.client.flashblock_parts import FlashblockAssembler
from foreseal.client.sans_io import run
from foreseal.client.session import ClientSession

Action = Callable[[ScriptedNode], Any]

add, seal, beat, lag = ScriptedNode.add, partial(ScriptedNode.add, seal=True), ScriptedNode.beat, ScriptedNode.lag


def undo(count: int) -> Action:
    return lambda node: node.undo(count)


def cut(after: int = 0) -> Action:
    return lambda node: node.cut(after)


def setting(**values: Any) -> Action:
    """Return an action that sets attributes of the node."""
    return lambda node: [setattr(node, name, value) for name, value in values.items()]


def silence(seconds: float) -> Action:
    def pass_time(node: ScriptedNode) -> None:
        node.time += seconds

    return pass_time


def restart(refusals: int = 2, starting: int = 2) -> Action:
    """Return an action that breaks all connections; the node is down for a while, then starting."""

    def down(node: ScriptedNode) -> None:
        node.cut()
        node.refusing, node.starting = refusals, starting

    return down


STREAMS = pytest.mark.parametrize("streams", [True, False], ids=["pushed", "polled"])


class Reader:
    """Follows a node, and maintains the chain according to the events."""

    def __init__(self, node: ScriptedNode, streams: bool, cursor: Cursor | None = None, **changes: Any) -> None:
        self.node = node
        self.streams = streams
        self.changes = changes
        self.events: list[Event] = []
        self.chain = hashes(node.chain)
        """Hashes of the chain according to the events."""
        while cursor is not None and self.chain[-1] != cursor.hash:
            self.chain.pop()
        self.feed = self._open(cursor)

    def _open(self, cursor: Cursor | None) -> Feed:
        transport = ScriptedTransport(self.node, self.streams)
        return Feed(ClientSession(transport, options(self.node, **self.changes)), cursor)

    def reopen(self) -> None:
        """Restart like a process from its saved cursor."""
        self.feed.abandon()
        saved = self.events[-1].cursor if self.events else self.feed.cursor
        self.feed = self._open(None if saved is None else Cursor.read(saved.to_json()))

    def read(self) -> "Reader":
        """Read until the script is over."""
        try:
            while True:
                self.next_event()
        except EndOfScript:
            return self

    def next_event(self) -> Event:
        event = run(self.feed.next())
        assert event is not None
        self.events.append(event)
        flashblock = event.flashblock
        if isinstance(event, StepRemoved):
            assert self.chain.pop() == flashblock.hash
            assert event.cursor.hash == flashblock.parent
        else:
            assert self.chain[-1] == flashblock.parent
            self.chain.append(flashblock.hash)
            assert event.cursor == flashblock.cursor
        assert event.cursor.to_json() == self.node.every[event.cursor.hash].cursor
        return event

    @property
    def received(self) -> list[str]:
        """Return the steps in the order of the events, reorged ones with a minus."""
        return [("-" if isinstance(event, StepRemoved) else "") + event.flashblock.hash for event in self.events]


def hashes(steps: list[Step]) -> list[str]:
    return [step["hash"] for step in steps]


@STREAMS
def test_steps_come_once_and_in_order(streams: bool) -> None:
    node = ScriptedNode([add, beat, seal, add, beat, seal])
    reader = Reader(node, streams).read()
    assert reader.received == hashes(node.chain)[1:]
    assert [event.sealed for event in reader.events if isinstance(event, StepAdded)] == [None, 0, None, 1]


@STREAMS
def test_late_start_delivers_no_earlier_step_and_misses_none(streams: bool) -> None:
    node = ScriptedNode([add])
    node.add()
    node.refusing = 1
    reader = Reader(node, streams)
    run(reader.feed.connect())
    # A step was made before the second attempt, which fixed the start.
    begin = node.chain[2]
    assert reader.feed.cursor == Cursor.read(begin.cursor)
    reader.chain.append(begin["hash"])
    after = node.add()
    assert reader.next_event().flashblock.hash == after["hash"]


@STREAMS
def test_feed_resumes_from_a_cursor(streams: bool) -> None:
    node = ScriptedNode()
    steps = [node.add(seal=index % 3 == 0) for index in range(10)]
    reader = Reader(node, streams, Cursor.read(steps[4].cursor)).read()
    assert reader.received == hashes(steps[5:])


@pytest.mark.parametrize("after", range(8))
def test_broken_connection_loses_no_step(after: int) -> None:
    # The response to the subscription and six steps: the connection breaks before, between and after them.
    node = ScriptedNode([lambda node: [node.add() for _ in range(6)], add])
    node.add()
    reader = Reader(node, True, Cursor.read(node.chain[0].cursor))
    node.script.appendleft(cut())
    node.script.insert(2, cut(after))
    reader.read()
    assert reader.received == hashes(node.chain)[1:]
    assert reader.feed.connections >= 2


@STREAMS
def test_restarted_node_loses_no_step(streams: bool) -> None:
    node = ScriptedNode([add, restart(5, 4), *[add] * 12, seal, add])
    reader = Reader(node, streams).read()
    assert reader.received == hashes(node.chain)[1:]
    assert reader.feed.connections == 2


@STREAMS
def test_steps_revoked_during_a_disconnect_are_reported(streams: bool) -> None:
    node = ScriptedNode([add, seal, add, lambda node: [restart(2, 0)(node), node.undo(2), node.add(), node.add()]])
    node.script.extend([beat] * 5)
    reader = Reader(node, streams)
    before = [reader.next_event().flashblock.hash for _ in range(3)]
    reader.read()
    assert reader.received == [*before, "-" + before[2], "-" + before[1], *hashes(node.chain)[-2:]]
    assert reader.chain == hashes(node.chain)


@STREAMS
def test_feed_resumes_from_a_cursor_between_revoked_steps(streams: bool) -> None:
    # The reorged step is the first of its block and the first that this reader saw: only the node has the index of the
    # step before.
    node = ScriptedNode()
    node.add()
    first = node.add(seal=True)
    node.add()
    reader = Reader(node, streams, Cursor.read(first.cursor))
    reader.next_event()
    node.undo(3)
    node.add()
    assert [reader.next_event().flashblock.removed for _ in range(2)] == [True, True]
    reader.reopen()
    node.script.extend([beat, beat])
    reader.read()
    assert [isinstance(event, StepRemoved) for event in reader.events] == [False, True, True, True, False]


def test_missed_steps_are_read_before_later_ones() -> None:
    node = ScriptedNode([add, lambda node: [node.add(), node.lag(), node.add(), node.add(seal=True)], add, beat])
    reader = Reader(node, True).read()
    assert reader.received == hashes(node.chain)[1:]
    assert (reader.feed.lags, reader.feed.connections) == (1, 1)


def test_silence_causes_a_reconnect() -> None:
    node = ScriptedNode([add, silence(4.9), beat, silence(5), add, beat])
    reader = Reader(node, True).read()
    assert reader.feed.connections == 2
    assert reader.received == hashes(node.chain)[1:]


def test_heartbeats_alone_keep_the_connection_open() -> None:
    node = ScriptedNode([step for _ in range(20) for step in (silence(4), beat)])
    assert Reader(node, True).read().feed.connections == 1


def test_lost_response_is_requested_again_and_delivered_once() -> None:
    node = ScriptedNode([setting(losing=2), add, add, add, add])
    reader = Reader(node, False).read()
    assert reader.received == hashes(node.chain)[1:]


def test_response_with_another_id_is_ignored() -> None:
    node = ScriptedNode([add, add, add, add, add])
    reader = Reader(node, False)
    reader.next_event()
    page = node._result("foreseal_getFlashblocks", [None, "0x1"])
    node.late = orjson.dumps({"jsonrpc": "2.0", "id": 1, "result": page})
    reader.read()
    assert reader.received == hashes(node.chain)[1:]


def push(change: Callable[[ScriptedNode], dict[str, Any]]) -> Action:
    """Return an action that sends a message that does not match the chain."""
    return lambda node: [link.push(change(node)) for link in node.links]


@pytest.mark.parametrize(
    "wrong",
    [
        lambda node: node.chain[-1],
        lambda node: node.chain[1],
        lambda node: node.chain[1].undone(),
        lambda node: {"heartbeat": node.chain[1].cursor},
    ],
    ids=["the same again", "an old one", "an old one undone", "a heartbeat elsewhere"],
)
def test_non_consecutive_step_is_an_error_and_the_feed_resumes(wrong: Callable[[ScriptedNode], Any]) -> None:
    node = ScriptedNode([add, add, add, push(wrong), add])
    reader = Reader(node, True)
    with pytest.raises(FeedBroken, match=r"step 0\.\d \(0x0"):
        reader.read()
    assert reader.received == hashes(node.chain)[1:4]
    reader.read()
    assert reader.received == hashes(node.chain)[1:]


def test_skipped_step_error_names_both_positions() -> None:
    node = ScriptedNode([add])
    reader = Reader(node, True)
    reader.next_event()
    before = node.chain[-1]
    links, node.links = node.links, []
    lost = node.add()
    node.links = links
    node.add()
    with pytest.raises(FeedBroken) as caught:
        reader.next_event()
    assert lost["hash"] in str(caught.value)
    assert before["hash"] in str(caught.value)
    assert [reader.next_event().flashblock.hash for _ in range(2)] == hashes(node.chain)[-2:]


@STREAMS
def test_expired_cursor_error_names_the_oldest(streams: bool) -> None:
    node = ScriptedNode()
    steps = [node.add() for _ in range(5)]
    node.oldest = 3
    reader = Reader(node, streams, Cursor.read(steps[0].cursor))
    with pytest.raises(CursorGone) as caught:
        reader.next_event()
    assert caught.value.oldest == Cursor.read(node.chain[3].cursor)


@STREAMS
def test_unreachable_node_is_an_error(streams: bool) -> None:
    node = ScriptedNode([beat] * 9)
    node.refusing = 100
    with pytest.raises(ConnectionLost, match="refused"):
        run(Reader(node, streams).feed.next())
    assert node.refusing == 97


@STREAMS
def test_starting_node_is_waited_for(streams: bool) -> None:
    node = ScriptedNode([beat] * 20)
    node.starting = 10
    reader = Reader(node, streams, Cursor.read(node.chain[0].cursor))
    added = node.add()
    assert reader.next_event().flashblock.hash == added["hash"]


@STREAMS
def test_reconnect_timeout_raises_connection_lost(streams: bool) -> None:
    node = ScriptedNode([add, restart(10_000), *[beat] * 1000])
    reader = Reader(node, streams, reconnect_timeout=30.0)
    reader.next_event()
    with pytest.raises(ConnectionLost):
        reader.next_event()
    assert 30 <= node.time < 40


def test_retry_delay_doubles_up_to_a_limit() -> None:
    waits: list[float] = []
    node = ScriptedNode([add, restart(9, 0), *[lambda node: waits.append(node.time)] * 9, add])
    reader = Reader(node, True)
    reader.next_event()
    begun = node.time
    reader.next_event()
    steps = [later - earlier for earlier, later in zip([begun, *waits], waits, strict=False)]
    assert steps == pytest.approx([0.75 * min(0.05 * 2**failure, 5.0) for failure in range(9)])


def test_other_errors_are_raised_to_the_reader() -> None:
    class Strange(ScriptedNode):
        def _result(self, method: str, params: list[Any]) -> Any:
            return {"flashblocks": "many"} if params[0] else super()._result(method, params)

    with pytest.raises(InvalidResponse, match="not a page"):
        run(Reader(Strange(), False).feed.next())

    class Refusing(ScriptedNode):
        def answer(self, request: dict[str, Any]) -> bytes:
            failure = {"code": -32602, "message": "cursor: wrong"}
            return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": failure})

    with pytest.raises(RpcError, match="cursor: wrong"):
        run(Reader(Refusing(), True).feed.next())


@STREAMS
def test_deadline_ends_the_wait_but_not_the_feed(streams: bool) -> None:
    node = ScriptedNode([silence(1.0)] * 8)
    reader = Reader(node, streams)
    reader.feed.deadline = 3.0
    with pytest.raises(TimedOut):
        reader.next_event()
    assert node.time <= 4
    reader.feed.deadline = None
    node.add()
    assert reader.next_event().flashblock.hash == node.chain[-1]["hash"]


def test_feed_without_follow_ends_at_the_newest_step() -> None:
    node = ScriptedNode()
    steps = [node.add() for _ in range(5)]
    for streams in (True, False):
        session = ClientSession(ScriptedTransport(node, streams), options(node, page_size=2))
        feed = Feed(session, Cursor.read(steps[0].cursor), follow=False)
        events: Iterator[Any] = iter(lambda: run(feed.next()), None)  # noqa: B023
        assert [event.flashblock.hash for event in events] == hashes(steps[1:])
    assert node.dials == 0


ACTIONS = st.one_of(
    st.just(add),
    st.just(seal),
    st.just(beat),
    st.just(lag),
    st.just("reopen"),
    st.integers(1, 6).map(undo),
    st.integers(0, 9).map(cut),
    st.floats(0, 8).map(silence),
    st.integers(0, 3).map(lambda count: setting(losing=count)),
    st.tuples(st.integers(0, 4), st.integers(0, 3)).map(lambda counts: restart(*counts)),
    st.lists(st.one_of(st.just(add), st.just(seal), st.integers(1, 4).map(undo), st.just(lag)), max_size=8).map(
        lambda parts: lambda node: [part(node) for part in parts]
    ),
)


class Reopen(BaseException):
    """The reader's process ends here."""


def end_reader(node: ScriptedNode) -> None:
    raise Reopen


@given(script=st.lists(ACTIONS, max_size=60), before=st.lists(st.booleans(), max_size=8), streams=st.booleans())
def test_random_script_yields_the_chain_of_the_node(script: list[Any], before: list[bool], streams: bool) -> None:
    node = ScriptedNode()
    for sealing in before:
        node.add(sealing)
    reader = Reader(node, streams, Cursor.read(node.chain[0].cursor), page_size=3, attempts=20)
    actions: list[Action] = [end_reader if each == "reopen" else each for each in script]
    node.script.extend([*actions, setting(refusing=0, starting=0, losing=0), *[beat] * 40])
    while True:
        try:
            reader.read()
            break
        except Reopen:
            reader.reopen()
    assert reader.chain == hashes(node.chain)


def test_revoked_and_rebuilt_identical_step_is_not_reported() -> None:
    node = ScriptedNode()
    node.add()
    first = node.add(seal=True)
    node.script.extend([lambda node: [node.undo(1), node.again(first)], add, beat])
    reader = Reader(node, True, Cursor.read(first.cursor)).read()
    # The step before the removal could no longer be queried, so the feed resumed from its cursor.
    assert reader.received == hashes(node.chain)[3:]
    assert reader.feed.connections == 2


def test_positions_beyond_the_remembered_cursors_are_requested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foreseal.client.feed._MAX_CURSORS", 3)
    node = ScriptedNode([*[seal, add, add] * 4, undo(12), beat])
    reader = Reader(node, True).read()
    assert len(reader.events) == 24
    assert reader.feed.cursor == Cursor.read(node.chain[0].cursor)
    # One for the start, and one for each block whose last step was dropped.
    assert node.asked.count("foreseal_getFlashblocks") > 3


def raw(message: Any) -> Action:
    """Return an action that sends a message unchanged."""
    return lambda node: [link._queue.append(orjson.dumps(message)) for link in node.links]


def test_unrelated_messages_are_ignored() -> None:
    other = {"jsonrpc": "2.0", "method": "eth_subscription", "params": {"subscription": "0xother", "result": {}}}
    strange = {"jsonrpc": "2.0", "method": "later_invention", "params": [1]}
    node = ScriptedNode([raw(other), raw(strange), raw({"jsonrpc": "2.0", "id": 77, "result": True}), add])
    reader = Reader(node, True).read()
    assert reader.received == hashes(node.chain)[1:]
    assert reader.feed.connections == 1


@pytest.mark.parametrize("message", [5, {"jsonrpc": "2.0", "method": "eth_subscription", "params": {"result": 5}}])
def test_invalid_messages_are_an_error(message: Any) -> None:
    def send(node: ScriptedNode) -> None:
        for link in node.links:
            said = {**message, "params": {**message["params"], "subscription": link._ident}} if message != 5 else 5
            link._queue.append(orjson.dumps(said))

    node = ScriptedNode([send, push(lambda _: {"heartbeat": {"block": "0x1"}}), add])
    reader = Reader(node, True)
    for says in ("a message of the feed", "not a cursor"):
        with pytest.raises(InvalidResponse, match=says):
            reader.next_event()
    reader.read()
    assert reader.received == hashes(node.chain)[1:]


def test_rejected_connection_is_retried() -> None:
    refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32005, "message": "too many connections"}}
    node = ScriptedNode([raw(refusal), add, add])
    reader = Reader(node, True).read()
    assert reader.received == hashes(node.chain)[1:]
    assert reader.feed.connections == 2


def test_a_missing_oldest_cursor_is_none() -> None:
    class Terse(ScriptedNode):
        def answer(self, request: dict[str, Any]) -> bytes:
            failure = {"code": -32001, "message": "gone"}
            return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": failure})

    with pytest.raises(CursorGone, match="gone") as caught:
        run(Reader(Terse(), False).feed.next())
    assert caught.value.oldest is None


@STREAMS
def test_view_lost_during_a_read_keeps_the_cursor(streams: bool) -> None:
    class Unwinding(ScriptedNode):
        failures_left = 2

        def answer(self, request: dict[str, Any]) -> bytes:
            if not self.failures_left:
                return super().answer(request)
            self.failures_left -= 1
            failure = {"code": -32001, "message": "view no longer available"}
            return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": failure})

    node = Unwinding([beat] * 5)
    added = node.add()
    assert Reader(node, streams, Cursor.read(node.chain[0].cursor)).next_event().flashblock.hash == added["hash"]


def test_connecting_has_a_deadline() -> None:
    node = ScriptedNode([beat] * 50)
    reader = Reader(node, True)
    node.starting, reader.feed.deadline = 1000, 0.5
    with pytest.raises(TimedOut):
        run(reader.feed.connect())
    assert node.time < 1


@STREAMS
def test_step_in_parts_is_one_event(streams: bool) -> None:
    def large(node: ScriptedNode) -> None:
        node.parts[f"0x{4:064x}"] = 5
        node.add()

    node = ScriptedNode([add, add, large, add, lambda node: node.undo(2), add, add])
    reader = Reader(node, streams, page_size=2).read()
    assert reader.chain == hashes(node.chain)
    assert reader.received.count(f"0x{4:064x}") == reader.received.count(f"-0x{4:064x}") == 1
    assert reader.feed.connections == 1


@STREAMS
def test_cut_connection_drops_the_parts_of_a_step(streams: bool) -> None:
    def large(node: ScriptedNode) -> None:
        node.parts[f"0x{3:064x}"] = 5
        node.add()
        node.cut(2)

    node = ScriptedNode([add, large, add, add])
    reader = Reader(node, streams).read()
    assert reader.received == hashes(node.chain)[1:]


@STREAMS
def test_feed_that_fails_repeatedly_at_a_cursor_requests_one_part(
    streams: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def large(node: ScriptedNode) -> None:
        step = f"0x{3:064x}"
        node.parts[step] = 3
        node.unreadable.add(step)
        node.add()

    node = ScriptedNode([add, large, add, add])
    reader = Reader(node, streams).read()
    assert reader.received == hashes(node.chain)[1:]
    assert "requests one part at a time" in caplog.text


def test_reorg_to_a_cursor_of_earlier_failures_arrives_once() -> None:
    step = f"0x{3:064x}"

    def large(node: ScriptedNode) -> None:
        node.unreadable.add(step)
        node.add()

    node = ScriptedNode([add, large, add, lambda node: node.unreadable.clear(), undo(3), add])
    reader = Reader(node, True).read()
    assert reader.received.count(f"-{step}") == 1
    assert reader.chain == hashes(node.chain)


def test_parts_are_joined_and_a_missing_one_is_an_error() -> None:
    step = {"number": "0x1", "index": "0x0", "hash": "0xaa"}
    receipts = [
        [{"transactionHash": "0x01", "status": "0x1", "logs": [1, 2]}],
        [{"transactionHash": "0x01", "logs": [3]}],
        [{"transactionHash": "0x01", "logs": [4]}, {"transactionHash": "0x02", "status": "0x1", "logs": []}],
    ]
    transactions: list[list[int]] = [[1], [], [2]]
    parts = [
        step | {"transactions": sent, "receipts": logs, "part": {"index": hex(number), "last": number == 2}}
        for number, (sent, logs) in enumerate(zip(transactions, receipts, strict=True))
    ]
    assembler = FlashblockAssembler()
    assert [assembler.add(deepcopy(part)) for part in parts[:2]] == [None, None]
    assert assembler.add(deepcopy(parts[2])) == step | {
        "transactions": [1, 2],
        "receipts": [
            {"transactionHash": "0x01", "status": "0x1", "logs": [1, 2, 3, 4]},
            {"transactionHash": "0x02", "status": "0x1", "logs": []},
        ],
    }
    assert assembler.is_empty
    assert assembler.add(deepcopy(parts[0])) is None
    for wrong in (parts[2], step, parts[1] | {"hash": "0xbb"}, parts[1] | {"receipts": None}, 5):
        with pytest.raises(InvalidResponse):
            assembler.add(wrong)
