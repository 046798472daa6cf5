"""A scripted node: its chain grows and forks, and its connections break, on command.

It does not use the client's code: it implements cursors, resumption and reorgs itself.
"""

import contextlib
import itertools
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

import orjson

from foreseal.client import ConnectionLost, Options, TimedOut

ZERO = "0x" + "00" * 32

_HASHES = (
    "parentHash",
    "sha3Uncles",
    "transactionsRoot",
    "stateRoot",
    "receiptsRoot",
    "mixHash",
    "withdrawalsRoot",
    "parentBeaconBlockRoot",
)
_OTHERS = {"nonce": "0x" + "00" * 8, "logsBloom": "0x", "miner": "0x" + "00" * 20, "extraData": "0x"}
HEADER = dict.fromkeys(_HASHES, ZERO) | _OTHERS | {"difficulty": "0x0"}


class EndOfScript(BaseException):
    """The script is over and all its effects were received."""


class Step(dict[str, Any]):
    """A step in the feed's format."""

    @property
    def cursor(self) -> dict[str, str]:
        return {"block": self["number"], "index": self["index"], "hash": self["hash"]}

    def undone(self) -> "Step":
        return Step(self, removed=True)


class ScriptedNode:
    """The chain and its readers. `script` is a list of actions; one runs whenever all readers are idle."""

    def __init__(self, script: Iterable[Callable[["ScriptedNode"], None]] = ()) -> None:
        self.script = deque(script)
        self.time = 0.0
        self.every: dict[str, Step] = {}
        """All steps that ever existed, by hash."""
        self.chain: list[Step] = []
        self.links: list[ScriptedLink] = []
        self.dials = 0
        self.asked: list[str] = []
        """Methods that reached it, in order."""
        self.refusing = 0
        """Number of next calls and connections without a response."""
        self.starting = 0
        """Number of next calls that fail with -32002."""
        self.losing = 0
        """Number of next responses that are lost."""
        self.late: bytes | None = None
        """A response that replaces the next one."""
        self.oldest = 0
        """Index in the chain of the oldest valid cursor."""
        self.undone_kept = True
        self.parts: dict[str, int] = {}
        """Number of parts of a step, by hash, if it has several."""
        self.unreadable: set[str] = set()
        """Hashes of steps at which a connection breaks, and of which a page of several messages is lost."""
        self._numbers = itertools.count(1)
        self.add()

    # Actions of a script.

    def add(self, seal: bool = False) -> Step:
        """Make a step, the first of a new block with `seal`."""
        if not self.chain:
            number, index, parent = 0, 0, ZERO
        else:
            last = self.chain[-1]
            number, index, parent = int(last["number"], 16), int(last["index"], 16) + 1, last["hash"]
            if seal:
                number, index = number + 1, 0
        hash = f"0x{next(self._numbers):064x}"
        header = HEADER | {"number": hex(number), "hash": hash}
        header |= dict.fromkeys(("gasLimit", "gasUsed", "timestamp"), "0x0")
        step = Step(number=hex(number), index=hex(index), hash=hash, parent=parent, header=header)
        step |= {"time": "0x1", "signature": None, "transactions": [], "receipts": [], "removed": False}
        self.every[hash] = step
        self.chain.append(step)
        self._notify([step])
        return step

    def undo(self, count: int) -> None:
        """Revert the newest steps, but never the first one."""
        reverted_steps = []
        while count and len(self.chain) > 1:
            reverted_steps.append(self.chain.pop().undone())
            count -= 1
        self._notify(reverted_steps)

    def again(self, step: Step) -> None:
        """Restore a reorged step unchanged."""
        assert step["parent"] == self.chain[-1]["hash"]
        self.chain.append(step)
        self._notify([step])

    def beat(self) -> None:
        """Send a heartbeat, as on a tick."""
        for link in self.links:
            if not link.lagging:
                link.push({"heartbeat": self.chain[-1].cursor})

    def cut(self, after: int = 0) -> None:
        """Break every connection after this many of its queued messages."""
        for link in self.links:
            link.break_after(after)
        self.links.clear()

    def lag(self) -> None:
        """Make every connection lag until it has read its queue."""
        for link in self.links:
            link.lag()

    def _notify(self, steps: list[Step]) -> None:
        for link in self.links:
            if not link.lagging:
                for step in steps:
                    link.push_step(step)

    # Responses.

    def after(self, cursor: dict[str, str] | None) -> list[Step]:
        """Return the path from a cursor to the newest step. Raise KeyError for a cursor that is no longer stored."""
        if cursor is None:
            return []
        here = [step["hash"] for step in self.chain]
        step, back = self.every[cursor["hash"]], []
        if step.cursor != cursor:
            raise KeyError("the cursor names no step")
        while step["hash"] not in here:
            if not self.undone_kept:
                raise KeyError(step["hash"])
            back.append(step.undone())
            step = self.every[step["parent"]]
        common = here.index(step["hash"])
        if common < self.oldest:
            raise KeyError(step["hash"])
        return back + self.chain[common + 1 :]

    def answer(self, request: dict[str, Any]) -> bytes:
        """Return the response to one request object."""
        self.asked.append(request["method"])
        try:
            result = self._result(request["method"], request["params"])
        except KeyError as error:
            oldest = self.chain[self.oldest].cursor
            failure = {"code": -32001, "message": f"cursor not kept: {error}", "data": {"oldest": oldest}}
            return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": failure})
        if self.starting:
            self.starting -= 1
            failure = {"code": -32002, "message": "the node is starting"}
            return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "error": failure})
        return orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def _result(self, method: str, params: list[Any]) -> Any:
        assert method == "foreseal_getFlashblocks", method
        cursor, limit = params
        rest = self._rest(cursor)
        if rest is None:
            coming = [part for step in self.after(cursor) for part in self.split(step)]
        else:
            coming = rest + [
                part for step in self.after(Step(self.every[cursor["hash"]]).cursor) for part in self.split(step)
            ]
        page = coming[: int(limit, 16)]
        if len(page) > 1 and any(step["hash"] in self.unreadable for step in page):
            raise ConnectionLost("the page is too large")
        place = cursor or self.chain[-1].cursor
        if page:
            last = page[-1]
            whole = self.every[last["hash"]]
            place = self.every[whole["parent"]].cursor if last["removed"] else whole.cursor
            if not last.get("part", {"last": True})["last"]:
                place = self.every[last["hash"]].cursor | {"part": int(last["part"]["index"], 16) + 1}
        return {"flashblocks": page, "cursor": place, "complete": len(page) == len(coming)}

    def split(self, step: Step) -> list[Step]:
        """Return the messages of a step. Removed steps are never split here."""
        count = 1 if step["removed"] else self.parts.get(step["hash"], 1)
        if count == 1:
            return [step]
        names = ("number", "index", "hash", "transactions", "receipts", "removed")
        shared = {name: step[name] for name in names}
        return [
            Step(shared if number else step, part={"index": hex(number), "last": number == count - 1})
            for number in range(count)
        ]

    def _rest(self, cursor: dict[str, Any] | None) -> list[Step] | None:
        """Return the further parts of a step from a cursor inside it, or None for another cursor."""
        if cursor is None or "part" not in cursor:
            return None
        step = self.every[cursor["hash"]]
        if step not in self.chain:
            raise KeyError("the step left the chain")
        return self.split(step)[cursor["part"] :]

    def act(self) -> None:
        """Run the next action of the script. Raise `EndOfScript`."""
        if not self.script:
            raise EndOfScript
        self.script.popleft()(self)


class ScriptedLink:
    """A connection of a feed to the node."""

    def __init__(self, node: ScriptedNode) -> None:
        self._node = node
        self._queue: deque[bytes] = deque()
        self._ident = ""
        self._left: int | None = None
        self._after: dict[str, str] = {}
        self.lagging = False
        self.open = True

    def push(self, result: dict[str, Any], method: str = "eth_subscription") -> None:
        params = {"subscription": self._ident, "result": result}
        self._queue.append(orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params}))
        if "hash" in result:
            step = Step(result)
            whole = self._node.every[step["hash"]]
            self._after = self._node.every[whole["parent"]].cursor if step["removed"] else whole.cursor

    def push_step(self, step: Step) -> None:
        """Push a step that is not in parts yet, or a part of one."""
        for part in [step] if "part" in step else self._node.split(step):
            self.push(part)
        if step["hash"] in self._node.unreadable:
            self._queue.pop()
            self.break_after(len(self._queue))

    def break_after(self, messages: int) -> None:
        self._left = min(messages, len(self._queue))

    def lag(self) -> None:
        self.lagging = bool(self._ident)

    def send(self, message: bytes) -> None:
        if self._left is not None:
            raise ConnectionLost("cut")
        request = orjson.loads(message)
        if request["method"] == "eth_unsubscribe":
            assert request["params"] == [self._ident]
            self._ident = ""
            self._queue.append(orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": True}))
            return
        assert request["method"] == "eth_subscribe"
        kind, cursor = request["params"]
        assert kind == "foreseal_feed"
        assert not self._ident, "it is subscribed already"
        answer = self._node.answer(request | {"method": "foreseal_getFlashblocks", "params": [cursor, hex(10**6)]})
        page = orjson.loads(answer)
        if "error" in page:
            self._queue.append(answer)
            return
        self._ident = f"0x{self._node.dials:x}{request['id']:x}"
        self._after = cursor
        self.lagging = False
        self._queue.append(orjson.dumps({"jsonrpc": "2.0", "id": request["id"], "result": self._ident}))
        for step in page["result"]["flashblocks"]:
            self.push_step(Step(step))

    def receive(self, seconds: float) -> bytes:
        assert self.open
        before = self._node.time
        while self._left != 0 and not self._queue:
            if self.lagging:
                self.lagging = False
                self.push({"after": self._after, "to": self._node.chain[-1].cursor}, "foreseal_lagged")
            else:
                self._node.act()
                if self._node.time - before >= seconds:
                    raise TimedOut("silence")
        if self._left is not None:
            if self._left == 0:
                raise ConnectionLost("cut")
            self._left -= 1
        return self._queue.popleft()

    def close(self) -> None:
        self.abandon()

    def abandon(self) -> None:
        self.open = False
        with contextlib.suppress(ValueError):
            self._node.links.remove(self)


class ScriptedTransport:
    """A blocking transport that calls the node directly."""

    def __init__(self, node: ScriptedNode, streams: bool) -> None:
        self.node = node
        self.dial = self._dial if streams else None

    def exchange(self, body: bytes, seconds: float) -> bytes:
        self._reach()
        answer = self.node.answer(orjson.loads(body))
        if self.node.losing:
            self.node.losing -= 1
            raise ConnectionLost("the answer was lost")
        if self.node.late is not None:
            answer, self.node.late = self.node.late, None
        return answer

    def _dial(self, seconds: float) -> ScriptedLink:
        self._reach()
        self.node.dials += 1
        link = ScriptedLink(self.node)
        self.node.links.append(link)
        return link

    def _reach(self) -> None:
        if self.node.refusing:
            self.node.refusing -= 1
            raise ConnectionLost("refused")

    def sleep(self, seconds: float) -> None:
        self.node.time += seconds
        self.node.act()

    def close(self) -> None:
        for link in tuple(self.node.links):
            link.close()


def options(node: ScriptedNode, **changes: Any) -> Options:
    """Return options with the node's clock and without randomness."""
    return Options(clock=lambda: node.time, random=lambda: 0.5, **changes)
