"""A double of `foreseal._core.Node` with a handful of methods, for tests of the edge alone."""

import os
from collections.abc import Callable

import orjson

from foreseal.errors import RpcError
from foreseal.rpc.core import Notice


class FakeView:
    """Answers as the node did when the view was pinned."""

    def __init__(self, node: "FakeNode", block: int) -> None:
        self._node = node
        self._block = block

    def call(self, method: str, params: bytes, ticket: int) -> bytes | None:
        return self._node.answer(method, params, ticket, self._block)


class FakeNode:
    """Every inline call raises the block number by one, so that two reads from one view can be told from two views."""

    def __init__(self, settings: bytes = b"{}") -> None:
        self.settings = orjson.loads(settings)
        self.block = 0
        self.calls: list[tuple[str, bytes]] = []
        self.held: list[tuple[int, Callable[[], bytes | RpcError]]] = []
        self.hold = False
        self.log: list[str] = []
        self.healthy = (True, "")
        self.channels: dict[bytes, int] = {}
        """Channels by the params of eth_subscribe that opened them."""
        self.subscribers: dict[int, int] = {}
        """Subscribers by channel."""
        self.sequence = 0
        self._done: list[tuple[int, bytes | RpcError]] = []
        self._notices: list[Notice] = []
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)

    def __del__(self) -> None:
        os.close(self._event)

    def start(self) -> None:
        self.log.append("start")

    def stop(self) -> None:
        self.log.append("stop")

    def view(self) -> FakeView:
        return FakeView(self, self.block)

    def call(self, method: str, params: bytes, ticket: int) -> bytes | None:
        return self.answer(method, params, ticket, self.block)

    def answer(self, method: str, params: bytes, ticket: int, block: int) -> bytes | None:
        self.calls.append((method, params))
        self.block += 1
        match method:
            case "eth_blockNumber":
                return b'"0x%x"' % block
            case "eth_getBlockReceipts" | "echo":
                return params
            case "rpc.discover":
                document = b'{"openrpc":"1.3.2","methods":[{"name":"eth_blockNumber"},{"name":"echo"}]}'
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
            case "slow":
                self._later(ticket, lambda: params)
                return None
            case "slow_fails":
                self._later(ticket, lambda: RpcError(3, "execution reverted: no", b'"0x01"'))
                return None
        raise RpcError(-32601, f"the method {method[:64]} does not exist", None)

    def _later(self, ticket: int, outcome: Callable[[], bytes | RpcError]) -> None:
        self.held.append((ticket, outcome))
        if not self.hold:
            self.release()

    def release(self) -> None:
        """Finish the calls that wait, newest first: outcomes need not come in the order of the calls."""
        self._done += [(ticket, outcome()) for ticket, outcome in reversed(self.held)]
        self.held.clear()
        os.eventfd_write(self._event, 1)

    def event_fd(self) -> int:
        return self._event

    def drain(self) -> tuple[list[tuple[int, bytes | RpcError]], list[Notice]]:
        os.eventfd_read(self._event)
        done, self._done = self._done, []
        notices, self._notices = self._notices, []
        return done, notices

    def subscribe(self, params: bytes) -> tuple[int, int] | None:
        """Open a channel for each spelling; params with an `unknown` name are refused."""
        if b"unknown" in params:
            raise RpcError(-32602, "invalid argument 0 (subscription): there is no subscription called unknown", None)
        channel = self.channels.setdefault(params, len(self.channels) + 1)
        self.subscribers[channel] = self.subscribers.get(channel, 0) + 1
        return channel, self.sequence + 1

    def unsubscribe(self, channel: int) -> None:
        self.subscribers[channel] -= 1

    def publish(self, channel: int, *messages: str) -> None:
        """Tell a channel something; nothing means that it lost something."""
        self.sequence += 1
        place = (self.block, self.sequence, "0x" + f"{self.sequence:064x}")
        self._notices.append((channel, self.sequence, list(messages) or None, place))
        os.eventfd_write(self._event, 1)

    def freshness(self) -> tuple[int, int, int]:
        return self.block, 3, 42

    def health(self) -> tuple[bool, str]:
        return self.healthy

    def ready(self) -> tuple[bool, str]:
        return self.healthy

    def status(self) -> bytes:
        return b'{"pool":{"pooled":2,"queued":1,"bytes":300,"start":"new"}}'
