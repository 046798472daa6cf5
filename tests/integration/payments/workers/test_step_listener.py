"""Wake-ups by subscriptions: blocks, steps, large messages, lost connections."""

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest
from websockets.sync.server import Server, ServerConnection, serve

from foreseal.payments.workers import step_listener
from foreseal.payments.workers.step_listener import StepListener

LONG = 20.0


class Node:
    """Node with subscriptions: the test sends their messages."""

    def __init__(self, answer: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
        self.connections: queue.Queue[ServerConnection] = queue.Queue()
        self.asked: list[str] = []
        self._answer = answer
        self._server: Server = serve(self._handle, "127.0.0.1", 0)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"

    def _handle(self, connection: ServerConnection) -> None:
        for _ in range(2):
            call = orjson.loads(connection.recv())
            self.asked.append(call["params"][0])
            connection.send(orjson.dumps({"jsonrpc": "2.0", "id": call["id"]} | self._answer(call)).decode())
        self.connections.put(connection)
        for _ in connection:
            pass

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()


def subscribed(call: dict[str, Any]) -> dict[str, Any]:
    return {"result": f"0x{call['id']}"}


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node(subscribed)
    yield made
    made.close()


@pytest.fixture
def woken() -> threading.Semaphore:
    return threading.Semaphore(0)


def event(ident: str) -> str:
    return orjson.dumps({"method": "eth_subscription", "params": {"subscription": ident, "result": "0x"}}).decode()


def test_blocks_and_steps_wake(node: Node, woken: threading.Semaphore) -> None:
    listener = StepListener(node.url, woken.release)
    listener.start()
    connection = node.connections.get(timeout=LONG)
    assert node.asked == ["newHeads", "newFlashblockTransactions"]
    assert woken.acquire(timeout=LONG)
    for ident in ("0x1", "0x2"):
        connection.send(event(ident))
        assert woken.acquire(timeout=LONG)
    listener.stop()
    listener._thread.join(LONG)
    assert not listener._thread.is_alive()


def test_node_without_steps_wakes_by_its_blocks(woken: threading.Semaphore) -> None:
    def answer(call: dict[str, Any]) -> dict[str, Any]:
        unknown = {"error": {"code": -32602, "message": "no such stream"}}
        return subscribed(call) if call["params"] == ["newHeads"] else unknown

    node = Node(answer)
    listener = StepListener(node.url, woken.release)
    listener.start()
    connection = node.connections.get(timeout=LONG)
    assert woken.acquire(timeout=LONG)
    connection.send(event("0x1"))
    assert woken.acquire(timeout=LONG)
    listener.stop()
    node.close()


@pytest.mark.parametrize("broken", ["closed", "not JSON", "too large"])
def test_lost_connection_is_opened_again(
    node: Node, woken: threading.Semaphore, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    monkeypatch.setattr(step_listener, "_PAUSE", 0.01)
    listener = StepListener(node.url, woken.release)
    listener.start()
    first = node.connections.get(timeout=LONG)
    assert woken.acquire(timeout=LONG)
    if broken == "closed":
        first.close()
    else:
        first.send("x" if broken == "not JSON" else "x" * (2 << 20))
    node.connections.get(timeout=LONG)
    assert woken.acquire(timeout=LONG)
    listener.stop()
