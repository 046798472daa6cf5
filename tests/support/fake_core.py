"""A double of `foreseal._core.Node` with a few methods, for tests of the Python layer alone."""

import os
from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import orjson

from foreseal._core import Caller, Entrance, PendingBody
from foreseal.errors import RpcError
from foreseal.rpc.call_metrics import BOUNDS
from foreseal.rpc.core_protocol import EntranceLimits, Notification, StepPosition

LIMITS = EntranceLimits(response=1 << 26, values=1000, depth=64, batch=100, parsed=32 << 10, quick=0.0001, calls=1024)
KINDS = {"newHeads", "logs", "newPendingTransactions"}


def step_hash(index: int) -> str:
    """Return the hash of a step of the fake chain."""
    return f"0x{index:064x}"


def cursor_of(place: StepPosition) -> dict[str, str]:
    """Return a cursor as JSON."""
    return {"block": hex(place[0]), "index": hex(place[1]), "hash": place[2]}


@runtime_checkable
class RunningCalls(Protocol):
    """A caller whose calls in progress are counted."""

    running: int


class CountedCaller:
    """A caller of the core whose calls in progress at the double are counted."""

    def __init__(self, *given: Any) -> None:
        self.caller = Caller(*given)
        self.running = 0

    def charge(self, now: int, used: int) -> int:
        return self.caller.charge(now, used)


class FakeView:
    """Returns results of the node at the time when the view was pinned."""

    def __init__(self, node: "FakeNode", block: int) -> None:
        self._node = node
        self._block = block

    def call(self, method: str, params: bytes, ticket: int, caller: object = None) -> bytes | None:
        return self._node.answer(method, params, ticket, self._block)


class FakeEntrance:
    """The entrance of the core without methods of its own: each call is left to the double."""

    def __init__(self, limits: EntranceLimits = LIMITS) -> None:
        self._entrance = Entrance(limits)

    def respond(
        self,
        data: bytes,
        start: int = 0,
        head: bytes | None = None,
        caller: object = None,
        is_connection: bool = False,
        may_be_large: bool = False,
    ) -> Any:
        known = caller.caller if isinstance(caller, CountedCaller) else caller if isinstance(caller, Caller) else None
        return self._entrance.respond(data, start, head, known, is_connection, may_be_large)

    def respond_to_frames(self, data: bytes, most: int, caller: object = None) -> Any:
        return None

    def exclude(self, method: str) -> None:
        pass

    def drain_calls(self) -> list[tuple[str, int, float]]:
        return self._entrance.drain_calls()

    def drain_failed_calls(self) -> list[tuple[str, int, int]]:
        return self._entrance.drain_failed_calls()


class FakeDeferred:
    """Messages of a large change in chunks."""

    def __init__(self, messages: Sequence[str], chunk: int, size: int) -> None:
        self.size = size
        self.rendered: list[int] = []
        """Numbers of the chunks in the order in which they were rendered."""
        self._chunks = [list(messages[start : start + chunk]) for start in range(0, len(messages), chunk)]

    def render(self, number: int) -> tuple[list[str], bool] | None:
        self.rendered.append(number)
        return self._chunks[number], number == len(self._chunks) - 1


class FakeNode:
    """A double of the node. Every inline call increments the block number, so that reads of two views differ."""

    def __init__(self, settings: bytes = b"{}") -> None:
        self.settings = orjson.loads(settings)
        self.block = 0
        self.calls: list[tuple[str, bytes]] = []
        self.held: list[tuple[int, Callable[[], bytes | RpcError]]] = []
        self.hold = False
        self.log: list[str] = []
        """Operations called on it."""
        self.healthy = (True, "")
        self.channels: dict[bytes, tuple[int, int]] = {}
        """Number and subscribers of each subscribed channel, by its params."""
        self.steps: list[StepPosition] = [(1, 0, step_hash(0))]
        """The steps that the feed stores."""
        self.most_steps_of_a_page = 2
        self.tiers: list[dict[str, int]] = []
        """Limits of the requested tiers."""
        self.cancelled: list[int] = []
        """Tickets of cancelled calls."""
        self.cluster: dict[str, Any] | None = None
        """The member `cluster` of its status."""
        self._done: list[tuple[int, bytes | RpcError]] = []
        self._notices: list[Notification] = []
        self._channel = self._sequence = 0
        # The body whose calls are answered from one view, and the callers of calls in progress.
        self._pinned: tuple[PendingBody, FakeView] | None = None
        self._callers: dict[int, RunningCalls] = {}
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def __del__(self) -> None:
        os.close(self._event)

    def liveness(self) -> tuple[str, int, int | None, bool, int | None]:
        return "serving", 0, None, False, None

    def engine_address(self) -> str | None:
        return None

    def start(self) -> None:
        self.log.append("start")

    def end_commands(self) -> None:
        """Do nothing: it has no commands."""

    def stop(self) -> None:
        self.log.append("stop")

    def for_admin(self) -> "FakeNode":
        return self

    def for_tier(self, limits: bytes) -> "FakeNode":
        self.tiers.append(orjson.loads(limits))
        return self

    def in_mode(self, name: str) -> "FakeNode":
        return self

    def entrance(self, limits: EntranceLimits) -> FakeEntrance:
        return FakeEntrance(limits)

    @property
    def running(self) -> int:
        return len(self.held) + len(self._done)

    def cancel(self, ticket: int) -> None:
        self.cancelled.append(ticket)

    def waiting(self) -> list[tuple[str, float]]:
        return [("submission", 0.0), ("read", 0.25)]

    def view_of(self, body: PendingBody) -> FakeView:
        if self._pinned is None or self._pinned[0] is not body:
            self._pinned = body, FakeView(self, self.block)
        return self._pinned[1]

    def call(self, method: str, params: bytes, ticket: int, caller: object = None) -> bytes | None:
        answer = self.answer(method, params, ticket, self.block)
        if answer is None and isinstance(caller, RunningCalls) and not isinstance(caller, Caller):
            self._callers[ticket] = caller
            caller.running += 1
        return answer

    def answer(self, method: str, params: bytes, ticket: int, block: int) -> bytes | None:
        self.calls.append((method, params))
        self.block += 1
        match method:
            case "eth_blockNumber":
                return b'"0x%x"' % block
            case "eth_getBlockReceipts" | "echo":
                return params
            case "rpc.discover":
                document = b'{"openrpc":"1.2.6","methods":[{"name":"eth_blockNumber"},{"name":"echo"}]}'
                self._later(ticket, lambda: document)
                return None
            case "rpc_modules":
                return b'{"eth":"1.0"}'
            case "reverts":
                raise RpcError(-32000, "execution reverted", b'"0x"')
            case "fails":
                raise RpcError(-32000, "nonce too low", None)
            case "large":
                match orjson.loads(params):
                    case [int(size)] if 0 <= size <= 10_000_000:
                        return b'"%s"' % (b"x" * size)
                raise RpcError(-32602, "size: a number up to 10,000,000", None)
            case "foreseal_getFlashblocks":
                self._later(ticket, lambda: self._page(*orjson.loads(params)))
                return None
            case "slow":
                self._later(ticket, lambda: params)
                return None
            case "slow_fails":
                self._later(ticket, lambda: RpcError(3, "execution reverted: no", b'"0x01"'))
                return None
        raise RpcError(-32601, f"the method {method[:64]} does not exist/is not available", None)

    def _later(self, ticket: int, outcome: Callable[[], bytes | RpcError]) -> None:
        self.held.append((ticket, outcome))
        if not self.hold:
            self.release()

    def release(self, count: int | None = None) -> None:
        """Finish the newest `count` waiting calls, or all: outcomes may come in another order than the calls."""
        for _ in range(len(self.held) if count is None else count):
            ticket, outcome = self.held.pop()
            self._done.append((ticket, outcome()))
        os.eventfd_write(self._event, 1)

    def reports(self) -> list[tuple[str, int, int, bytes]]:
        return [("worker-1", 2, 5000, b"")]

    def metrics(self) -> bytes:
        times = {"counts": [*range(1, 17), 20], "seconds": 1.5}
        work = {"steps": 7, "transactions": 70, "gas": 1_470_000, "blocks": 3}
        parts = dict.fromkeys(("select", "execute", "roots", "sync", "publish", "pool"), times)
        lane = {
            "waiting": 3,
            "running": 2,
            "oldest": 0.5,
            "cpu": 1.5,
            "paused": 4,
            "ended": {"late": 2},
        }
        lane |= {"bounds": [0.1, 1.0], "queue": {"counts": [1, 2, 3], "seconds": 1.25}}
        pool = {"added": 80, "replaced": 2, "dropped": {"evicted": 5, "rejected": 1}}
        return orjson.dumps(
            work
            | {"bounds": BOUNDS, "step": times, "parts": parts, "append": times, "commit": times, "pool": pool}
            | {"quorum_append": times}
            | {"engine": {"engine_newPayloadV4": {"time": times, "errors": 2}}}
            | {"memory": {"used": 1 << 20, "free": 1 << 18, "mapped": 1 << 19, "trims": 1}}
            | {"journal": {"written": 8192, "segments": 2}}
            | {"lanes": {"read": lane}}
            | {"caches": {"block_json": {"hits": 9, "misses": 4, "bytes": 2048, "capacity": 4096}}}
            | {"store": {"used": 4096, "limit": 1 << 40, "readers": 3, "max_readers": 1024}}
        )

    def event_fd(self) -> int:
        return self._event

    def drain(self) -> tuple[list[tuple[int, bytes | RpcError]], list[Notification]]:
        os.eventfd_read(self._event)
        done, self._done = self._done, []
        for ticket, _ in done:
            caller = self._callers.pop(ticket, None)
            if caller is not None:
                caller.running -= 1
        notices, self._notices = self._notices, []
        return done, notices

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        match orjson.loads(params):
            case ["foreseal_feed", {"block": block, "index": index, "hash": step}]:
                try:
                    place = int(block, 16), int(index, 16), step
                except (TypeError, ValueError):
                    raise RpcError(-32602, "cursor: block and index are hexadecimal numbers", None) from None
                if place not in self.steps:
                    raise self._gone()
                if place != self.steps[-1]:
                    return None
                params = b'["foreseal_feed"]'
            case ["foreseal_feed"]:
                pass
            case [str(kind), *filters] if kind in KINDS and all(isinstance(given, dict) for given in filters):
                pass
            case _:
                raise RpcError(-32602, "kind: unknown subscription", None)
        channel, count = self.channels.get(params, (self._channel, 0))
        self._channel = max(self._channel, channel + 1)
        self.channels[params] = channel, count + 1
        return channel, self._sequence

    def unsubscribe(self, channel: int) -> None:
        params, count = next((params, count) for params, (held, count) in self.channels.items() if held == channel)
        self.channels[params] = channel, count - 1
        if count == 1:
            del self.channels[params]

    def publish(self, kind: str, *messages: str, lost: bool = False) -> None:
        """Send messages, or a notice of a loss, to every channel of a kind."""
        for params, (channel, _) in self.channels.items():
            if orjson.loads(params)[0] == kind:
                told = None if lost else list(messages)
                self._notices.append((channel, self._sequence, told, self.steps[-1]))
        self._sequence += 1
        os.eventfd_write(self._event, 1)

    def publish_deferred(self, kind: str, *messages: str, chunk: int = 100, size: int = 0) -> FakeDeferred:
        """Send messages that are rendered in chunks to the channel of a kind."""
        deferred = FakeDeferred(messages, chunk, size)
        for params, (channel, _) in self.channels.items():
            if orjson.loads(params)[0] == kind:
                self._notices.append((channel, self._sequence, deferred, self.steps[-1]))
        self._sequence += 1
        os.eventfd_write(self._event, 1)
        return deferred

    def step(self, size: int = 0) -> StepPosition:
        """Make a step whose message is longer by `size`, notify the feed, and return its cursor."""
        count = len(self.steps)
        self.steps.append((1, count, step_hash(count)))
        self.publish("foreseal_feed", orjson.dumps(self._flashblock(self.steps[-1], size)).decode())
        return self.steps[-1]

    def beat(self) -> None:
        """Send a heartbeat to the feed: a tick without a step."""
        self.publish("foreseal_feed", orjson.dumps({"heartbeat": cursor_of(self.steps[-1])}).decode())

    def _page(self, cursor: dict[str, str] | None, limit: str, _bytes: str = "") -> bytes | RpcError:
        if cursor is None:
            return orjson.dumps({"flashblocks": [], "cursor": cursor_of(self.steps[-1]), "complete": True})
        place = int(cursor["block"], 16), int(cursor["index"], 16), cursor["hash"]
        if place not in self.steps:
            return self._gone()
        after = self.steps[self.steps.index(place) + 1 :]
        page = after[: min(int(limit, 16), self.most_steps_of_a_page)]
        reached = page[-1] if page else place
        answer = {
            "flashblocks": [self._flashblock(step) for step in page],
            "cursor": cursor_of(reached),
            "complete": len(page) == len(after),
        }
        return orjson.dumps(answer)

    def _flashblock(self, place: StepPosition, size: int = 0) -> dict[str, str]:
        return {"number": hex(place[0]), "index": hex(place[1]), "hash": place[2], "padding": "x" * size}

    def _gone(self) -> RpcError:
        return RpcError(-32001, "the cursor is no longer available", orjson.dumps(cursor_of(self.steps[0])))

    def report(self, metrics: bytes) -> None:
        self.log.append("report")

    def freshness(self) -> tuple[int, int, int, int]:
        return self.block, 3, 42, 0

    def health(self) -> tuple[bool, str]:
        return self.healthy

    def ready(self) -> tuple[bool, str]:
        return self.healthy

    def status(self) -> bytes:
        pool = {"pooled": 2, "queued": 1, "bytes": 300, "start": "new"}
        return orjson.dumps({"pool": pool, "cluster": self.cluster} if self.cluster else {"pool": pool})
